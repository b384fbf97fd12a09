"""The virtual memory calls beyond the first recording."""

from __future__ import annotations

import ctypes
import itertools
import os

from cuda.bindings import driver as cu
from recorder import PAGE, Recorder, access, group, location, mapped, properties


@group()
def spans(step: Recorder) -> None:
    """Several mappings under one call: access, unmap, free."""
    one, two = (step.quiet("cuMemCreate", 2 * PAGE, properties(), 0) for _ in range(2))
    start = int(step.quiet("cuMemAddressReserve", 8 * PAGE, 0, 0, 0))

    def lay() -> None:
        for place, handle in ((0, one), (2, two)):
            step.quiet("cuMemMap", start + place * PAGE, 2 * PAGE, 0, handle, 0)

    lay()
    step("access.first_half", "cuMemSetAccess", start, PAGE, [access()], 1)
    step("access.middle", "cuMemSetAccess", start + PAGE, 2 * PAGE, [access()], 1)
    step("access.one_and_half", "cuMemSetAccess", start, 3 * PAGE, [access()], 1)
    step("access.both", "cuMemSetAccess", start, 4 * PAGE, [access()], 1)
    step("access.both_and_hole", "cuMemSetAccess", start, 5 * PAGE, [access()], 1)
    step("access.second", "cuMemSetAccess", start + 2 * PAGE, 2 * PAGE, [access(1)], 1)
    step("get.first", "cuMemGetAccess", location(), start)
    step("get.second", "cuMemGetAccess", location(), start + 2 * PAGE)
    step("get.interior", "cuMemGetAccess", location(), start + 12345)
    step("unmap.middle", "cuMemUnmap", start + PAGE, 2 * PAGE)
    step("unmap.one_and_half", "cuMemUnmap", start, 3 * PAGE)
    step("unmap.size0", "cuMemUnmap", start, 0)
    step("unmap.misaligned", "cuMemUnmap", start + 4096, 2 * PAGE)
    step("unmap.misaligned_size", "cuMemUnmap", start, 2 * PAGE + 4096)
    step("get.still", "cuMemGetAccess", location(), start)
    step("unmap.both", "cuMemUnmap", start, 4 * PAGE)
    step("get.unmapped", "cuMemGetAccess", location(), start)
    lay()
    step("unmap.into_hole", "cuMemUnmap", start, 6 * PAGE)
    step("get.unmapped.2", "cuMemGetAccess", location(), start + 2 * PAGE)
    lay()
    step("unmap.past_reservation", "cuMemUnmap", start, 9 * PAGE)
    step("get.past_reservation", "cuMemGetAccess", location(), start)
    step("unmap.first", "cuMemUnmap", start, 2 * PAGE)
    step("access.hole_first", "cuMemSetAccess", start, 4 * PAGE, [access()], 1)
    step("unmap.hole_first", "cuMemUnmap", start, 4 * PAGE)
    step("unmap.hole_only", "cuMemUnmap", start + 4 * PAGE, PAGE)
    step("unmap.null", "cuMemUnmap", 0, PAGE)
    step("unmap.unreserved", "cuMemUnmap", 0x123400000000, PAGE)
    step("map.later", "cuMemMap", start + 2 * PAGE, 2 * PAGE, 0, two, 0)
    step("free.with_mapping", "cuMemAddressFree", start, 8 * PAGE)
    step("unmap.later", "cuMemUnmap", start + 2 * PAGE, 2 * PAGE)
    step("free", "cuMemAddressFree", start, 8 * PAGE)
    step("get.freed", "cuMemGetAccess", location(), start)
    step("map.freed", "cuMemMap", start, 2 * PAGE, 0, one, 0)


@group()
def grants(step: Recorder) -> None:
    """Access descriptors: several, doubled, odd; locations of the host."""
    start, _ = mapped(step, flags=None)
    step("twice_same", "cuMemSetAccess", start, PAGE, [access(), access()], 2)
    step("twice_unlike", "cuMemSetAccess", start, PAGE, [access(1), access(3)], 2)
    step("twice_unlike.get", "cuMemGetAccess", location(), start)
    step("none", "cuMemSetAccess", start, PAGE, [access(0)], 1)
    step("none.get", "cuMemGetAccess", location(), start)
    step("write_only", "cuMemSetAccess", start, PAGE, [access(3)], 1)
    for kind, identity in ((0, 0), (1, 1), (1, 99), (1, -1), (2, 0), (3, 0), (3, 9), (4, 0)):
        step(f"set.{kind}.{identity}", "cuMemSetAccess", start, PAGE, [access(3, kind, identity)], 1)
        step(f"get.{kind}.{identity}", "cuMemGetAccess", location(kind, identity), start)
    step("good_and_bad", "cuMemSetAccess", start, PAGE, [access(0), access(3, 1, 99)], 2)
    step("good_and_bad.get", "cuMemGetAccess", location(), start)
    step("null", "cuMemSetAccess", 0, PAGE, [access()], 1)
    step("size0", "cuMemSetAccess", start, 0, [access()], 1)
    plain = step.quiet("cuMemAlloc", PAGE)
    step("plain.set", "cuMemSetAccess", plain, PAGE, [access()], 1)
    step("plain.get", "cuMemGetAccess", location(), plain)


@group()
def host_numa(step: Recorder) -> None:
    """Memory of the host, by NUMA node and by HOST: mapped, granted, copied."""
    for kind, identity, handles in (
        (3, 0, 0),
        (3, 0, 1),
        (3, 1, 0),
        (3, 9, 0),
        (3, -1, 0),
        (2, 0, 0),
        (2, 5, 0),
        (4, 0, 0),
        (4, 0, 1),
    ):
        name = f"{kind}.{identity}.{handles}"
        for option in (0, 1):
            step(
                f"granularity.{name}.{option}",
                "cuMemGetAllocationGranularity",
                properties(handles, kind, identity),
                cu.CUmemAllocationGranularity_flags(option),
            )
        made = step(f"create.{name}", "cuMemCreate", PAGE, properties(handles, kind, identity), 0, hide=True)
        if made is None:
            continue
        kept = step(f"props.{name}", "cuMemGetAllocationPropertiesFromHandle", made, hide=True)
        if kept:
            step.note(
                f"props.{name}.values",
                kept.type,
                kept.requestedHandleTypes,
                kept.location.type,
                kept.location.id,
            )
        if handles:
            step(
                f"export.{name}",
                "cuMemExportToShareableHandle",
                made,
                cu.CUmemAllocationHandleType(1),
                0,
                hide=True,
            )
        start = int(step.quiet("cuMemAddressReserve", PAGE, 0, 0, 0))
        step(f"map.{name}", "cuMemMap", start, PAGE, 0, made, 0)
        step(f"memset.ungranted.{name}", "cuMemsetD8", start, 1, 16)
        step(f"grant.device.{name}", "cuMemSetAccess", start, PAGE, [access()], 1)
        step(f"memset.{name}", "cuMemsetD8", start, 0x3C, 16)
        for other, node in ((3, 0), (2, 0), (4, 0)):
            step(f"get.{other}.before.{name}", "cuMemGetAccess", location(other, node), start)
            step(f"grant.{other}.{name}", "cuMemSetAccess", start, PAGE, [access(3, other, node)], 1)
            step(f"get.{other}.{name}", "cuMemGetAccess", location(other, node), start)
        step.synchronize(f"synchronize.{name}")
        step.bytes_at(f"bytes.{name}", start, 17)
        step(f"range.{name}", "cuMemGetAddressRange", start)
        step(f"retain.{name}", "cuMemRetainAllocationHandle", start, hide=True)
    step("create.4096", "cuMemCreate", 4096, properties(0, 3, 0), 0)
    step("create.65536", "cuMemCreate", 65536, properties(0, 3, 0), 0)


@group()
def handles(step: Recorder) -> None:
    """References: retained, released, mapped after the release."""
    start, handle = mapped(step, pages=1, reserved=4)
    step.note("handle", int(handle) != 0)
    first = step("retain", "cuMemRetainAllocationHandle", start)
    second = step("retain.interior", "cuMemRetainAllocationHandle", start + 100)
    step.note("retain.same", int(first) == int(handle), int(second) == int(first))
    step("retain.null", "cuMemRetainAllocationHandle", 0)
    step("release.1", "cuMemRelease", handle)
    step("props.after_1", "cuMemGetAllocationPropertiesFromHandle", handle, hide=True)
    step("release.2", "cuMemRelease", first)
    step("release.3", "cuMemRelease", second)
    step("memset.after_releases", "cuMemsetD8", start, 1, 16)
    back = step("retain.after_releases", "cuMemRetainAllocationHandle", start, hide=True)
    step.note("retain.after_releases.same", int(back or 0) == int(handle))
    step("map.retained", "cuMemMap", start + 2 * PAGE, PAGE, 0, back, 0)
    step("unmap.first", "cuMemUnmap", start, PAGE)
    step("access.second", "cuMemSetAccess", start + 2 * PAGE, PAGE, [access()], 1)
    step.bytes_at("second.bytes", start + 2 * PAGE, 17)
    step(
        "export.after_unmap",
        "cuMemExportToShareableHandle",
        back,
        cu.CUmemAllocationHandleType(1),
        0,
        hide=True,
    )
    step("release.back", "cuMemRelease", back)
    step("unmap.second", "cuMemUnmap", start + 2 * PAGE, PAGE)


@group()
def released(step: Recorder) -> None:
    """A handle released and no longer mapped, then used; on its own, since it may end the process."""
    handle = step.quiet("cuMemCreate", PAGE, properties(), 0)
    step("release", "cuMemRelease", handle)
    step("release.twice", "cuMemRelease", handle)
    step("props", "cuMemGetAllocationPropertiesFromHandle", handle, hide=True)
    step("export", "cuMemExportToShareableHandle", handle, cu.CUmemAllocationHandleType(1), 0)


@group()
def released_map(step: Recorder) -> None:
    """A released handle mapped; on its own, since it may end the process."""
    handle = step.quiet("cuMemCreate", PAGE, properties(), 0)
    start = int(step.quiet("cuMemAddressReserve", PAGE, 0, 0, 0))
    step("map.null_handle", "cuMemMap", start, PAGE, 0, 0, 0)
    step("release", "cuMemRelease", handle)
    step("map", "cuMemMap", start, PAGE, 0, handle, 0)


@group()
def host_numa_cpu(step: Recorder) -> None:
    """The host's own loads from VMM host memory: granted, then taken away (the last may end the process)."""
    handle = step.quiet("cuMemCreate", PAGE, properties(0, 3, 0), 0)
    start = int(step.quiet("cuMemAddressReserve", PAGE, 0, 0, 0))
    step.quiet("cuMemMap", start, PAGE, 0, handle, 0)
    step("grant.host", "cuMemSetAccess", start, PAGE, [access(3, 3, 0)], 1)
    step.note("load.granted", ctypes.string_at(start, 8).hex())
    step("get.device", "cuMemGetAccess", location(), start)
    step("memset.host_only", "cuMemsetD8", start, 1, 16)
    step("grant.device", "cuMemSetAccess", start, PAGE, [access()], 1)
    step("memset", "cuMemsetD8", start, 0x3C, 4)
    step.synchronize("synchronize")
    step.note("load.after_memset", ctypes.string_at(start, 8).hex())
    step("none.host", "cuMemSetAccess", start, PAGE, [access(0, 3, 0)], 1)
    step("none.host.get", "cuMemGetAccess", location(3, 0), start)
    step.mark("load.taken_away")
    step.note("load.taken_away", ctypes.string_at(start, 8).hex())


@group()
def sharing(step: Recorder) -> None:
    """Descriptors: properties kept, use after close, wrong kinds."""
    kind = cu.CUmemAllocationHandleType
    made = step.quiet("cuMemCreate", PAGE, properties(1), 0)
    descriptor = int(step.quiet("cuMemExportToShareableHandle", made, kind(1), 0))
    other = int(step.quiet("cuMemExportToShareableHandle", made, kind(1), 0))
    step.note("descriptors.unlike", descriptor != other, os.readlink(f"/proc/self/fd/{other}"))
    taken = step("import", "cuMemImportFromShareableHandle", descriptor, kind(1), hide=True)
    kept = step("props", "cuMemGetAllocationPropertiesFromHandle", taken, hide=True)
    step.note("props.values", kept.type, kept.requestedHandleTypes, kept.location.type, kept.location.id)
    os.close(descriptor)
    step("import.closed", "cuMemImportFromShareableHandle", descriptor, kind(1))
    step("import.type0", "cuMemImportFromShareableHandle", other, kind(0))
    step("import.type2", "cuMemImportFromShareableHandle", other, kind(2))
    null = os.open("/dev/null", os.O_RDONLY)
    step("import.dev_null", "cuMemImportFromShareableHandle", null, kind(1))
    memory = os.memfd_create("probe")
    step("import.memfd", "cuMemImportFromShareableHandle", memory, kind(1))
    step("import.negative", "cuMemImportFromShareableHandle", -1, kind(1))
    step("release.original", "cuMemRelease", made)
    late = step("import.after_release", "cuMemImportFromShareableHandle", other, kind(1), hide=True)
    start = int(step.quiet("cuMemAddressReserve", PAGE, 0, 0, 0))
    step("map.late", "cuMemMap", start, PAGE, 0, late, 0)
    step("access.late", "cuMemSetAccess", start, PAGE, [access()], 1)
    step("memset.late", "cuMemsetD8", start, 1, 16)
    step("range.late", "cuMemGetAddressRange", start)


@group()
def reservations(step: Recorder) -> None:
    """Address patterns, alignments, ends of reservations."""
    pattern = [int(step(f"reserve.{i}", "cuMemAddressReserve", PAGE, 0, 0, 0)) for i in range(6)]
    step.note("distances", *[b - a for a, b in itertools.pairwise(pattern)])
    step("free.2", "cuMemAddressFree", pattern[2], PAGE)
    again = step("reserve.again", "cuMemAddressReserve", PAGE, 0, 0, 0)
    step.note("reserve.again.same_address", int(again) == pattern[2])
    for size, alignment in (
        (PAGE, 2 * PAGE),
        (PAGE, 4 * PAGE),
        (PAGE, 1 << 25),
        (PAGE, 1 << 29),
        (PAGE, 1 << 30),
        (PAGE, 1 << 34),
        (PAGE, 1 << 50),
        (PAGE, 6 * PAGE),
        (16 * PAGE, 0),
        (512 * PAGE, 0),
        (1 << 36, 0),
        (1 << 40, 0),
        (1 << 45, 0),
        (1 << 50, 0),
    ):
        made = step(f"reserve.{size}.{alignment}", "cuMemAddressReserve", size, alignment, 0, 0)
        if made is not None:
            step.note(f"reserve.{size}.{alignment}.really", int(made) & -int(made))
    for name, hint in (
        ("small", PAGE),
        ("misaligned", 0x7E0000001000),
        ("taken", pattern[0]),
        ("free_area", 0x600000000000),
        ("low", 0x200000000),
    ):
        made = step(f"hint.{name}", "cuMemAddressReserve", PAGE, 0, hint, 0)
        step.note(f"hint.{name}.taken", int(made or 0) == hint)
    step("range.reserved", "cuMemGetAddressRange", pattern[0])
    step("free.size0", "cuMemAddressFree", pattern[0], 0)
    step("free.two_at_once", "cuMemAddressFree", pattern[3], 2 * PAGE)
    for option in (0, 1, 2):
        try:
            chosen = cu.CUmemAllocationGranularity_flags(option)
        except ValueError:
            chosen = option
        step(f"granularity.option{option}", "cuMemGetAllocationGranularity", properties(), chosen)


@group()
def dma_buf(step: Recorder) -> None:
    """cuMemGetHandleForAddressRange over each kind of memory."""
    kind = cu.CUmemRangeHandleType(1)
    start, _ = mapped(step, pages=2)
    plain = int(step.quiet("cuMemAlloc", 2 * PAGE))
    small = int(step.quiet("cuMemAlloc", 4096))
    pinned = int(step.quiet("cuMemHostAlloc", 4096, 0))
    for name, address, size, flags in (
        ("vmm", start, 2 * PAGE, 0),
        ("vmm.part", start + PAGE, PAGE, 0),
        ("vmm.misaligned", start + 100, 4096, 0),
        ("vmm.odd_size", start, 100, 0),
        ("vmm.page", start + 4096, 4096, 0),
        ("vmm.past", start, 3 * PAGE, 0),
        ("vmm.hole", start + 3 * PAGE, PAGE, 0),
        ("vmm.size0", start, 0, 0),
        ("vmm.flags1", start, PAGE, 1),
        ("vmm.flags2", start, PAGE, 2),
        ("plain", plain, 2 * PAGE, 0),
        ("small", small, 4096, 0),
        ("host", pinned, 4096, 0),
        ("null", 0, 4096, 0),
    ):
        made = step(f"{name}", "cuMemGetHandleForAddressRange", address, size, kind, flags, hide=True)
        if made is not None:
            step.note(f"{name}.link", os.readlink(f"/proc/self/fd/{int(made)}").split(":")[0])
    out = ctypes.c_int(77)
    for other in (0, 2, 0x7FFFFFFF):
        step.raw(
            f"type{other}",
            "cuMemGetHandleForAddressRange",
            ctypes.byref(out),
            ctypes.c_uint64(start),
            ctypes.c_size_t(PAGE),
            other,
            ctypes.c_uint64(0),
        )
    step.note("type.out", out.value)
