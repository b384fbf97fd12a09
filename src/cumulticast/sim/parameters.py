"""Kernel parameters, gathered into the bytes that the kernel reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cumulticast.rules import launch
from cumulticast.sim import raw

if TYPE_CHECKING:
    from cumulticast.sim.images import Kernel
    from cumulticast.sim.process import Process

END, POINTER, SIZE = 0, 1, 2  # CU_LAUNCH_PARAM_…
WORD = 8
MOST_SETTINGS = 16  # more pairs than there are names: the list has no end


def gather(process: Process, kernel: Kernel, pointers: int, extra: int) -> bytes:
    """Read the parameters of a launch, given in one of the two ways.

    Raises
    ------
    Refused
        1: none, both, too few bytes, or a pointer that cannot be read.
    """
    count = len(kernel.parameters)
    process.driver.judge(launch.parameters_once, bool(pointers), bool(extra))
    process.driver.judge(launch.parameters_given, count, bool(pointers or extra))
    if extra:
        return from_buffer(process, kernel, extra)
    return from_pointers(process, kernel, pointers) if count else b""


def from_pointers(process: Process, kernel: Kernel, pointers: int) -> bytes:
    """Read each parameter from where its pointer says."""
    words = memoryview(raw.get(process, "kernel_params", pointers, WORD * len(kernel.parameters))).cast("Q")
    data = bytearray(kernel.params_size)
    for number, (parameter, offset) in enumerate(zip(kernel.parameters, kernel.parameter_offsets, strict=True)):
        size = parameter.size
        data[offset : offset + size] = raw.get(process, f"kernel_params[{number}]", words[number], size)
    return bytes(data)


def from_buffer(process: Process, kernel: Kernel, extra: int) -> bytes:
    """Read the parameters that were packed by the caller."""
    settings = read_extra(process, extra)
    if POINTER not in settings:
        process.driver.judge(launch.parameters_given, len(kernel.parameters), False)
        return b""
    size = int.from_bytes(raw.get(process, "extra size", settings[SIZE], WORD), "little") if SIZE in settings else 0
    process.driver.judge(launch.parameter_buffer, size, kernel.params_size)
    return raw.get(process, "extra buffer", settings[POINTER], kernel.params_size) if kernel.params_size else b""


def read_extra(process: Process, extra: int) -> dict[int, int]:
    """Read the pairs of name and value; ends at CU_LAUNCH_PARAM_END."""
    settings: dict[int, int] = {}
    for pair in range(MOST_SETTINGS):
        name = int.from_bytes(raw.get(process, "extra", extra + 2 * WORD * pair, WORD), "little")
        if name == END:
            break
        process.driver.judge(launch.extra_known, name, name in (POINTER, SIZE))
        value = raw.get(process, "extra", extra + WORD * (2 * pair + 1), WORD)
        settings[name] = int.from_bytes(value, "little")
    return settings
