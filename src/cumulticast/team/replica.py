"""One rank's replica of a symmetric array, for other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cumulticast import driver

from .dlpack import CUDA, LEGACY, Tensor, check_request, in_context_of, let_wait

if TYPE_CHECKING:
    from .array import SymmetricArray


@dataclass(frozen=True, slots=True)
class Replica:
    """The memory of one rank: copies, the DLPack protocol and the CUDA array interface.

    Attributes
    ----------
    array
        The symmetric array.
    rank
        Whose replica.
    """

    array: SymmetricArray
    rank: int

    @property
    def ptr(self) -> int:
        """The address, valid in this process."""
        return self.array.peer(self.rank)

    @property
    def shape(self) -> tuple[int, ...]:
        """As the array's."""
        return self.array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """As the array's."""
        return self.array.dtype

    @property
    def nbytes(self) -> int:
        """As the array's."""
        return self.array.nbytes

    @property
    def device(self) -> int:
        """The ordinal of the device to work from: the rank's, if this process drives it, else the process's own.

        The device of another process may be out of sight, and its memory is mapped for ours.
        """
        team = self.array.team
        return team.devices[team.mine.index(self.rank) if self.rank in team.mine else 0]

    def set(self, values: Any) -> None:
        """Copy values to the device, after all that it was given on the default stream and by the team.

        Parameters
        ----------
        values
            Whatever numpy makes an array of; spread to the shape, converted to the type as in an assignment.
        """
        given = np.asarray(values).astype(self.dtype)
        try:
            content = np.ascontiguousarray(np.broadcast_to(given, self.shape))
        except ValueError:
            raise ValueError(f"values of shape {given.shape} cannot be spread to {self.shape}") from None
        with in_context_of(self.device):
            driver.memcpy_htod_v2(self.ptr, content.ctypes.data, self.nbytes)

    def get(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Copy it to the host, after all that the device was given on the default stream and by the team.

        Raises
        ------
        TeamError
            A rank did not come to a collective before: what that left is not defined.
        """
        content = np.empty(self.shape, self.dtype)
        with in_context_of(self.device):
            driver.memcpy_dtoh_v2(content.ctypes.data, self.ptr, self.nbytes)
        self.array.team.check_results()
        return content

    def numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Answer it as a numpy array on the memory itself; see `SymmetricArray.numpy`."""
        return self.array.numpy(self.rank)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Answer kDLCUDA and the device."""
        self.array.check_open()
        return CUDA, self.device

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Export it; nothing is copied. The array does not close before the consumer lets go.

        Parameters
        ----------
        stream
            The consumer's stream, which waits for what the default stream and the team were given. None or 1 the legacy
            default stream, 2 the per-thread one, a handle; -1: no order. Other streams you order yourself.
        max_version
            From (1, 0) on the capsule is versioned.
        dl_device, copy
            Only what needs no copy.

        Raises
        ------
        BufferError
            A copy would be needed, or DLPack has no code for the type.
        ValueError
            The array is closed, or the stream 0.
        """
        check_request(self.__dlpack_device__()[1], dl_device, copy)
        tensor = Tensor(self.ptr, self.device, self.shape, self.dtype)
        let_wait(self.device, stream)
        return self.array.exports.capsule(tensor, max_version)

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        """Version 3 of the CUDA array interface; it tells nobody when the consumer is done, so DLPack is better.

        Raises
        ------
        AttributeError
            It has no name for the type: bfloat16 and its like go by DLPack.
        """
        if self.dtype.isbuiltin != 1:
            raise AttributeError(f"the CUDA array interface has no name for {self.dtype}: use DLPack")
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.ptr, False),
            "strides": None,
            "stream": LEGACY,  # the team's own streams are ordered with it
            "version": 3,
        }
