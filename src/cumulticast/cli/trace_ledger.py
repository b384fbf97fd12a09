"""What each process of a trace took and never gave back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cumulticast.cli.trace_reader import Record


@dataclass(slots=True)
class Held:
    """One thing: the call that took it, and how many references there are."""

    record: Record
    count: int = 1


#: Call → what it takes, and the parameter that names it. Each is given back by the call beside it in GIVES.
TAKES: dict[str, tuple[str, str]] = {
    "cuMemCreate": ("handles", "handle"),
    "cuMulticastCreate": ("handles", "mcHandle"),
    "cuMemImportFromShareableHandle": ("handles", "handle"),
    "cuMemRetainAllocationHandle": ("handles", "handle"),
    "cuMemAddressReserve": ("reservations", "ptr"),
    "cuMemMap": ("mappings", "ptr"),
    "cuMemAlloc": ("allocations", "dptr"),
    "cuMemAllocPitch": ("allocations", "dptr"),
    "cuMemAllocAsync": ("allocations", "dptr"),
    "cuMemAllocFromPoolAsync": ("allocations", "dptr"),
    "cuMemAllocManaged": ("allocations", "dptr"),
    "cuDevicePrimaryCtxRetain": ("primary contexts", "dev"),
    "cuCtxCreate": ("contexts", "pctx"),
}
GIVES: dict[str, tuple[str, str]] = {
    "cuMemRelease": ("handles", "handle"),
    "cuMemAddressFree": ("reservations", "ptr"),
    "cuMemFree": ("allocations", "dptr"),
    "cuMemFreeAsync": ("allocations", "dptr"),
    "cuDevicePrimaryCtxRelease": ("primary contexts", "dev"),
    "cuCtxDestroy": ("contexts", "ctx"),
}
#: What is left when the process ends, in words.
NEVER: dict[str, str] = {
    "handles": "never released (cuMemRelease)",
    "reservations": "never freed (cuMemAddressFree)",
    "mappings": "never unmapped (cuMemUnmap)",
    "allocations": "never freed (cuMemFree)",
    "primary contexts": "retained and not released (cuDevicePrimaryCtxRelease)",
    "contexts": "never destroyed (cuCtxDestroy)",
}


class Ledger:
    """The books of one process."""

    def __init__(self) -> None:
        self._held: dict[str, dict[int, Held]] = {what: {} for what in NEVER}
        self._other: dict[str, Callable[[Record], None]] = {
            "cuMemUnmap": self._unmap,
            "cuDevicePrimaryCtxReset": self._reset,
        }

    def see(self, record: Record) -> None:
        """Enter one call that was answered with 0."""
        base = record.base
        if base in TAKES:
            self._take(record, *TAKES[base])
        elif base in GIVES:
            self._give(record, *GIVES[base])
        elif base in self._other:
            self._other[base](record)

    def left(self) -> dict[str, list[Held]]:
        """Answer what was not given back."""
        return {what: list(held.values()) for what, held in self._held.items() if held}

    def _take(self, record: Record, what: str, name: str) -> None:
        key = record.number(name)
        if key is None:
            return
        held = self._held[what].get(key)
        if held is None:
            self._held[what][key] = Held(record)
        else:
            held.count += 1

    def _give(self, record: Record, what: str, name: str) -> None:
        key = record.number(name)
        held = self._held[what].get(key) if key is not None else None
        if held is not None and key is not None:
            held.count -= 1
            if held.count <= 0:
                del self._held[what][key]

    def _unmap(self, record: Record) -> None:
        start, size = record.number("ptr"), record.number("size")
        if start is not None and size is not None:
            mappings = self._held["mappings"]
            first = mappings.pop(start, None)
            if first is not None and first.record.number("size") == size:
                return
            for at in [at for at in mappings if start <= at < start + size]:
                del mappings[at]

    def _reset(self, record: Record) -> None:
        self._held["primary contexts"].pop(record.number("dev") or 0, None)
