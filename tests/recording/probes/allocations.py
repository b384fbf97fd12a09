"""cuMemAlloc and its kin: sizes, addresses, ranges, wrong frees."""

from __future__ import annotations

import ctypes
import itertools

from recorder import MIB, Recorder, group


@group()
def alloc(step: Recorder) -> None:
    """Sizes, alignment, address ranges, info, pitch."""
    step("info.start", "cuMemGetInfo")
    made = {}
    for size in (
        0,
        1,
        2,
        255,
        256,
        257,
        4096,
        65536,
        MIB - 1,
        MIB,
        MIB + 1,
        2 * MIB,
        3 * MIB,
        64 * MIB,
        1 << 40,
        1 << 62,
        (1 << 64) - 1,
    ):
        address = step(f"alloc.{size}", "cuMemAlloc", size)
        if address is not None:
            made[size] = int(address)
            low = int(address) & -int(address)
            step.note(f"alloc.{size}.alignment", low)
            step(f"range.{size}", "cuMemGetAddressRange", address)
            step(f"info.{size}", "cuMemGetInfo")
    start = made[256]
    step("range.interior", "cuMemGetAddressRange", start + 100)
    step("range.last", "cuMemGetAddressRange", start + 255)
    step("range.past", "cuMemGetAddressRange", start + 256)
    step("range.past_of_one", "cuMemGetAddressRange", made[1] + 1)
    step("range.null", "cuMemGetAddressRange", 0)
    step("range.unknown", "cuMemGetAddressRange", 0x1234)
    step("free.null", "cuMemFree", 0)
    step("free.interior", "cuMemFree", start + 100)
    step("free.unknown", "cuMemFree", 0x1234)
    step("free.host", "cuMemFree", id(step))
    step("free", "cuMemFree", start)
    step("free.twice", "cuMemFree", start)
    step("range.freed", "cuMemGetAddressRange", start)
    again = step("alloc.again", "cuMemAlloc", 256)
    step.note("alloc.again.same_address", int(again or 0) == start)
    step("free.64MiB", "cuMemFree", made[64 * MIB])
    step("info.after_free", "cuMemGetInfo")
    step("memset.freed", "cuMemsetD8", made[64 * MIB], 1, 16)
    step.synchronize("synchronize")
    for width, height, element in (
        (1, 1, 4),
        (100, 10, 4),
        (512, 10, 16),
        (513, 10, 8),
        (100, 10, 3),
        (100, 10, 1),
        (0, 10, 4),
        (100, 0, 4),
        (1 << 31, 1, 4),
    ):
        step(f"pitch.{width}.{height}.{element}", "cuMemAllocPitch", width, height, element)
    first = [int(step(f"small.{i}", "cuMemAlloc", 512) or 0) for i in range(4)]
    step.note("small.distances", *[b - a for a, b in itertools.pairwise(first)])
    step.raw("raw.null_out", "cuMemAlloc_v2", None, ctypes.c_size_t(1024))
    step.raw("raw.info_null", "cuMemGetInfo_v2", None, None)
    step.raw("raw.range_null", "cuMemGetAddressRange_v2", None, None, ctypes.c_uint64(made[1]))


@group()
def managed(step: Recorder) -> None:
    """Managed memory, one page."""
    for size, flags in ((4096, 1), (4096, 2), (4096, 0), (4096, 4), (4096, 3), (0, 1)):
        address = step(f"managed.{size}.{flags}", "cuMemAllocManaged", size, flags)
        if address is not None:
            step(f"managed.{size}.{flags}.range", "cuMemGetAddressRange", address)
            step(f"managed.{size}.{flags}.memset", "cuMemsetD8", address, 1, 16)
            step(f"managed.{size}.{flags}.free", "cuMemFree", address)
