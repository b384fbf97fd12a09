"""A rank's comm: ranks that talk through the hub."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence

from cumulticast.team.comm.channel import left
from cumulticast.team.comm.checks import check_part, check_split
from cumulticast.team.comm.membership import Box, Membership
from cumulticast.team.comm.protocol import CommError


class HubComm:
    """Ranks that talk through the hub. `open_comm` and `split` make it.

    One thread at a time may be in an exchange. Different comms of one rank may be used by threads at the same time.

    Parameters
    ----------
    membership
        This rank's place in the session.
    box
        The channel of this comm.
    members
        Ranks of the session; the place in this tuple is the rank here.
    key
        The name of the channel, the same on all members.
    sequence
        The number of the next exchange.
    """

    def __init__(self, membership: Membership, box: Box, members: tuple[int, ...], key: str, sequence: int = 0) -> None:
        self.rank = members.index(membership.rank)
        self.size = len(members)
        self._membership = membership
        self._box = box
        self._members = members
        self._key = key
        self._sequence = sequence
        self._splits: Counter[tuple[int, ...]] = Counter()
        self._turn = threading.Lock()
        self._ended: CommError | None = None

    def exchange(self, payload: bytes, label: str, timeout: float) -> list[bytes]:
        """Give every rank what every rank brought; see `Comm.exchange`.

        A wait that a signal ends (Ctrl-C) is the end of this rank's part in the comm: the others are told.

        Raises
        ------
        CommError
            A rank ended, left, did not come in time or is at another step.
        ValueError
            The payload or the label is too large, or the time limit is none.
        RuntimeError
            Another thread is in an exchange of this comm.
        """
        check_part(payload, label, timeout)
        if not self._turn.acquire(blocking=False):
            raise RuntimeError(f"exchange {label!r}: another thread is in one of this comm; give each thread a split")
        try:
            return self._exchange(payload, label, timeout)
        except CommError:
            raise
        except BaseException as error:
            self.close(f"{type(error).__name__} at {label!r}")
            raise
        finally:
            self._turn.release()

    def split(self, ranks: Sequence[int]) -> HubComm:
        """Make a comm of some of the ranks; see `Comm.split`. It works, too, when this comm is over.

        Raises
        ------
        ValueError
            The ranks are none of this comm, or this rank is not among them.
        """
        check_split(ranks, self.rank, self.size)
        members = tuple(self._members[rank] for rank in ranks)
        self._splits[members] += 1
        key = f"{self._key}/{','.join(map(str, members))}#{self._splits[members]}"
        return HubComm(self._membership, self._membership.open(key, members), members, key)

    def await_failure(self, stopped: Callable[[], bool]) -> CommError | None:
        """Wait until a rank has ended or left; None if ``stopped`` says so. For a thread beside the one that exchanges.

        Parameters
        ----------
        stopped
            Whether to wait no more; looked at when something has happened, and after `wake`.
        """
        if not self._membership.await_failure(self._box, stopped):
            return None
        failure = self._box.failure
        assert failure
        return CommError(failure.culprits, failure.label or "")

    def wake(self) -> None:
        """Let `await_failure` look at its condition."""
        self._membership.wake()

    def close(self, reason: str = "") -> None:
        """Leave; comms split from this one go on."""
        self._ended = self._ended or CommError({self.rank: left(reason)}, "close")
        self._membership.leave(self._box, reason)

    def _exchange(self, payload: bytes, label: str, timeout: float) -> list[bytes]:
        if self._ended:
            raise CommError(self._ended.culprits, self._ended.label)
        answer = self._membership.exchange(self._box, self._sequence, label, payload, timeout)
        self._sequence += 1
        if answer is None:
            raise self._failed(label)
        return answer

    def _failed(self, label: str) -> CommError:
        failure = self._box.failure
        assert failure
        self._ended = CommError(failure.culprits, failure.label or label)
        return self._ended
