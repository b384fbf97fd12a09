"""Memory pools and stream-ordered allocation."""

from __future__ import annotations

import ctypes
import os

from cuda.bindings import driver as cu
from recorder import MIB, PAGE, Recorder, access, group, location

from probes.pointers import FILL, written

ATTRIBUTES = [one for one in cu.CUmemPool_attribute if int(one) > 0]


def pool_properties(handles: int = 0, kind: int = 1, identity: int = 0, most: int = 0) -> cu.CUmemPoolProps:
    """Build the properties of a pool of pinned memory."""
    made = cu.CUmemPoolProps()
    made.allocType = cu.CUmemAllocationType(1)
    made.handleTypes = cu.CUmemAllocationHandleType(handles)
    made.location.type = cu.CUmemLocationType(kind)
    made.location.id = identity
    made.maxSize = most
    return made


def attributes(step: Recorder, name: str, pool: object) -> None:
    """Record every attribute of a pool as raw bytes (the binding knows fewer than the driver may)."""
    for one in ATTRIBUTES:
        buffer = (ctypes.c_ubyte * 64)(*[FILL] * 64)
        step.mark(f"{name}.{one.name}")
        status = step.library.cuMemPoolGetAttribute(ctypes.c_void_p(int(pool)), int(one), buffer)
        step.note(f"{name}.{one.name}", written(bytes(buffer)), status=int(status))


@group()
def pools(step: Recorder) -> None:
    """The default pool's life: attributes, sizes, threshold, trim."""
    pool = step("default", "cuDeviceGetDefaultMemPool", 0, hide=True)
    attributes(step, "default", pool)
    made = {}
    for size in (0, 1, 255, 512, MIB, 3 * PAGE):
        address = step(f"alloc.{size}", "cuMemAllocAsync", size, 0)
        if address is not None and int(address):
            made[size] = int(address)
            step.note(f"alloc.{size}.alignment", int(address) & -int(address))
            step(f"range.{size}", "cuMemGetAddressRange", address)
            step(f"memset.{size}", "cuMemsetD8Async", address, 1, size, 0)
    step.note(
        "distances",
        *[made[b] - made[a] for a, b in ((1, 255), (255, 512), (512, MIB)) if a in made and b in made],
    )
    step("past", "cuMemsetD8", made[MIB] + MIB - 8, 1, 16)
    step("retain", "cuMemRetainAllocationHandle", made[MIB])
    step("access.set_vmm", "cuMemSetAccess", made[MIB], PAGE, [access()], 1)
    step("access.get_vmm", "cuMemGetAccess", location(), made[MIB])
    step("unmap", "cuMemUnmap", made[MIB], PAGE)
    step("dma_buf", "cuMemGetHandleForAddressRange", made[3 * PAGE], PAGE, cu.CUmemRangeHandleType(1), 0)
    step.synchronize("synchronize")
    attributes(step, "used", pool)
    step("trim.used", "cuMemPoolTrimTo", pool, 0)
    step("free.plain", "cuMemFree", made[512])
    step("free.async", "cuMemFreeAsync", made[MIB], 0)
    step("free.null", "cuMemFreeAsync", 0, 0)
    step("free.interior", "cuMemFreeAsync", made[3 * PAGE] + 16, 0)
    step("free.wild", "cuMemFreeAsync", 0x1234, 0)
    plain = step("plain", "cuMemAlloc", MIB)
    step("plain.free_async", "cuMemFreeAsync", plain, 0)
    step.synchronize("synchronize.freed")
    step("memset.freed", "cuMemsetD8", made[MIB], 1, 16)
    attributes(step, "freed", pool)
    threshold = cu.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    step("threshold.set", "cuMemPoolSetAttribute", pool, threshold, cu.cuuint64_t(1 << 30))
    step("threshold.now", "cuMemPoolGetAttribute", pool, threshold)
    for name, value in (
        ("RESERVED_MEM_HIGH", 0),
        ("USED_MEM_HIGH", 0),
        ("USED_MEM_HIGH", 5),
        ("RESERVED_MEM_CURRENT", 0),
    ):
        step(
            f"set.{name}.{value}",
            "cuMemPoolSetAttribute",
            pool,
            getattr(cu.CUmemPool_attribute, f"CU_MEMPOOL_ATTR_{name}"),
            cu.cuuint64_t(value),
        )
    step("trim", "cuMemPoolTrimTo", pool, 0)
    attributes(step, "trimmed", pool)
    step("destroy.default", "cuMemPoolDestroy", pool)
    step("export.default", "cuMemPoolExportToShareableHandle", pool, cu.CUmemAllocationHandleType(1), 0)
    step("huge", "cuMemAllocAsync", 1 << 42, 0)
    for flags in (1, 3, 0):
        step(f"access.{flags}", "cuMemPoolSetAccess", pool, [access(flags)], 1)
        step(f"access.{flags}.get", "cuMemPoolGetAccess", pool, location())


@group()
def pools_made(step: Recorder) -> None:
    """Pools of one's own: properties, export, destruction with memory alive."""
    for name, given in {
        "plain": pool_properties(),
        "fd": pool_properties(1),
        "fabric": pool_properties(8),
        "win32": pool_properties(2),
        "host_numa": pool_properties(0, 3),
        "host": pool_properties(0, 2),
        "device9": pool_properties(0, 1, 9),
        "location0": pool_properties(0, 0),
        "most": pool_properties(0, 1, 0, 3 * MIB),
    }.items():
        pool = step(f"create.{name}", "cuMemPoolCreate", given, hide=True)
        if pool is None:
            continue
        attributes(step, f"create.{name}", pool)
        address = step(f"alloc.{name}", "cuMemAllocFromPoolAsync", MIB, pool, 0, hide=True)
        step(f"alloc.{name}.range", "cuMemGetAddressRange", address or 0)
        step(f"alloc.{name}.many", "cuMemAllocFromPoolAsync", 64 * MIB, pool, 0, hide=True)
        step(f"access.{name}", "cuMemPoolGetAccess", pool, location())
        step(
            f"export.{name}",
            "cuMemPoolExportToShareableHandle",
            pool,
            cu.CUmemAllocationHandleType(1),
            0,
            hide=True,
        )
        step(
            f"export.{name}.flags1",
            "cuMemPoolExportToShareableHandle",
            pool,
            cu.CUmemAllocationHandleType(1),
            1,
        )
        step(f"export.{name}.pointer", "cuMemPoolExportPointer", address or 0, hide=True)
        step(f"retain.{name}", "cuMemRetainAllocationHandle", int(address or 0), hide=True)
        step(f"destroy.{name}", "cuMemPoolDestroy", pool)
        step(f"memset.{name}.after_destroy", "cuMemsetD8", address or 0, 1, 16)
        step(f"free.{name}.after_destroy", "cuMemFreeAsync", address or 0, 0)
        step.synchronize(f"synchronize.{name}")
    bad = pool_properties()
    bad.allocType = cu.CUmemAllocationType(0)
    step("create.type0", "cuMemPoolCreate", bad)
    step("destroy.null", "cuMemPoolDestroy", 0)
    step("attribute.null", "cuMemPoolGetAttribute", 0, cu.CUmemPool_attribute(4))
    step("alloc.null_pool", "cuMemAllocFromPoolAsync", MIB, 0, 0)


@group()
def pools_shared(step: Recorder) -> None:
    """A pool exported and imported in the same process."""
    pool = step.quiet("cuMemPoolCreate", pool_properties(1))
    descriptor = int(step.quiet("cuMemPoolExportToShareableHandle", pool, cu.CUmemAllocationHandleType(1), 0))
    step.note("link", os.readlink(f"/proc/self/fd/{descriptor}"))
    taken = step(
        "import",
        "cuMemPoolImportFromShareableHandle",
        descriptor,
        cu.CUmemAllocationHandleType(1),
        0,
        hide=True,
    )
    step("import.as_memory", "cuMemImportFromShareableHandle", descriptor, cu.CUmemAllocationHandleType(1))
    step("alloc.imported", "cuMemAllocFromPoolAsync", MIB, taken or 0, 0)
    address = step.quiet("cuMemAllocFromPoolAsync", MIB, pool, 0)
    data = step("export.pointer", "cuMemPoolExportPointer", address, hide=True)
    step("import.pointer", "cuMemPoolImportPointer", taken or 0, data, hide=True)


@group()
def pool_double_free(step: Recorder) -> None:
    """The same memory freed twice, in stream order and after; on its own, since it may end the process."""
    address = step.quiet("cuMemAllocAsync", MIB, 0)
    step("free", "cuMemFreeAsync", address, 0)
    step("free.twice", "cuMemFreeAsync", address, 0)
    step.synchronize("synchronize")
    step("free.later", "cuMemFreeAsync", address, 0)
    step("free.plain", "cuMemFree", address)
