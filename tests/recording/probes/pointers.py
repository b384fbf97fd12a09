"""Pointer attributes of every kind of memory, one by one and all at once, as raw bytes.

Each output buffer is filled with 0xA5 first, so the record shows how many bytes the driver wrote.
"""

from __future__ import annotations

import ctypes
import mmap

from cuda.bindings import driver as cu
from recorder import MIB, PAGE, Recorder, group, mapped, properties

ATTRIBUTES = [one for one in cu.CUpointer_attribute]
MOST = [one for one in ATTRIBUTES if "P2P_TOKENS" not in one.name]
FILL = 0xA5


def written(buffer: bytes) -> str:
    """Return the bytes written (up to the last one that is no longer the fill), in hexadecimal."""
    return buffer.rstrip(bytes([FILL])).hex() or "untouched"


def singly(step: Recorder, kind: str, address: int) -> None:
    """Ask each attribute of one address alone."""
    for one in ATTRIBUTES:
        buffer = (ctypes.c_ubyte * 64)(*[FILL] * 64)
        name = f"{kind}.{one.name[21:]}"
        step.mark(name)
        status = step.library.cuPointerGetAttribute(buffer, ctypes.c_int(int(one)), ctypes.c_uint64(address))
        step.note(name, written(bytes(buffer)), status=int(status))


def together(step: Recorder, name: str, address: int, wanted: list[cu.CUpointer_attribute]) -> None:
    """Ask several attributes of one address in one call."""
    buffers = [(ctypes.c_ubyte * 64)(*[FILL] * 64) for _ in wanted]
    codes = (ctypes.c_int * len(wanted))(*[int(one) for one in wanted])
    places = (ctypes.c_void_p * len(wanted))(*[ctypes.addressof(buffer) for buffer in buffers])
    step.mark(name)
    status = step.library.cuPointerGetAttributes(len(wanted), codes, places, ctypes.c_uint64(address))
    values = [f"{one.name[21:]}={written(bytes(got))}" for one, got in zip(wanted, buffers, strict=True)]
    step.note(name, *values, status=int(status))


@group()
def pointers(step: Recorder) -> None:
    """All attributes of all kinds of memory."""
    vmm, handle = mapped(step, pages=1, reserved=4)
    bare, _ = mapped(step, pages=1, reserved=2, flags=None)
    host = step.quiet("cuMemCreate", PAGE, properties(0, 3, 0), 0)
    numa = int(step.quiet("cuMemAddressReserve", PAGE, 0, 0, 0))
    step.quiet("cuMemMap", numa, PAGE, 0, host, 0)
    plain = int(step.quiet("cuMemAlloc", MIB))
    pool = int(step.quiet("cuMemAllocAsync", MIB, 0))
    pinned = int(step.quiet("cuMemHostAlloc", 4096, 3))
    pages = mmap.mmap(-1, 1 << 16)
    ordinary = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    registered = ordinary + 32768
    step.quiet("cuMemHostRegister", registered, 4096, 0)
    managed = int(step.quiet("cuMemAllocManaged", 4096, 1))
    freed = int(step.quiet("cuMemAlloc", 64 * MIB))
    step.quiet("cuMemFree", freed)
    step.note(
        "addresses",
        f"vmm={vmm}",
        f"plain={plain}",
        f"pool={pool}",
        f"context={int(step.context):x}",
        f"handle={int(handle)}",
    )
    kinds = {
        "vmm": vmm,
        "vmm_interior": vmm + 100,
        "ungranted": bare,
        "numa": numa,
        "plain": plain,
        "plain_interior": plain + 100,
        "pool": pool,
        "pinned": pinned,
        "pinned_interior": pinned + 100,
        "registered": registered,
        "managed": managed,
        "ordinary": ordinary,
        "null": 0,
        "reserved": vmm + 2 * PAGE,
        "freed": freed,
        "wild": 0x1234,
    }
    for kind, address in kinds.items():
        singly(step, kind, address)
        together(step, f"{kind}.all", address, ATTRIBUTES)
        together(step, f"{kind}.most", address, MOST)
    for one in ATTRIBUTES:
        together(step, f"vmm.together.{one.name[21:]}", vmm, [one])
    buffer = (ctypes.c_ubyte * 64)()
    for odd in (0, 22, 100, -1):
        step.raw(f"attribute{odd}", "cuPointerGetAttribute", buffer, ctypes.c_int(odd), ctypes.c_uint64(plain))
    step.raw("all.count0", "cuPointerGetAttributes", 0, None, None, ctypes.c_uint64(plain))
    odd = (ctypes.c_int * 2)(2, 100)
    places = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), ctypes.addressof(buffer) + 32)
    step.raw("all.odd", "cuPointerGetAttributes", 2, odd, places, ctypes.c_uint64(plain))
    one, off = ctypes.c_uint(1), ctypes.c_uint(0)
    sync = 6
    step.raw("sync_memops.on", "cuPointerSetAttribute", ctypes.byref(one), sync, ctypes.c_uint64(plain))
    step.raw("sync_memops.off", "cuPointerSetAttribute", ctypes.byref(off), sync, ctypes.c_uint64(plain))
    step.raw("sync_memops.vmm", "cuPointerSetAttribute", ctypes.byref(one), sync, ctypes.c_uint64(vmm))
    step.raw("set.other", "cuPointerSetAttribute", ctypes.byref(one), 2, ctypes.c_uint64(plain))


@group()
def pointers_null(step: Recorder) -> None:
    """Null outputs; on its own, since it may end the process."""
    plain = int(step.quiet("cuMemAlloc", MIB))
    step.raw("one", "cuPointerGetAttribute", None, ctypes.c_int(2), ctypes.c_uint64(plain))
    step.raw("all", "cuPointerGetAttributes", 1, None, None, ctypes.c_uint64(plain))
