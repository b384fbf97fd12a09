"""The tables of ``cumulticast ps``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cumulticast.cli.answers import console
from cumulticast.cli.ps import Found
from cumulticast.rules.text import size_text
from cumulticast.sim.picture import MulticastPicture, Picture, ProcessPicture

if TYPE_CHECKING:
    from rich.table import Table

EVERY = 0.5  # seconds between two looks


def show(found: Found) -> None:
    """Print all worlds."""
    out = console()
    for part in parts(found):
        out.print(part, soft_wrap=isinstance(part, str))  # paths stay whole


def watch(found: Found, look: Callable[[], Found]) -> None:
    """Show it anew until Ctrl-C: in place on a terminal, one after another in a pipe."""
    from rich.console import Group
    from rich.live import Live

    out = console()
    try:
        if not out.is_terminal:
            while True:
                show(found)
                print(flush=True)
                time.sleep(EVERY)
                found = look()
        with Live(console=out, auto_refresh=False) as live:
            while True:
                live.update(Group(*parts(found)), refresh=True)
                time.sleep(EVERY)
                found = look()
    except KeyboardInterrupt:
        return


def parts(found: Found) -> list[Any]:
    """Answer everything there is to print, top to bottom."""
    made: list[Any] = [f"removed {path}: its owner and its processes are dead" for path in found.pruned]
    made += [f"damaged: {one.why}" for one in found.damaged]
    for picture in found.pictures:
        made += ["", *_world(picture)] if made else _world(picture)
    return made or ["no worlds"]


def _world(picture: Picture) -> list[Any]:
    from rich.text import Text

    used = sum(device.used for device in picture.devices)
    facts = [
        _count(len(picture.devices), "device"),
        _count(len(picture.processes), "process"),
        f"{_count(len(picture.allocations), 'allocation')} ({size_text(used)} of device memory)",
    ]
    if picture.multicast:
        facts.append(f"{_count(len(picture.multicast), 'multicast object')}, {picture.slots} with a slot")
    made: list[Any] = [Text(f"{picture.path}  {picture.machine}", style="bold"), "  " + ", ".join(facts)]
    if not picture.processes:
        made.append("  nobody is in it; `cumulticast ps --prune` removes it if its owner is dead")
    return [*made, *([_processes(picture)] if picture.processes else []), *_multicast(picture)]


def _count(number: int, what: str) -> str:
    plural = what + ("es" if what.endswith("s") else "s")
    return f"{number} {what if number == 1 else plural}"


def _table(*names: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in names[:-1]:
        table.add_column(name, no_wrap=True)
    table.add_column(names[-1], overflow="fold")
    return table


def _processes(picture: Picture) -> Table:
    table = _table("", "rank", "node", "pid", "what it does")
    for process in picture.processes:
        style = "yellow" if process.waiting else None
        table.add_row("", *_who(process), doing(picture, process), style=style)
    return table


def _who(process: ProcessPicture) -> tuple[str, str, str]:
    return "-" if process.rank is None else str(process.rank), str(process.node), str(process.pid)


def doing(picture: Picture, process: ProcessPicture) -> str:
    """Say what a process waits for, and who could end that: those that do not wait themselves."""
    wait = process.waiting
    if wait is None:
        return "runs"
    said = f"waits {wait.seconds:.1f} s in {wait.call} for multicast {name(wait.object)}"
    obj = next((obj for obj in picture.multicast if obj.id == wait.object), None)
    if obj is None:
        return said
    free = called([other for other in picture.processes if not other.waiting]) or "nobody"
    return f"{said}: {_count(obj.missing, 'device')} missing; not waiting: {free}"


def called(processes: Sequence[ProcessPicture]) -> str:
    """Name processes by their ranks, those without one by their ids."""
    ranks = sorted({process.rank for process in processes if process.rank is not None})
    pids = [f"pid {process.pid}" for process in processes if process.rank is None]
    return ", ".join([*([f"rank {ranges(ranks)}"] if ranks else []), *pids])


def name(obj: int) -> str:
    """Write an object's number as maker and count: 4294967298 is 1.2, the second object of process 1."""
    return f"{obj >> 32}.{obj & 0xFFFF_FFFF}"


def _multicast(picture: Picture) -> Iterator[Any]:
    if not picture.multicast:
        return
    table = _table("", "multicast", "size", "team", "missing", "bound", "held by")
    for obj in picture.multicast:
        table.add_row(
            "",
            name(obj.id),
            size_text(obj.size),
            ranges(obj.devices),
            str(obj.missing),
            ranges(sorted({bound.device for bound in obj.bindings})),
            _holders(picture, obj),
            style="yellow" if obj.missing else None,
        )
    yield table


def _holders(picture: Picture, obj: MulticastPicture) -> str:
    """Name who holds an object."""
    holding = [process for process in picture.processes if process.pid in obj.holders]
    return called(holding) or "a descriptor, or bound memory"


def ranges(numbers: Sequence[int]) -> str:
    """Write ascending numbers shortly: 0-3,6."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or "-"
