"""Multicast objects as a trace shows them: who added devices, who waited, what is bound, who never came."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from cumulticast.cli.trace_reader import Fields, Record

Identity = tuple[int, int]
BINDS = ("cuMulticastBindMem", "cuMulticastBindAddr")


@dataclass(slots=True)
class Team:
    """One object: every list is as short as its team, but for the waits, which the caller takes away."""

    created: Record | None = None
    wanted: int | None = None
    adds: list[Record] = field(default_factory=list[Record])
    holders: dict[int, Record] = field(default_factory=dict[int, Record])
    references: dict[int, int] = field(default_factory=dict[int, int])
    waits: list[Record] = field(default_factory=list[Record])
    binds: dict[int, list[Record]] = field(default_factory=dict[int, list[Record]])
    used: bool = False
    handles: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    @property
    def missing(self) -> int:
        """How many devices were never added; 0 when the trace does not say how many there should be."""
        return max(0, (self.wanted or 0) - len(self.adds))

    def released_by(self, wait: Record) -> Record | None:
        """Answer the call that ended a wait: the last device came while it waited.

        The waiter is woken inside that call; so it can be over first.
        """
        before = [add for add in self.adds if add.t <= wait.end]
        return max(before, key=lambda add: add.t, default=None) if wait.status == 0 else None

    def idle(self) -> list[Record]:
        """Answer how those came to the object who added no device: their create or import."""
        added = {add.pid for add in self.adds}
        return [record for pid, record in self.holders.items() if pid not in added]


class Teams:
    """The multicast objects of one world; those that are gone are handed out and forgotten."""

    def __init__(self) -> None:
        self._teams: dict[Identity, Team] = {}
        self._handles: dict[tuple[int, int], Identity] = {}

    def see(self, record: Record) -> Team | None:
        """Take in one call; answer an object that nobody refers to any more."""
        base = record.base
        if base == "cuMulticastCreate" and not record.status:
            self._create(record)
        elif base in ("cuMemImportFromShareableHandle", "cuMemRetainAllocationHandle") and not record.status:
            self._refer(record, record.identity("handle"), record.number("handle"))
        elif base == "cuMemRelease" and not record.status:
            return self._release(record)
        elif base.startswith("cuMulticast") or base == "cuMemMap":
            self._use(record, base)
        return None

    def rest(self) -> list[Team]:
        """Answer the objects that are left at the end."""
        return list(self._teams.values())

    def _create(self, record: Record) -> None:
        identity, prop = record.identity("mcHandle"), record.args.get("prop")
        wanted = cast("Fields", prop).get("numDevices") if isinstance(prop, dict) else None
        self._teams[identity] = Team(record, wanted if type(wanted) is int else None)
        self._refer(record, identity, record.number("mcHandle"))

    def _refer(self, record: Record, identity: Identity, handle: int | None) -> None:
        team = self._teams.get(identity)
        if team is not None and handle is not None:
            self._handles[record.pid, handle] = identity
            team.handles.add((record.pid, handle))
            team.holders.setdefault(record.pid, record)
            team.references[record.pid] = team.references.get(record.pid, 0) + 1

    def _release(self, record: Record) -> Team | None:
        key = (record.pid, record.number("handle") or 0)
        identity = self._handles.get(key)
        team = self._teams.get(identity) if identity else None
        if identity is None or team is None:
            return None
        team.references[record.pid] = team.references.get(record.pid, 0) - 1
        if any(count > 0 for count in team.references.values()):
            return None
        for held in team.handles:
            self._handles.pop(held, None)
        return self._teams.pop(identity)

    def _use(self, record: Record, base: str) -> None:
        identity = record.identity("handle" if base == "cuMemMap" else "mcHandle")
        team = self._teams.get(identity)
        if team is None and record.waited_us:  # its create is not in this trace, or it was made anew by a late import
            team = self._teams[identity] = Team()
        if team is None:
            return
        if record.waited_us:
            team.waits.append(record)
        team.used = team.used or base != "cuMulticastAddDevice"
        if record.status:
            return
        if base == "cuMulticastAddDevice":
            team.adds.append(record)
            team.used = True
        elif base in BINDS:
            team.binds.setdefault(record.number("mcOffset") or 0, []).append(record)
        elif base == "cuMulticastUnbind":
            _unbind(team, record)


def _unbind(team: Team, record: Record) -> None:
    """Forget one of the binds at this offset: the device's own where a call named it, or any."""
    there = team.binds.get(record.number("mcOffset") or 0, [])
    device = record.number("dev")
    named = [bind for bind in there if bind.number("dev") == device]
    if there:
        there.remove((named or [bind for bind in there if bind.number("dev") is None] or there)[0])
