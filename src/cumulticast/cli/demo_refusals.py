"""Wrong binds, and what the driver says about them. All that is read here is the exception."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from cumulticast import driver
from cumulticast.cli.demo_memory import granularity, memory_on, multicast_object

_CODE = re.compile(r"MC\d{3,4}\b")


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a call was answered. Status 0: it was accepted. Rule: the first that the notes name, if any."""

    call: str
    wrong: str
    status: int
    status_name: str
    rule: str | None
    message: str


def why(call: str, error: driver.DriverError, wrong: str = "") -> Refusal:
    """Read an exception: its status, and the notes that say why."""
    notes = getattr(error, "__notes__", [])
    codes = [code[0] for code in map(_CODE.match, notes) if code]
    name = f"CUDA_{driver.Result(error.status).name}"
    return Refusal(call, wrong, error.status, name, codes[0] if codes else None, "\n".join(notes) or str(error))


def attempt(wrong: str, call: Callable[..., object], *args: int) -> Refusal:
    """Make a call that ought to be refused."""
    try:
        call(*args)
    except driver.DriverError as error:
        return why(call.__name__, error, wrong)
    return Refusal(call.__name__, wrong, 0, "CUDA_SUCCESS", None, "accepted, which it should not be")


def three_wrong_binds(devices: int) -> list[Refusal]:
    """Bind wrongly in three ways, each wrong in one respect only."""
    step = granularity()
    with ExitStack() as held:
        mc = multicast_object(held, 1, 2 * step)
        driver.multicast_add_device(mc, 0)
        memory = memory_on(held, 0, 4 * step)
        bind = driver.multicast_bind_mem
        return [
            attempt("a size that is no multiple of the granularity", bind, mc, 0, memory, 0, step + step // 2, 0),
            attempt("a range that ends beyond the object", bind, mc, step, memory, 0, 2 * step, 0),
            _third(held, mc, memory, step, devices),
        ]


def _third(held: ExitStack, mc: int, memory: int, step: int, devices: int) -> Refusal:
    """Bind memory of a device outside the team; where there is one device only, bind the same place twice."""
    bind = driver.multicast_bind_mem
    if devices > 1:
        other = memory_on(held, 1, step)
        return attempt("memory of a device that is not in the team", bind, mc, 0, other, 0, step, 0)
    bind(mc, 0, memory, 0, step, 0)
    held.callback(driver.multicast_unbind, mc, 0, 0, step)
    return attempt("a place that is bound already", bind, mc, 0, memory, step, step, 0)
