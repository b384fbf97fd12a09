"""Why a plan is as it is, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cumulticast.layout.draft import Draft
from cumulticast.layout.machines import Granularity, Limits
from cumulticast.layout.planned import Total
from cumulticast.layout.sharing import Shared
from cumulticast.rules.text import size_text


def reasons(
    draft: Draft,
    totals: Mapping[Granularity, Total],
    granularity: Granularity,
    limits: Limits,
    shared: Mapping[int, Shared],
) -> tuple[str, ...]:
    """Return what was decided, and for what."""
    return (
        *_grouping(draft, granularity, limits),
        _policies(totals),
        *_merged(draft, granularity),
        *_windows(draft, limits),
        *_sharing(draft, granularity, limits, shared),
    )


def _grouping(draft: Draft, granularity: Granularity, limits: Limits) -> Iterator[str]:
    arrays = [(request, one) for one in draft.assemblies for request, _ in one.arrays]
    if not arrays:
        return
    alone = sum(
        len(one.team) * (limits.rounded(request.nbytes, granularity) - request.nbytes) for request, one in arrays
    )
    objects = sum(bool(one.arrays) for one in draft.assemblies)
    teams = len({one.team for one in draft.assemblies if one.arrays})
    yield (
        f"{_many(len(arrays), 'new array')} of {_many(teams, 'team')} in {_many(objects, 'object')}: "
        f"{size_text(draft.total.waste)} of padding on all devices together; an object for each array would take "
        f"{_many(len(arrays), 'slot')} and {size_text(alone)}"
    )


def _policies(totals: Mapping[Granularity, Total]) -> str:
    low, high = totals["minimum"], totals["recommended"]
    said = f"minimum granularity wastes {size_text(low.waste)} in {_many(low.slots, 'slot')}, "
    return f"{said}recommended {size_text(high.waste)} in {_many(high.slots, 'slot')}"


def _merged(draft: Draft, granularity: Granularity) -> Iterator[str]:
    if draft.merged:
        teams = _many(len(draft.merged), "team")
        yield f"slots are short: {teams} merged objects, although that wastes more by {granularity} granularity"


def _windows(draft: Draft, limits: Limits) -> Iterator[str]:
    windows = [window for one in draft.assemblies for window in one.windows]
    if not windows:
        return
    arrays = sum(len(window.arrays) for window in windows)
    said = f"{_many(arrays, 'array')} in memory that exists, by {_many(len(windows), 'range')} of whole granules"
    binds = sum(window.unaligned(limits.granularity) for window in windows)
    if binds:
        yield f"{said}; {_many(binds, 'bind')} inside a granule, where the offsets differ between devices"
    else:
        yield f"{said}: they begin at the same place in a granule everywhere, so no unaligned bind is needed"


def _sharing(draft: Draft, granularity: Granularity, limits: Limits, shared: Mapping[int, Shared]) -> Iterator[str]:
    padded = [one for one in draft.assemblies if one.slack]
    together = len({device for one in padded for device in one.team}) < sum(len(one.team) for one in padded)
    if shared:
        saved, binds = sum(one.saved for one in shared.values()), sum(one.unaligned for one in shared.values())
        raised = len(
            {number for one in shared.values() for number, at in one.offsets.items() if at % limits.granularity}
        )
        yield (
            f"objects share memory on {_many(len(shared), 'device')}: {size_text(saved)} saved for "
            f"{_many(binds, 'unaligned bind')} and {size_text(raised * limits.granularity)} of headroom"
        )
    elif not together:
        yield "no memory is shared between objects: on no device do two of them have padding"
    elif not limits.relaxed:
        yield f"no memory is shared between objects: {limits.machine} binds whole granules only"
    elif granularity == "recommended":
        yield "no memory is shared between objects: that is of no use to the recommended granularity"
    else:
        yield (
            "no memory is shared between objects: it saves no granule within the stock of "
            f"{limits.unaligned} unaligned binds and the largest size of an object"
        )


def _many(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")
