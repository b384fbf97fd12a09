"""A kernel's fault in words: which kernel and line, which thread, and what this process knows of the place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cumulticast.rules import Status

if TYPE_CHECKING:
    from cumulticast.sim.engine import Fault
    from cumulticast.sim.launches import Launch
    from cumulticast.sim.modules import Function

LONGEST_LINE = 80


def explained(asked: Launch, fault: Fault) -> str:
    """Say in words where a kernel failed: its name, the line of its text, the thread."""
    place = line(asked.function, fault.instruction)
    if fault.status == Status.LAUNCH_TIMEOUT:
        return _out_of_time(asked, fault, place)
    where = f" {place}" if place else ""
    return f"kernel {asked.function.kernel.name}{where}, {_thread(fault)}: {fault.reason}"


def _out_of_time(asked: Launch, fault: Fault, place: str) -> str:
    """Nothing was wrong at that place; it is where the lowest block that is left looked at memory last."""
    last = f"; {_thread(fault)} was last at {place}" if place else ""
    return f"kernel {asked.function.kernel.name}: {fault.reason}{last}"


def _thread(fault: Fault) -> str:
    return f"block {fault.block}, thread {fault.thread}"


def line(function: Function, instruction: int) -> str:
    """Answer the number of an instruction's line and what stands there; empty when it is not known."""
    lines = function.kernel.code().lines
    number = lines[instruction] if instruction < len(lines) else 0
    if not number:
        return ""
    if len(function.module.texts) > 1:  # which of them it is a line of nobody has written down
        return f"line {number}"
    text = function.module.text.data.split(b"\n")
    words = text[number - 1].decode(errors="replace").strip() if number <= len(text) else ""
    return f"line {number} ({words[:LONGEST_LINE]})" if words else f"line {number}"
