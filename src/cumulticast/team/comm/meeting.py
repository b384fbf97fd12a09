"""The ranks of a job meet: rank 0 opens a hub or takes the one that it has, the others look for it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import Protocol

from cumulticast.team.comm.channel import JOIN, late
from cumulticast.team.comm.client import HubComm
from cumulticast.team.comm.door import Door
from cumulticast.team.comm.frames import ANSWER_LIMIT, FrameReader
from cumulticast.team.comm.greeting import Address, Greeted, hello
from cumulticast.team.comm.hub import Hub
from cumulticast.team.comm.membership import MARGIN, Membership
from cumulticast.team.comm.protocol import CommError
from cumulticast.team.comm.seeker import Seeker
from cumulticast.team.comm.session import ROOT

_hubs: dict[str, Hub] = {}  # name of the place → the hub of this process there
_hubs_lock = threading.Lock()


def _in_child() -> None:
    """Forget hubs in a forked child: their threads are in the parent alone."""
    _hubs.clear()
    _hubs_lock.release()


os.register_at_fork(before=_hubs_lock.acquire, after_in_parent=_hubs_lock.release, after_in_child=_in_child)


class Place(Protocol):
    """Where ranks meet."""

    @property
    def name(self) -> str:
        """The same for all meetings at one place: rank 0's process keeps one hub for each."""
        ...

    def open_door(self, size: int, timeout: float) -> tuple[str, Door]:
        """Listen, for rank 0.

        Parameters
        ----------
        size
            How many ranks there are.
        timeout
            Seconds until all must have come.

        Returns
        -------
        str
            What tells the job from others that may be found at the same addresses.
        Door
            Where ranks come in.

        Raises
        ------
        CommError
            Another process is rank 0 here.
        OSError
            This process cannot listen here.
        """
        ...

    def look_up(self) -> tuple[str, Sequence[Address]]:
        """Answer the job, and the addresses where its hub may be: none as long as they are not known."""
        ...


def meet(place: Place, rank: int, size: int, timeout: float) -> HubComm:
    """Come together with all other ranks.

    Parameters
    ----------
    place
        Where.
    rank, size
        This rank, and how many there are.
    timeout
        Seconds until all must have come.

    Raises
    ------
    CommError
        Ranks did not come, are there twice, or say other sizes.
    OSError
        Rank 0 cannot listen at the place.
    """
    deadline = time.monotonic() + timeout
    while True:
        membership = Membership((_at_own_hub if rank == 0 else _found)(place, rank, size, timeout, deadline), rank)
        if _joined(membership, deadline + MARGIN):
            return HubComm(membership, membership.root, tuple(range(size)), ROOT, sequence=1)


def _joined(membership: Membership, deadline: float) -> bool:
    """Tell whether all have come; False if there is another hub to be found."""
    reason = "gave up"
    try:
        if membership.join(deadline):
            return True
    except BaseException as error:
        reason = f"{type(error).__name__} at {JOIN!r}"
        membership.leave(membership.root, reason)
        raise
    membership.leave(membership.root, reason)
    if failure := membership.root.failure:
        raise CommError(failure.culprits, JOIN)
    return False


def _at_own_hub(place: Place, rank: int, size: int, timeout: float, deadline: float) -> Greeted:
    with _hubs_lock:
        hub = _hubs.get(place.name)
        sock = hub.attach() if hub else None
        if sock is None:
            job, door = place.open_door(size, timeout)
            hub = _hubs[place.name] = Hub(job, size, door)
            sock = hub.attach()
        assert hub
        assert sock
    sock.sendall(hello(hub.job, rank, size, timeout, deadline).encode())
    return Greeted(sock, FrameReader(ANSWER_LIMIT))


def _found(place: Place, rank: int, size: int, timeout: float, deadline: float) -> Greeted:
    seeker = Seeker(
        lambda: place.look_up()[1],
        lambda: hello(place.look_up()[0], rank, size, timeout, deadline),
    )
    if greeted := seeker.seek(deadline):
        return greeted
    raise CommError({0: f"{late(JOIN, timeout)} ({seeker.why})"}, JOIN)
