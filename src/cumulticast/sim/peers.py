"""The other processes of a world, as one that waits sees them: who may still add a device, and who has died.

A process is *stuck* when every live thread of it that uses the driver waits; it says so in its row. Somebody can still
add a device as long as a live process is not stuck, or a rank that `cumulticast run` started has not come to the driver
yet. Who died is told by the kernel (lives.py).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cumulticast.sim.driver import Driver


class Peers:
    """What this process tells the others of its waits, and what it asks of theirs."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._told_stuck = False

    @property
    def _number(self) -> int:
        assert self._driver.process is not None  # who waits has an object, and so a process
        return self._driver.process.number

    def waits(self, thread: int, call: str, obj: int) -> None:
        """Show the world that a thread waits."""
        row = (self._number, thread, call, obj, time.time())
        self._driver.world.change("insert or replace into waiting values(?, ?, ?, ?, ?)", row)

    def tell(self, *, stuck: bool) -> None:
        """Tell the world whether the whole process waits."""
        if stuck != self._told_stuck:
            self._driver.world.change("update process set stuck = ? where id = ?", (int(stuck), self._number))
            self._told_stuck = stuck

    def no_longer_waits(self, thread: int) -> None:
        """Take a wait back."""
        world, number = self._driver.world, self._number
        with world.transaction() as db:
            db.execute("delete from waiting where process = ? and thread = ?", (number, thread))
            db.execute("update process set stuck = 0 where id = ?", (number,))
        self._told_stuck = False

    def could_add(self) -> tuple[int, tuple[int, ...]]:
        """Count who may still add a device; and answer the ranks (or process ids) of those who died or ended."""
        world = self._driver.world
        world.reap()
        free = world.rows("select count(*) from process where id <> ? and not stuck", self._number)[0][0]
        coming = world.rows(
            "select count(*) from rank where running and rank not in (select rank from process where rank is not null)"
        )[0][0]
        gone = world.rows("select coalesce(rank, pid) from gone union select rank from rank where not running")
        return free + coming, tuple(who for (who,) in gone)
