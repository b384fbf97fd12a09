"""Shareable handles: a generic allocation handle, of memory or of a multicast object, for other processes."""

from __future__ import annotations

import ctypes

from cumulticast import driver

from .devices import POSIX_FD, Kind, handle_kind

MOST_DESCRIPTOR = (1 << 31) - 1  # it is an int of C's
FABRIC_BYTES = 64  # sizeof(CUmemFabricHandle), cuda.h


def export_handle(handle: int, kind: Kind) -> int | bytes:
    """Export a handle: a file descriptor that the caller closes, or the 64 bytes of a fabric handle."""
    number = handle_kind(kind)
    shared = driver.mem_export_to_shareable_handle(handle, number, 0)
    return shared if isinstance(shared, int) else ctypes.string_at(int(shared.ptr), FABRIC_BYTES)


def import_handle(shared: int | bytes, kind: Kind) -> int:
    """Import what another process exported, and answer a new handle.

    A file descriptor may be closed at once; the handle does not need it.

    Raises
    ------
    TypeError, ValueError
        What is given is not of that kind.
    """
    number = handle_kind(kind)
    if number == POSIX_FD:
        if not isinstance(shared, int):
            raise TypeError(f"a file descriptor is needed to import kind 'posix_fd', not {type(shared).__name__}")
        if not 0 <= shared <= MOST_DESCRIPTOR:
            raise ValueError(f"{shared} is no file descriptor: 0 to {MOST_DESCRIPTOR}")
        return int(driver.mem_import_from_shareable_handle(shared, number))
    if isinstance(shared, int):
        raise TypeError("the 64 bytes of a fabric handle are needed to import kind 'fabric', not an int")
    if len(shared) != FABRIC_BYTES:
        raise ValueError(f"{len(shared)} bytes are no fabric handle: it has {FABRIC_BYTES}")
    buffer = ctypes.create_string_buffer(bytes(shared), FABRIC_BYTES)
    return int(driver.mem_import_from_shareable_handle(ctypes.addressof(buffer), number))
