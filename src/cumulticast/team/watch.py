"""A look at the other ranks while this one waits for a device: kernels that wait for a dead rank are let go at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from .comm import Comm, CommError


@runtime_checkable
class Watchable(Protocol):
    """A comm that tells of a rank's end without being asked. `cumulticast.team.comm` makes such ones."""

    def await_failure(self, stopped: Callable[[], bool]) -> CommError | None:
        """Wait until a rank has ended or left; None if ``stopped`` says so."""
        ...

    def wake(self) -> None:
        """Let ``await_failure`` look at its condition again."""
        ...


class Watch:
    """A thread that waits for the end of another rank, from `start` to `stop`.

    Parameters
    ----------
    comm
        Between the ranks. One that is not `Watchable` is not watched: its ranks are missed at the time limit.
    abandon
        Called, in the thread, with the rank that is gone.
    """

    def __init__(self, comm: Comm, abandon: Callable[[int], None]) -> None:
        self._comm, self._abandon = comm, abandon
        self._stopped = False
        self._thread: threading.Thread | None = None
        self.failure: CommError | None = None

    def start(self) -> None:
        """Begin, unless it has begun."""
        if self._thread is None and isinstance(self._comm, Watchable):
            self._thread = threading.Thread(target=self._wait, args=(self._comm,), name="cumulticast ranks")
            self._thread.daemon = True
            self._thread.start()

    def stop(self) -> None:
        """End; nothing is abandoned after that."""
        self._stopped = True
        if self._thread and isinstance(self._comm, Watchable):
            self._comm.wake()
            self._thread.join()

    def _wait(self, comm: Watchable) -> None:
        failure = comm.await_failure(lambda: self._stopped)
        if failure and not self._stopped:
            self.failure = failure
            self._abandon(min(failure.culprits))
