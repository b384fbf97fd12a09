"""Communicators that programs have already: each is used once, to tell all ranks what rank 0 says.

After that our own sockets carry everything, so that time limits, deaths and the names of culprits are the same
everywhere.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

from cumulticast.team.comm.channel import JOIN, late
from cumulticast.team.comm.protocol import CommError

TOLD = 8192  # bytes of what rank 0 tells, filled up with spaces: all ranks must know the size beforehand
GLANCE = 0.001  # seconds between looks at a broadcast: neither library's wait has both a limit and Ctrl-C
MPI_MEMBERS = ("Get_rank", "Get_size", "bcast", "allgather")


class Communicator(Protocol):
    """Ranks that can be told something."""

    @property
    def rank(self) -> int:
        """The number of this rank."""
        ...

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def tell(self, text: str, timeout: float) -> str:
        """Answer on all ranks what rank 0 says; CommError when that takes too long.

        Parameters
        ----------
        text
            What to tell; only rank 0's counts.
        timeout
            Seconds.
        """
        ...


def known_communicator(comm: Any) -> Communicator | None:
    """Answer what an object of another library can do for us; None if it is none that is known."""
    distributed: Any = sys.modules.get("torch.distributed")  # a group exists only where torch has been imported
    if distributed and isinstance(comm, getattr(distributed, "ProcessGroup", ())):
        return TorchGroup(comm, distributed)
    if all(callable(getattr(comm, name, None)) for name in MPI_MEMBERS):
        return MpiCommunicator(comm)
    return None


class MpiCommunicator:
    """An mpi4py communicator, or an object that has its Get_rank, Get_size, bcast and allgather.

    Parameters
    ----------
    comm
        The communicator.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.rank = int(comm.Get_rank())
        self.size = int(comm.Get_size())

    def tell(self, text: str, timeout: float) -> str:
        """Broadcast; within the time limit if the communicator has mpi4py's Ibcast. See `Communicator`."""
        if not hasattr(self._comm, "Ibcast"):
            return str(self._comm.bcast(text, root=0))
        buffer = bytearray(_filled(text))
        request = self._comm.Ibcast(buffer, root=0)
        _await(request.Test, timeout)
        return buffer.decode().rstrip()


class TorchGroup:
    """A process group of torch.distributed.

    Parameters
    ----------
    group
        The group.
    distributed
        The module torch.distributed.
    """

    def __init__(self, group: Any, distributed: Any) -> None:
        self._group = group
        self._distributed = distributed
        self.rank = int(distributed.get_rank(group))
        self.size = int(distributed.get_world_size(group))

    def tell(self, text: str, timeout: float) -> str:
        """Broadcast; see `Communicator`."""
        torch: Any = sys.modules["torch"]
        device = "cuda" if self._distributed.get_backend(self._group) == "nccl" else "cpu"
        tensor = torch.frombuffer(bytearray(_filled(text)), dtype=torch.uint8).to(device)
        first = self._distributed.get_global_rank(self._group, 0)
        work = self._distributed.broadcast(tensor, src=first, group=self._group, async_op=True)
        _await(work.is_completed, timeout)
        work.wait(timedelta(seconds=timeout))  # raises what went wrong
        return bytes(tensor.cpu().tolist()).decode().rstrip()


def _filled(text: str) -> bytes:
    told = text.encode()
    if len(told) > TOLD:
        raise ValueError(f"{len(told)} bytes to tell: at most {TOLD}")
    return told.ljust(TOLD)


def _await(done: Callable[[], object], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while not done():
        if time.monotonic() >= deadline:
            raise CommError({0: late(JOIN, timeout)}, JOIN)
        time.sleep(GLANCE)
