"""What follows from several observations together: names of calls, ranks, a restart, a stall, a wait, a mismatch."""

from __future__ import annotations

from cumulticast.why.derive import fabric, hangs, manager, naming
from cumulticast.why.derive.naming import COMPLAINTS
from cumulticast.why.notes import Notes

__all__ = ["COMPLAINTS", "derive"]


def derive(notes: Notes) -> None:
    """Complete the notes in place."""
    notes.put("failure", naming.named(notes))
    notes.put("failure", naming.without_echoes(notes))
    notes.put("rule", naming.ruled(notes))
    notes.add(list(naming.refused(notes)))
    naming.rank_complaints(notes)
    for step in (*manager.STEPS, *fabric.STEPS, *hangs.STEPS):
        notes.add(list(step(notes)))
