"""Pinned and registered host memory."""

from __future__ import annotations

import ctypes
import mmap

from recorder import Recorder, group


@group()
def host(step: Recorder) -> None:
    """Allocate, register, look up, free; wrong pointers and double work."""
    for size, flags in ((4096, 0), (1, 0), (0, 0), (4096, 1), (4096, 2), (4096, 4), (4096, 7), (4096, 8)):
        made = step(f"alloc.{size}.{flags}", "cuMemHostAlloc", size, flags, hide=True)
        if made is None:
            continue
        step.note(f"alloc.{size}.{flags}.alignment", int(made) & -int(made))
        step(f"alloc.{size}.{flags}.flags", "cuMemHostGetFlags", made)
        device = step(f"alloc.{size}.{flags}.device", "cuMemHostGetDevicePointer", made, 0, hide=True)
        step.note(f"alloc.{size}.{flags}.same_address", int(device or 0) == int(made))
        step(f"alloc.{size}.{flags}.range", "cuMemGetAddressRange", int(made))
    plain = int(step("allochost", "cuMemAllocHost", 4096, hide=True))
    step("allochost.0", "cuMemAllocHost", 0)
    step("allochost.flags", "cuMemHostGetFlags", plain)
    step("flags.interior", "cuMemHostGetFlags", plain + 10)
    step("device.interior", "cuMemHostGetDevicePointer", plain + 10, 0, hide=True)
    step("device.flags1", "cuMemHostGetDevicePointer", plain, 1)
    step("free.interior", "cuMemFreeHost", plain + 10)
    step("memset", "cuMemsetD8", plain, 0x5A, 16)
    step.synchronize("memset.synchronize")
    step.note("memset.seen", ctypes.string_at(plain, 17).hex())
    step("memfree.host", "cuMemFree", plain)
    step("unregister.allocated", "cuMemHostUnregister", plain)
    step("free", "cuMemFreeHost", plain)
    step("free.null", "cuMemFreeHost", 0)
    step("free.twice", "cuMemFreeHost", plain)
    step("flags.freed", "cuMemHostGetFlags", plain)
    pages = mmap.mmap(-1, 1 << 16)
    start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    step("plain.flags", "cuMemHostGetFlags", start)
    step("plain.device", "cuMemHostGetDevicePointer", start, 0, hide=True)
    step("plain.unregister", "cuMemHostUnregister", start)
    step("plain.free", "cuMemFreeHost", start)
    step("register", "cuMemHostRegister", start, 8192, 0)
    step("register.flags", "cuMemHostGetFlags", start)
    step("register.device", "cuMemHostGetDevicePointer", start, 0, hide=True)
    step("register.range", "cuMemGetAddressRange", start)
    step("register.twice", "cuMemHostRegister", start, 8192, 0)
    step("register.overlap", "cuMemHostRegister", start + 4096, 8192, 0)
    step("register.adjacent", "cuMemHostRegister", start + 8192, 4096, 0)
    step("register.free", "cuMemFreeHost", start)
    step("register.memset", "cuMemsetD8", start, 0x33, 16)
    step("unregister.interior", "cuMemHostUnregister", start + 4096)
    step("unregister", "cuMemHostUnregister", start)
    step("unregister.twice", "cuMemHostUnregister", start)
    step("register.0", "cuMemHostRegister", start, 0, 0)
    step("register.null", "cuMemHostRegister", 0, 4096, 0)
    step("register.misaligned", "cuMemHostRegister", start + 20480 + 100, 1000, 0)
    for flags in (1, 2, 4, 8, 16, 32):
        if step(f"register.flags{flags}", "cuMemHostRegister", start + 32768, 4096, flags) is None:
            step(f"register.flags{flags}.now", "cuMemHostGetFlags", start + 32768)
            step(f"unregister.flags{flags}", "cuMemHostUnregister", start + 32768)
    step("register.unmapped", "cuMemHostRegister", 0x10000, 4096, 0)
