"""The other processes of a world, as one that waits sees them: who may still add a device, and who has died.

A process is *stuck* when every live thread of it that uses the driver waits; it says so in its row. Somebody can still
add a device as long as a live process is not stuck, or has what it waits for and is about to go on, or a rank that
`cumulticast run` started has not come to the driver yet. Who died is told by the kernel (lives.py).

Whoever finds that all wait says so to all of them: the first to be told goes on, and would be hope for the others, who
may be what it goes on to wait for elsewhere (an agreement on what failed, say).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cumulticast.sim.driver import Driver


FREE = """
select count(*) from process where id <> ? and (not stuck or exists(
    select 1 from waiting left join multicast on multicast.id = object where waiting.process = process.id and (
        multicast.id is null or num_devices <= (select count(*) from team where team.multicast = object))))
"""
COMING = """
select count(*) from rank where running and rank not in (select rank from process where rank is not null)
"""
GONE = """
select coalesce(rank, pid) from gone
where rank is null or rank not in (select rank from process where rank is not null)
union select rank from rank where not running
"""


class Peers:
    """What this process tells the others of its waits, and what it asks of theirs."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._told_stuck = False

    @property
    def _number(self) -> int:
        assert self._driver.process is not None  # who waits has an object, and so a process
        return self._driver.process.number

    def waits(self, thread: int, call: str, obj: int, waited: float) -> None:
        """Show the world that a thread waits, and has for so many seconds."""
        row = (self._number, thread, call, obj, time.time() - waited)
        insert = "insert or replace into waiting(process, thread, call, object, since) values(?, ?, ?, ?, ?)"
        self._driver.world.change(insert, row)

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

    def given_up(self, thread: int) -> bool:
        """Tell whether somebody found that all waits are hopeless, this thread's too, and no device came since."""
        query = "select 1 from waiting where process = ? and thread = ? and hopeless"
        return bool(self._driver.world.rows(query, self._number, thread))

    def could_add(self) -> int:
        """Count who may still add a device; if there is nobody, all who wait now will be told."""
        world = self._driver.world
        world.reap()
        with world.transaction() as db:
            able = db.execute(FREE, (self._number,)).fetchone()[0] + db.execute(COMING).fetchone()[0]
            if not able:
                db.execute("update waiting set hopeless = 1")
        return able

    def gone(self) -> tuple[int, ...]:
        """Answer the ranks (or process ids) of those who died or ended."""
        return tuple(who for (who,) in self._driver.world.rows(GONE))
