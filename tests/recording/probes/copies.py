"""Copies and memsets in one dimension: directions, edges, permissions."""

from __future__ import annotations

import ctypes

from recorder import MIB, PAGE, Recorder, access, group, location, mapped, properties


@group()
def copies(step: Recorder) -> None:
    """Every direction; zero bytes; overlap; the ends of an allocation."""
    one, two = (int(step.quiet("cuMemAlloc", MIB)) for _ in range(2))
    step.note("distance", two - one)
    near, far = bytearray(range(256)), bytearray(256)
    here, there = (ctypes.addressof(ctypes.c_char.from_buffer(block)) for block in (near, far))
    step("HtoD", "cuMemcpyHtoD", one, here, 256)
    step("DtoD", "cuMemcpyDtoD", two, one, 256)
    step("DtoH", "cuMemcpyDtoH", there, two, 256)
    step.note("round", far == near)
    step("HtoDAsync", "cuMemcpyHtoDAsync", one, here, 256, 0)
    step("DtoDAsync", "cuMemcpyDtoDAsync", two, one, 256, 0)
    step("DtoHAsync", "cuMemcpyDtoHAsync", there, two, 256, 0)
    step("any.DtoD", "cuMemcpy", one, two, 256)
    step("any.HtoD", "cuMemcpy", one, here, 256)
    step("any.DtoH", "cuMemcpy", there, one, 256)
    far[:] = bytes(256)
    step("any.HtoH", "cuMemcpy", there, here, 256)
    step.synchronize("any.synchronize")
    step.note("any.HtoH.done", far == near)
    step("any.async", "cuMemcpyAsync", one, two, 256, 0)
    step("any.async.HtoH", "cuMemcpyAsync", there, here, 256, 0)
    step("peer.itself", "cuMemcpyPeer", two, step.context, one, step.context, 256)
    step("peer.null", "cuMemcpyPeer", two, 0, one, 0, 256)
    step("peer.async", "cuMemcpyPeerAsync", two, step.context, one, step.context, 256, 0)
    step.synchronize("synchronize.1")
    for name, arguments in {"HtoD": (one, here), "DtoH": (there, one), "DtoD": (two, one)}.items():
        step(f"zero.{name}", f"cuMemcpy{name}", *arguments, 0)
    step("zero.null", "cuMemcpyDtoD", 0, 0, 0)
    step("zero.wild", "cuMemcpyDtoD", 0x1234, 0x5678, 0)
    step("zero.any_null", "cuMemcpy", 0, 0, 0)
    step("zero.memset", "cuMemsetD8", one, 1, 0)
    step("zero.memset_null", "cuMemsetD8", 0, 1, 0)
    step("zero.memset_wild", "cuMemsetD8", 0x1234, 1, 0)
    step("null.DtoD", "cuMemcpyDtoD", 0, one, 16)
    step("null.DtoD.from", "cuMemcpyDtoD", one, 0, 16)
    step("null.HtoD", "cuMemcpyHtoD", 0, here, 16)
    step("null.memset", "cuMemsetD8", 0, 1, 16)
    step("overlap", "cuMemcpyDtoD", one + 16, one, 64)
    step.bytes_at("overlap.bytes", one, 96)
    step("overlap.same", "cuMemcpyDtoD", one, one, 64)
    step("wild.DtoD", "cuMemcpyDtoD", one, 0x1234, 16)
    step("wild.to", "cuMemcpyDtoD", 0x1234, one, 16)
    step("wild.async", "cuMemcpyDtoDAsync", 0x1234, one, 16, 0)
    step("wild.memset_async", "cuMemsetD8Async", 0x1234, 1, 16, 0)
    step.synchronize("synchronize.wild")
    step("past.memset", "cuMemsetD8", two + MIB - 8, 1, 9)
    step("past.HtoD", "cuMemcpyHtoD", two + MIB - 8, here, 9)
    step("past.DtoH", "cuMemcpyDtoH", there, two + MIB - 8, 9)
    step("past.DtoD", "cuMemcpyDtoD", one, two + MIB - 8, 9)
    step("past.async", "cuMemcpyDtoDAsync", one, two + MIB - 8, 9, 0)
    step("past.any", "cuMemcpy", one, two + MIB - 8, 9)
    step("past.start", "cuMemsetD8", two + MIB, 1, 1)
    step("past.neighbour", "cuMemsetD8", one + MIB - 8, 1, 16)
    step("before.start", "cuMemsetD8", one - 1, 1, 1)
    step("large", "cuMemsetD8", one, 1, 1 << 40)
    step.synchronize("synchronize.past")
    step("DtoD.host_pointers", "cuMemcpyDtoD", there, here, 16)
    step("memset.host_pointer", "cuMemsetD8", there, 7, 16)
    step.synchronize("synchronize.host")
    step.note("memset.host_pointer.bytes", bytes(far[:17]).hex())


@group()
def memsets(step: Recorder) -> None:
    """Widths and alignment."""
    one = int(step.quiet("cuMemAlloc", 4096))
    for offset in (0, 1, 2, 3):
        step(f"D8.{offset}", "cuMemsetD8", one + offset, 0x11, 4)
        step(f"D16.{offset}", "cuMemsetD16", one + offset, 0x2233, 4)
        step(f"D32.{offset}", "cuMemsetD32", one + offset, 0x44556677, 4)
        step(f"D32.async.{offset}", "cuMemsetD32Async", one + offset, 0x44556677, 4, 0)
    step("D16.zero_misaligned", "cuMemsetD16", one + 1, 1, 0)
    step("D32.wild_misaligned", "cuMemsetD32", 0x1235, 1, 4)
    step("D32.past", "cuMemsetD32", one, 1, 1025)
    step("D32.overflow", "cuMemsetD32", one, 1, 1 << 62)
    step("D32", "cuMemsetD32", one, 0x44556677, 4)
    step.bytes_at("D32.bytes", one, 20)


@group()
def across(step: Recorder) -> None:
    """Copies across neighbouring mappings, into holes, with too little access."""
    first, second, third = (step.quiet("cuMemCreate", PAGE, properties(), 0) for _ in range(3))
    start = int(step.quiet("cuMemAddressReserve", 8 * PAGE, 0, 0, 0))
    for place, handle in enumerate((first, second, third)):
        step(f"map.{place}", "cuMemMap", start + place * PAGE, PAGE, 0, handle, 0)
    step("grant.two", "cuMemSetAccess", start, 2 * PAGE, [access()], 1)
    host = bytearray(64)
    edge = start + PAGE - 32
    step("memset.across", "cuMemsetD8", edge, 0x77, 64)
    step("DtoH.across", "cuMemcpyDtoH", host, edge, 64)
    step("HtoD.across", "cuMemcpyHtoD", edge, bytes(64), 64)
    step("DtoD.across", "cuMemcpyDtoD", start, edge, 64)
    step("memset.both", "cuMemsetD8", start, 1, 2 * PAGE)
    step("any.across", "cuMemcpy", start, edge, 64)
    step("range.first", "cuMemGetAddressRange", start)
    step("range.second", "cuMemGetAddressRange", start + PAGE)
    step.note("start", start)
    step("past.into_ungranted", "cuMemsetD8", start + 2 * PAGE - 8, 1, 16)
    step("ungranted.memset", "cuMemsetD8", start + 2 * PAGE, 1, 16)
    step("ungranted.DtoH", "cuMemcpyDtoH", host, start + 2 * PAGE, 16)
    step("ungranted.any", "cuMemcpy", start, start + 2 * PAGE, 16)
    step("ungranted.any_to", "cuMemcpy", start + 2 * PAGE, start, 16)
    step("ungranted.async", "cuMemcpyDtoDAsync", start, start + 2 * PAGE, 16, 0)
    step("hole.memset", "cuMemsetD8", start + 4 * PAGE, 1, 16)
    step("hole.DtoH", "cuMemcpyDtoH", host, start + 4 * PAGE, 16)
    step.synchronize("synchronize")
    step("grant.third", "cuMemSetAccess", start + 2 * PAGE, PAGE, [access()], 1)
    step("past.into_hole", "cuMemsetD8", start + 3 * PAGE - 8, 1, 16)
    step("past.into_hole.DtoH", "cuMemcpyDtoH", host, start + 3 * PAGE - 8, 16)
    step("past.into_hole.DtoD", "cuMemcpyDtoD", start, start + 3 * PAGE - 8, 16)
    step.synchronize("synchronize.end")


@group()
def readonly(step: Recorder) -> None:
    """Memory granted for reading alone: the statuses, then whether the context survives each."""
    start, _ = mapped(step, flags=3)
    step.quiet("cuMemsetD8", start, 0x5A, 16)
    step.quiet("cuCtxSynchronize")
    step("grant.read", "cuMemSetAccess", start, PAGE, [access(1)], 1)
    step("get", "cuMemGetAccess", location(), start)
    step.bytes_at("DtoH", start, 16)
    step("memset", "cuMemsetD8", start, 1, 16)
    step.synchronize("memset.synchronize")
    step("HtoD", "cuMemcpyHtoD", start, bytes(16), 16)
    step.synchronize("HtoD.synchronize")
    other = step("alloc", "cuMemAlloc", 4096)
    step("DtoD", "cuMemcpyDtoD", start, other or 0, 16)
    step.synchronize("DtoD.synchronize")
    step("any", "cuMemcpy", start, other or 0, 16)
    step("async", "cuMemsetD8Async", start, 1, 16, 0)
    step.synchronize("async.synchronize")
    step.bytes_at("after", start, 16)


@group()
def ungranted(step: Recorder) -> None:
    """Access taken away again."""
    start, _ = mapped(step, flags=3)
    step("none", "cuMemSetAccess", start, PAGE, [access(0)], 1)
    step("none.get", "cuMemGetAccess", location(), start)
    step("none.memset", "cuMemsetD8", start, 1, 16)
    step("none.DtoH", "cuMemcpyDtoH", bytearray(16), start, 16)
    step.synchronize("none.synchronize")
    step("again", "cuMemSetAccess", start, PAGE, [access(3)], 1)
    step("again.memset", "cuMemsetD8", start, 1, 16)
    step("again.twice", "cuMemSetAccess", start, PAGE, [access(3)], 1)


@group()
def null_host(step: Recorder) -> None:
    """Copies from and to a null host address; last in its own process, since it may end it."""
    one = step.quiet("cuMemAlloc", 4096)
    step("to_null.zero", "cuMemcpyDtoH", 0, one, 0)
    step("from_null", "cuMemcpyHtoD", one, 0, 16)
    step("to_null", "cuMemcpyDtoH", 0, one, 16)
    step.synchronize("synchronize")
    step("from_null.async", "cuMemcpyHtoDAsync", one, 0, 16, 0)
    step.synchronize("synchronize.async")


@group()
def wild_any(step: Recorder) -> None:
    """cuMemcpy takes an address it does not know for the host's; on its own, since it may end the process."""
    one = step.quiet("cuMemAlloc", 4096)
    step("wild", "cuMemcpy", 0x1234, one, 16)


@group()
def hole_any(step: Recorder) -> None:
    """cuMemcpy out of a reservation with nothing mapped; on its own, since it may end the process."""
    start, _ = mapped(step)
    step("hole", "cuMemcpy", start, start + 2 * PAGE, 16)
