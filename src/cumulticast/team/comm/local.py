"""The comm of a rank that is alone: nothing to wait for, and no sockets."""

from __future__ import annotations

from collections.abc import Sequence

from cumulticast.team.comm.channel import left
from cumulticast.team.comm.checks import check_part, check_split
from cumulticast.team.comm.protocol import CommError


class LocalComm:
    """One rank of one."""

    rank = 0
    size = 1

    def __init__(self) -> None:
        self._closed: str | None = None

    def exchange(self, payload: bytes, label: str, timeout: float) -> list[bytes]:
        """Answer the payload.

        Raises
        ------
        CommError
            The comm is closed.
        """
        check_part(payload, label, timeout)
        if self._closed is not None:
            raise CommError({0: self._closed}, label)
        return [payload]

    def split(self, ranks: Sequence[int]) -> LocalComm:
        """Answer another comm of one rank."""
        check_split(ranks, self.rank, self.size)
        return LocalComm()

    def close(self, reason: str = "") -> None:
        """Leave."""
        self._closed = self._closed or left(reason)
