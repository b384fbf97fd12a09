"""Short ways to read what NVIDIA's cuda.bindings answer: ``(status, output, ...)``."""

from __future__ import annotations

from typing import Any


def status(answer: tuple[Any, ...]) -> int:
    """Return the status of a call."""
    return int(answer[0])


def ok(answer: tuple[Any, ...]) -> Any:
    """Return the output of a call that must succeed: None, one value, or a tuple."""
    assert status(answer) == 0, answer
    outputs = answer[1:]
    return outputs[0] if len(outputs) == 1 else outputs or None
