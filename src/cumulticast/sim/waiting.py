"""Waits: who waits for what, what is said about it, and when a wait is given up.

The wait itself happens in C, outside the interpreter's lock, on the object's futex word; here is what is decided each
time the sleeper looks up.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cumulticast.rules import Refused, Rule, multicast_mapping, team_waits
from cumulticast.sim.entry import Wait
from cumulticast.sim.peers import Peers

if TYPE_CHECKING:
    from cumulticast.sim.driver import Driver
    from cumulticast.sim.streams import Held

FIRST_WORD = 1.0  # seconds until a wait is spoken of, or given up when it is hopeless
EVERY = 10.0  # seconds between two words about the same wait
LOOK = 0.25  # seconds between two looks at who is still there


@dataclass(slots=True)
class Waiter:
    """A thread that waits."""

    call: str
    obj: int
    since: float
    next_word: float
    shown: bool = False


class Waiting:
    """The waits of this process. Short ones stay its own; longer ones are shown to the world (`peers`)."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._peers = Peers(driver)
        self.waiters: dict[int, Waiter] = {}
        self.held: dict[int, dict[object, Held]] = {}  # what threads wait for that is on its way: work of streams
        self._threads: dict[int, int] = {}

    def entered(self, thread: int, native_id: int) -> None:
        """Note that a thread uses the driver: it could be the one who adds the last device."""
        self._threads[thread] = native_id
        self._peers.tell(stuck=False)

    def waits(self, thread: int) -> bool:
        """Tell whether a thread's call has waited before, and is asked again."""
        return thread in self.waiters or bool(self.held.get(thread))

    def over(self, thread: int) -> None:
        """The thread's call is over, one way or another."""
        self.held.pop(thread, None)
        waiter = self.waiters.pop(thread, None)
        if waiter is not None and waiter.shown and not self._driver.closed:
            self._peers.no_longer_waits(thread)

    def for_team(self, thread: int, obj: int, generation: int, team: tuple[int, ...], wanted: int) -> Wait:
        """Go on waiting until all devices are added.

        Raises
        ------
        Refused
            909: nobody is left who could add them, or the block limit is over.
        """
        options, now, missing = self._driver.options, time.monotonic(), wanted - len(team)
        waiter = self.waiters.setdefault(thread, Waiter(self._driver.call, obj, now, now + FIRST_WORD))
        waited, limit = now - waiter.since, options.block_limit
        rule = multicast_mapping.map_waits if waiter.call == "cuMemMap" else team_waits.bind_waits
        what = f"multicast object {obj} {rule.check(wanted, team)}"
        if limit is not None:
            self._end(what, team_waits.block_limit, waited, limit, missing)
        if waited >= LOOK:
            stuck = self._stuck(thread)
            if not waiter.shown:
                self._peers.waits(thread, waiter.call, obj, waited)
                waiter.shown = True
            self._peers.tell(stuck=stuck)
            if waited >= FIRST_WORD and options.hopeless == "fail" and self._hopeless(thread, stuck):
                self._end(what, team_waits.wait_can_end, missing, 0, self._peers.gone())
        if now >= waiter.next_word:
            waiter.next_word = now + EVERY
            self._driver.log.write("W", rule.describe(waiter.call, f"{what}; waiting for {waited:.0f} s"))
        left = LOOK if limit is None else max(0.001, min(LOOK, limit - waited))
        return Wait(self._driver.world.word(obj), generation, left)

    def _end(self, what: str, rule: Rule[...], *facts: Any) -> None:
        """End a wait that the rule says is over: 909, and a finding, since that status is no real driver's."""
        reason = rule.check(*facts)
        if reason is not None:
            assert rule.status is not None
            reason = f"{what}; {reason}"
            self._driver.report(rule, reason)
            raise Refused(rule.status, rule, reason)

    def _hopeless(self, thread: int, stuck: bool) -> bool:
        return self._peers.given_up(thread) or (stuck and not self._peers.could_add())

    def _stuck(self, thread: int) -> bool:
        """Tell whether all live threads of this process that use the driver wait."""
        for gone in [t for t, tid in self._threads.items() if not os.path.exists(f"/proc/self/task/{tid}")]:
            del self._threads[gone]
        return all(t == thread or t in self.waiters for t in self._threads)
