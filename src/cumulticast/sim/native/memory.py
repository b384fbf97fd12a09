"""Mappings, allocation, probes and copies: the MMU's half of the simulator.

Addresses, sizes, pitches and offsets are bytes. What can fail raises OSError with the errno of the system
call. Protections are those of the `mmap` module (PROT_READ, PROT_WRITE; 0 is none). All functions release the
GIL.
"""

import os
from collections.abc import Sequence
from mmap import PAGESIZE

from cumulticast.sim._native import ffi, lib

END_OF_SPACE = 1 << 64


def _check(call: str, error: int) -> None:
    if error:
        raise OSError(error, f"{call}: {os.strerror(error)}")


def whole_pages(size: int) -> int:
    """Return `size` rounded up to whole pages of the host."""
    return -(-size // PAGESIZE) * PAGESIZE


def map_none(hint: int, size: int, alignment: int = 0) -> int:
    """Reserve address range without access or memory and return its start.

    Parameters
    ----------
    hint
        The wished start, 0 for none. The system may choose another; an occupied range is never taken over.
    size
        A multiple of the host page size.
    alignment
        A power of two, or 0 for the page size.

    Raises
    ------
    OSError
        EINVAL: size or alignment. ENOMEM: no such range, or too many mappings (vm.max_map_count).
    """
    address = lib.memory_map_none(hint, size, alignment)
    _check("map_none", -address if address < 0 else 0)
    return address


def map_file(address: int, size: int, fd: int, offset: int, protection: int) -> None:
    """Map a piece of a file, shared, at exactly this address, over whatever is there."""
    _check("map_file", lib.memory_map_file(address, size, fd, offset, protection))


def map_back(address: int, size: int) -> None:
    """Give a mapped piece back to its reservation, in one step: nobody else can take the range in between."""
    _check("map_back", lib.memory_map_back(address, size))


def unmap(address: int, size: int) -> None:
    """Give address range back to the system."""
    _check("unmap", lib.memory_unmap(address, size))


def protect(address: int, size: int, protection: int) -> None:
    """Set the protection of mapped pages."""
    _check("protect", lib.memory_protect(address, size, protection))


def allocate(fd: int, offset: int, length: int) -> None:
    """Back a piece of a sparse file with memory, so that no store dies by SIGBUS; the file keeps its size.

    Raises
    ------
    OSError
        ENOSPC: the file system is full. EOPNOTSUPP: it has no fallocate.
    """
    _check("allocate", lib.memory_allocate(fd, offset, length))


def readable(address: int, length: int) -> bool:
    """Return whether every page of the range can be read; never faults. An empty range can."""
    return _in_space(address, length) and lib.memory_readable(address, length) != 0


def writable(address: int, length: int) -> bool:
    """Return whether every page of the range can be written; never faults or modifies. An empty range can."""
    return _in_space(address, length) and lib.memory_writable(address, length) != 0


def _in_space(address: int, length: int) -> bool:
    """Tell whether a range ends where addresses end: a damaged image may name any length."""
    return address + length <= END_OF_SPACE


class Gather:
    """Copies pieces that an array of pointers names into one piece of memory.

    Parameters
    ----------
    places
        (offset, size) of each piece in what is made.
    size
        Bytes that are made.
    """

    def __init__(self, places: Sequence[tuple[int, int]], size: int) -> None:
        self._places = ffi.new("uint32_t[]", [word for place in places for word in place])
        self._count, self._size = len(places), size

    def __call__(self, pointers: int) -> bytes | int:
        """Answer the bytes, or the number of the piece that cannot be read (the array itself: as many as there are)."""
        data = ffi.new("char[]", self._size)
        bad = lib.memory_gather(int(ffi.cast("uintptr_t", data)), pointers, self._places, self._count)
        return bytes(ffi.buffer(data, self._size)) if bad < 0 else bad


def copy(dst: int, src: int, nbytes: int) -> None:
    """Copy bytes; the ranges may overlap."""
    lib.memory_copy(dst, src, nbytes)


def copy_2d(dst: int, dst_pitch: int, src: int, src_pitch: int, width: int, height: int) -> None:
    """Copy `height` rows of `width` bytes between two pitches."""
    lib.memory_copy_2d(dst, dst_pitch, src, src_pitch, width, height)


def fill8(dst: int, value: int, count: int) -> None:
    """Write a byte `count` times."""
    lib.memory_fill(dst, value, 1, count)


def fill16(dst: int, value: int, count: int) -> None:
    """Write a 2-byte value `count` times; any alignment."""
    lib.memory_fill(dst, value, 2, count)


def fill32(dst: int, value: int, count: int) -> None:
    """Write a 4-byte value `count` times; any alignment."""
    lib.memory_fill(dst, value, 4, count)


def fill_2d(dst: int, pitch: int, value: int, element_size: int, width: int, height: int) -> None:
    """Write a value of 1, 2 or 4 bytes into `height` rows of `width` elements.

    Raises
    ------
    ValueError
        For another element size.
    """
    if element_size not in (1, 2, 4):
        raise ValueError(f"fill_2d: element_size {element_size} is none of 1, 2, 4")
    lib.memory_fill_2d(dst, pitch, value, element_size, width, height)
