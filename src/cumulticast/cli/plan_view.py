"""The tables of ``cumulticast plan``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cumulticast.cli.answers import console
from cumulticast.layout import Plan
from cumulticast.layout.planned import SHARED, DeviceUse, PlannedObject
from cumulticast.layout.text import devices_text
from cumulticast.rules.text import size_text

if TYPE_CHECKING:
    from rich.table import Table

MOST = 24  # rows of a table; --json has all


def show(plan: Plan) -> None:
    """Print what does not fit, objects, arrays, devices, and why."""
    out = console()
    verdict = "fits" if plan.fits else "does not fit"
    out.print(f"{plan.limits.machine}, {plan.granularity} granularity: {verdict}", style="bold")
    for lack in plan.lacking[:MOST]:
        out.print(f"  {lack.why}", style="red", soft_wrap=True)
    for line in _more(len(plan.lacking), "more things are lacking: --json"):
        out.print(f"  {line}", style="red")
    for table in (objects(plan), arrays(plan), devices(plan)):
        out.print()
        out.print(table)
    out.print()
    for line in totals(plan):
        out.print(line, soft_wrap=True)


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        right = name in ("object", "size", "offset", "arrays", "memory", "waste", "unaligned", "bytes")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    return table


def _more(count: int, what: str = "more: --json") -> list[str]:
    return [f"... {count - MOST} {what}"] if count > MOST else []


def objects(plan: Plan) -> Table:
    """Answer a row for each object."""
    table = _table("object", "devices", "size", "arrays", "memory bound")
    for planned in plan.objects[:MOST]:
        bound = _bound(planned)
        size = size_text(planned.size)
        table.add_row(str(planned.number), devices_text(planned.team), size, str(len(planned.arrays)), bound)
    for line in _more(len(plan.objects)):
        table.add_row("", line)
    return table


def _bound(planned: PlannedObject) -> str:
    """Say which memory the binds show, each name once."""
    names = list(
        dict.fromkeys(bind.memory if not bind.created or bind.memory == SHARED else "its own" for bind in planned.binds)
    )
    unaligned = sum(bind.unaligned for bind in planned.binds)
    return ", ".join(names) + (f"; {unaligned} unaligned" if unaligned else "")


def _shown(name: str) -> str:
    """Answer a name without what a terminal might obey."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)


def arrays(plan: Plan) -> Table:
    """Answer a row for each array."""
    table = _table("array", "object", "offset", "bytes", "memory")
    rows = [(array, planned.number) for planned in plan.objects for array in planned.arrays]
    for array, number in rows[:MOST]:
        table.add_row(_shown(array.name), str(number), str(array.offset), str(array.nbytes), array.existing or "new")
    for line in _more(len(rows)):
        table.add_row(line)
    return table


def devices(plan: Plan) -> Table:
    """Answer a row for all devices that give the same."""
    table = _table("devices", "memory", "arrays", "waste", "unaligned")
    alike: dict[tuple[int, int, int, int], list[DeviceUse]] = {}
    for use in plan.devices:
        alike.setdefault((use.memory, use.arrays, use.waste, use.unaligned), []).append(use)
    for (memory, covered, waste, unaligned), uses in list(alike.items())[:MOST]:
        shown = devices_text([use.device for use in uses])
        table.add_row(shown, size_text(memory), size_text(covered), size_text(waste), str(unaligned))
    for line in _more(len(alike)):
        table.add_row(line)
    return table


def totals(plan: Plan) -> Iterator[str]:
    """Yield what is used, and why."""
    yield f"slots      {plan.slots.used} of {plan.slots.limit}"
    if plan.limits.relaxed:
        yield f"unaligned  {plan.unaligned.used} of {plan.unaligned.limit} on the device with most"
    yield f"waste      {size_text(plan.waste)} over all devices"
    yield from _named("why", plan.why)


def _named(name: str, lines: Sequence[str]) -> Iterator[str]:
    for place, line in enumerate(lines):
        yield f"{'' if place else name:<9}  {line}"
