"""Symmetric arrays: a replica on every rank, and one address for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .block import Block
from .resource import Resource
from .shapes import nbytes_of

if TYPE_CHECKING:
    from .dlpack import Exports
    from .replica import Replica
    from .team import Team

NumpyArray = np.ndarray[Any, np.dtype[Any]]


class SymmetricArray(Resource):
    """An array of which every rank of a team has a replica, at the same place of its memory.

    Made by `Team.empty`. It belongs to the team and ends with it; ``close`` gives its place back to the team earlier.
    ``empty`` and ``close`` are symmetric: every rank makes the same calls in the same order, and a place that one rank
    has closed may be used again at once. So let all ranks be done with it (`Team.barrier`) before they close it.

    Attributes
    ----------
    shape, dtype, nbytes
        Of each replica.
    """

    def __init__(self, team: Team, block: Block, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        super().__init__()
        self.team, self.shape, self.dtype = team, shape, dtype
        self.nbytes = nbytes_of(shape, dtype)
        self._block, self._offset = block, offset
        self._exports: Exports | None = None

    @property
    def block(self) -> Block:
        """The block that it lies in."""
        return self._block

    @property
    def offset(self) -> int:
        """Where in its block it begins, in bytes."""
        return self._offset

    @property
    def multicast_ptr(self) -> int:
        """The address of all replicas, for ``multimem`` instructions; 0 without multicast."""
        self.check_open()
        return self._block.multicast_ptr and self._block.multicast_ptr + self._offset

    def peer(self, rank: int) -> int:
        """Answer the address of a rank's replica, valid in this process.

        Raises
        ------
        ValueError
            The team has no such rank.
        """
        self.check_open()
        return self._block.peers[self.team.check_rank(rank)] + self._offset

    @property
    def local(self) -> int:
        """The address of this rank's replica.

        Raises
        ------
        ValueError
            This process drives several ranks: say which one, with ``peer``.
        """
        return self.peer(self.team.own_rank("peer(rank)"))

    def numpy(self, rank: int | None = None) -> NumpyArray:
        """Answer a replica as a numpy array on the memory itself, on the software driver.

        Parameters
        ----------
        rank
            Whose; None: this rank's.

        Raises
        ------
        BufferError
            The memory is a device's: the driver is not the software driver.
        """
        from .host_view import host_view

        whose = self.team.own_rank("numpy(rank)") if rank is None else rank
        return host_view(self.peer(whose), self.shape, self.dtype)

    def set(self, values: Any, rank: int | None = None) -> None:
        """Copy values of the host into a replica (None: this rank's), on any driver; see `Replica.set`."""
        whose = self.team.own_rank("set(values, rank)") if rank is None else rank
        self.replica(whose).set(values)

    def get(self, rank: int | None = None) -> NumpyArray:
        """Copy a replica (None: this rank's) to the host, on any driver; see `Replica.get`."""
        whose = self.team.own_rank("get(rank)") if rank is None else rank
        return self.replica(whose).get()

    def __array__(self, *args: Any, **asked: Any) -> NumpyArray:
        """Refuse what would be a hidden copy from a device: numpy asks this.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError("numpy makes no array of a symmetric array: get(rank) copies a replica to the host")

    # ---- for other libraries

    def replica(self, rank: int | None = None) -> Replica:
        """Answer one rank's replica, which torch, cupy and cuda.core take by DLPack.

        Parameters
        ----------
        rank
            Whose; None: this rank's. That of another process is mapped here too.

        Raises
        ------
        ValueError
            The team has no such rank; or None, where this process drives several.
        """
        from .replica import Replica

        own = self.team.own_rank("replica(rank)") if rank is None else self.team.check_rank(rank)
        return Replica(self, own)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Answer where this rank's replica lies: kDLCUDA, ordinal."""
        return self._own_replica(BufferError).__dlpack_device__()

    def __dlpack__(self, **asked: Any) -> object:
        """Export this rank's replica; see `Replica.__dlpack__`."""
        return self._own_replica(BufferError).__dlpack__(**asked)

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        """What `Replica` says of this rank's replica."""
        return self._own_replica(AttributeError).__cuda_array_interface__

    def _own_replica(self, refusal: type[Exception]) -> Replica:
        """Answer this rank's replica, or raise what the protocol expects where there are several."""
        try:
            return self.replica()
        except ValueError as error:
            raise refusal(str(error)) from error

    @property
    def exports(self) -> Exports:
        """The tensors that others have made of it by DLPack."""
        from .dlpack import Exports

        self._exports = self._exports or Exports()
        return self._exports

    def close(self) -> None:
        """Give its place back to the team. A second call does nothing.

        Raises
        ------
        BufferError
            A tensor that another library made of it is still alive, and would come to show another array's values.
            Nothing is done. A team that closes does not ask: whoever uses such a tensor afterwards meets a fault.
        """
        with self.team.turns:
            if not (self.closed or self.team.closed) and self._exports and self._exports.alive:
                raise BufferError(
                    f"{self!r}: tensors made of it by DLPack are alive ({self._exports.alive}); let them go first"
                )
            super().close()

    def __repr__(self) -> str:
        """Show shape, type and team."""
        return f"SymmetricArray(shape={self.shape}, dtype={self.dtype}, ranks={self.team.size})"


def an_array(given: Any) -> SymmetricArray:
    """Answer a symmetric array.

    Raises
    ------
    TypeError
        It is something else.
    """
    if not isinstance(given, SymmetricArray):
        raise TypeError(f"a {type(given).__name__} is no symmetric array: team.empty(shape, dtype) makes one")
    return given
