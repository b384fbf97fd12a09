"""What is in a trace: how often each call was made, by whom, how often it failed, how long it took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cumulticast.cli.trace_reader import Header, Reader, Record


@dataclass(slots=True)
class Total:
    """Calls of one kind; times in microseconds."""

    count: int = 0
    failures: int = 0
    total_us: float = 0.0
    longest_us: float = 0.0
    waited_us: float = 0.0
    findings: int = 0

    def add(self, record: Record) -> None:
        """Count one call."""
        self.count += 1
        self.failures += record.status != 0
        self.total_us += record.duration_us
        self.longest_us = max(self.longest_us, record.duration_us)
        self.waited_us += record.waited_us
        self.findings += len(record.findings)

    def as_dict(self) -> dict[str, Any]:
        """Answer it as JSON has it."""
        return {
            "count": self.count,
            "failures": self.failures,
            "findings": self.findings,
            "total_us": round(self.total_us, 3),
            "mean_us": round(self.total_us / self.count, 3),
            "longest_us": round(self.longest_us, 3),
            "waited_us": round(self.waited_us, 3),
        }


@dataclass(slots=True)
class Summary:
    """All totals of a trace: by call, and by rank (or process, where it has none)."""

    worlds: list[Header] = field(default_factory=list[Header])
    calls: dict[str, Total] = field(default_factory=dict[str, Total])
    ranks: dict[str, Total] = field(default_factory=dict[str, Total])

    @classmethod
    def of(cls, reader: Reader) -> Summary:
        """Read a whole trace."""
        made = cls()
        for item in reader:
            if isinstance(item, Header):
                made.worlds.append(item)
            else:
                made.calls.setdefault(item.call, Total()).add(item)
                made.ranks.setdefault(item.who, Total()).add(item)
        return made

    def by_time(self) -> list[tuple[str, Total]]:
        """Answer the calls, the ones that took longest together first."""
        return sorted(self.calls.items(), key=lambda item: (-item[1].total_us, item[0]))

    def by_rank(self) -> list[tuple[str, Total]]:
        """Answer the ranks in their order, then processes without one."""
        return sorted(self.ranks.items(), key=lambda item: (item[0][0] != "r", int(item[0].split()[1])))
