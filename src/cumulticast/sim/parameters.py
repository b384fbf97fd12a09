"""Kernel parameters, gathered into the bytes that the kernel reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from cumulticast.rules import launch_parameters
from cumulticast.sim import native, raw

if TYPE_CHECKING:
    from cumulticast.sim.images import Kernel
    from cumulticast.sim.modules import Function
    from cumulticast.sim.process import Process

END, POINTER, SIZE = 0, 1, 2  # CU_LAUNCH_PARAM_…
WORD = 8
MOST_SETTINGS = 16  # more pairs than there are names: the list has no end


def gather(process: Process, function: Function, pointers: int, extra: int) -> bytes:
    """Read the parameters of a launch, given in one of the two ways.

    Raises
    ------
    Refused
        1: none, both, too few bytes, or a pointer that cannot be read.
    """
    count = len(function.kernel.parameters)
    if extra:
        process.driver.judge(launch_parameters.parameters_once, bool(pointers), True)
        return from_buffer(process, function.kernel, extra)
    if count and not pointers:
        process.driver.judge(launch_parameters.parameters_given, count, False)
    return from_pointers(process, function, pointers) if count else b""


def from_pointers(process: Process, function: Function, pointers: int) -> bytes:
    """Read each parameter from where its pointer says."""
    kernel = function.kernel
    if function.gather is None:
        sizes = (parameter.size for parameter in kernel.parameters)
        function.gather = native.Gather(list(zip(kernel.parameter_offsets, sizes, strict=True)), kernel.params_size)
    data = function.gather(pointers)
    if isinstance(data, int):
        refuse_unreadable(process, kernel, pointers, data)
    return data


def refuse_unreadable(process: Process, kernel: Kernel, pointers: int, number: int) -> NoReturn:
    """Say which pointer cannot be read (1)."""
    raw.check(process, "kernel_params", pointers, WORD * len(kernel.parameters), write=False)
    address = int.from_bytes(raw.get(process, "kernel_params", pointers + WORD * number, WORD), "little")
    name, size = f"kernel_params[{number}]", kernel.parameters[number].size
    raw.check(process, name, address, size, write=False)
    raise AssertionError(f"{name} can be read after all")


def from_buffer(process: Process, kernel: Kernel, extra: int) -> bytes:
    """Read the parameters that were packed by the caller; what a short buffer lacks is 0."""
    judge, settings = process.driver.judge, read_extra(process, extra)
    size = int.from_bytes(raw.get(process, "extra size", settings[SIZE], WORD), "little") if SIZE in settings else 0
    given = bool(size and settings.get(POINTER))
    judge(launch_parameters.parameters_given, len(kernel.parameters), given)
    if not given or not kernel.parameters:
        return b""
    judge(launch_parameters.parameter_buffer, size, kernel.params_size)
    judge(launch_parameters.parameter_buffer_whole, size, kernel.params_size)
    return raw.get(process, "extra buffer", settings[POINTER], size).ljust(kernel.params_size, b"\0")


def read_extra(process: Process, extra: int) -> dict[int, int]:
    """Read the pairs of name and value; ends at CU_LAUNCH_PARAM_END."""
    settings: dict[int, int] = {}
    for pair in range(MOST_SETTINGS):
        name = int.from_bytes(raw.get(process, "extra", extra + 2 * WORD * pair, WORD), "little")
        if name == END:
            break
        process.driver.judge(launch_parameters.extra_known, name, name in (POINTER, SIZE))
        value = raw.get(process, "extra", extra + WORD * (2 * pair + 1), WORD)
        settings[name] = int.from_bytes(value, "little")
    return settings
