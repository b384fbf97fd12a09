"""nvmlReturn_t: what a call of NVML can answer, and how a handler refuses."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class Status(IntEnum):
    """The answers that this library gives, by NVIDIA's names without NVML_ERROR_ (statuses.tsv has all of them)."""

    SUCCESS = 0
    UNINITIALIZED = 1
    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    NOT_FOUND = 6
    INSUFFICIENT_SIZE = 7
    FUNCTION_NOT_FOUND = 13
    GPU_IS_LOST = 15
    ARGUMENT_VERSION_MISMATCH = 25
    UNKNOWN = 999


class Refused(Exception):
    """Raised by a handler that does not answer 0.

    Parameters
    ----------
    status
        What the call answers.
    reason
        Why, for the log.
    outputs
        What is written all the same, such as the size that would have been enough.
    """

    def __init__(self, status: Status, reason: str, outputs: Any = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.outputs = outputs


def not_supported(what: str) -> Refused:
    """Say that this machine has no such thing."""
    return Refused(Status.NOT_SUPPORTED, f"{what}: this machine has none")
