"""Two devices of one host: peer access, memory of one mapped for the other, copies between them."""

from __future__ import annotations

from cuda.bindings import driver as cu
from recorder import MIB, PAGE, Recorder, access, group, location, properties

from probes.pointers import MOST, singly, together


@group(context=False, kind="peer")
def peer_devices(step: Recorder) -> None:
    """What the devices say of each other."""
    step("count", "cuDeviceGetCount")
    one, two = (step(f"get.{i}", "cuDeviceGet", i) for i in range(2))
    for a, b in ((one, two), (two, one), (one, one)):
        step(f"can.{int(a)}.{int(b)}", "cuDeviceCanAccessPeer", a, b)
        for attribute in cu.CUdevice_P2PAttribute:
            step(f"p2p.{int(a)}.{int(b)}.{attribute.name}", "cuDeviceGetP2PAttribute", attribute, a, b)
    for name in (
        "MULTICAST_SUPPORTED",
        "HANDLE_TYPE_FABRIC_SUPPORTED",
        "MULTI_GPU_BOARD",
        "PCI_BUS_ID",
        "PCI_DEVICE_ID",
        "PCI_DOMAIN_ID",
        "MULTIPROCESSOR_COUNT",
        "HOST_NUMA_ID",
        "NUMA_ID",
    ):
        for device in (one, two):
            step(
                f"attribute.{int(device)}.{name}",
                "cuDeviceGetAttribute",
                getattr(cu.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}"),
                device,
            )
    operations = [one for one in cu.CUatomicOperation if 0 <= int(one) < 13]  # the driver knows 13
    step("atomics.peer", "cuDeviceGetP2PAtomicCapabilities", operations, len(operations), one, two)
    step("atomics.host", "cuDeviceGetHostAtomicCapabilities", operations, len(operations), one)


def both(step: Recorder) -> tuple[object, object]:
    """Retain both primary contexts and make the first current."""
    first, second = (step.quiet("cuDevicePrimaryCtxRetain", i) for i in range(2))
    step.quiet("cuCtxSetCurrent", first)
    return first, second


@group(context=False, kind="peer")
def peer_access(step: Recorder) -> None:
    """Turning peer access on and off; plain memory before and after."""
    first, second = both(step)
    near = int(step.quiet("cuMemAlloc", MIB))
    step.quiet("cuCtxSetCurrent", second)
    far = int(step.quiet("cuMemAlloc", MIB))
    step.quiet("cuCtxSetCurrent", first)
    step("before.memset", "cuMemsetD8", far, 0x21, 16)
    step("before.DtoD", "cuMemcpyDtoD", near, far, 16)
    step("before.any", "cuMemcpy", far, near, 16)
    step("before.DtoH", "cuMemcpyDtoH", bytearray(16), far, 16)
    step("before.free", "cuMemGetAddressRange", far)
    step("before.peer", "cuMemcpyPeer", far, second, near, first, 16)
    step("before.peer.swapped_contexts", "cuMemcpyPeer", far, first, near, second, 16)
    step("before.peer.past", "cuMemcpyPeer", far + MIB - 8, second, near, first, 16)
    step.synchronize("before.synchronize")
    step("off.never_on", "cuCtxDisablePeerAccess", second)
    step("on.flags1", "cuCtxEnablePeerAccess", second, 1)
    step("on", "cuCtxEnablePeerAccess", second, 0)
    step("on.twice", "cuCtxEnablePeerAccess", second, 0)
    step("after.memset", "cuMemsetD8", far, 0x21, 16)
    step("after.DtoD", "cuMemcpyDtoD", near, far, 16)
    step("after.any", "cuMemcpy", far, near, 16)
    step.synchronize("after.synchronize")
    together(step, "far.most", far, MOST)
    singly(step, "far", far)
    singly(step, "near", near)
    step("off", "cuCtxDisablePeerAccess", second)
    step("off.twice", "cuCtxDisablePeerAccess", second)
    step("off.memset", "cuMemsetD8", far, 0x21, 16)
    step("free.far", "cuMemFree", far)
    stream = step.quiet("cuStreamCreate", 1)
    step.quiet("cuCtxSetCurrent", second)
    step("stream.foreign", "cuMemsetD8Async", near, 1, 16, stream)
    step("stream.foreign.query", "cuStreamQuery", stream)
    step("stream.foreign.device", "cuStreamGetDevice", stream)
    event = step.quiet("cuEventCreate", 0)
    step("event.foreign", "cuEventRecord", event, stream)
    step("wait.foreign", "cuStreamWaitEvent", stream, event, 0)
    step("alloc_async.foreign", "cuMemAllocAsync", MIB, stream)


@group(context=False, kind="peer")
def peer_mapping(step: Recorder) -> None:
    """Memory of device 1 mapped with access for either device, or both."""
    first, second = both(step)
    handle = step("create.1", "cuMemCreate", PAGE, properties(1, 1, 1), 0, hide=True)
    start = int(step.quiet("cuMemAddressReserve", 4 * PAGE, 0, 0, 0))
    step("map", "cuMemMap", start, PAGE, 0, handle, 0)
    for name, grant in {
        "only0": [access(3, 1, 0)],
        "also1": [access(3, 1, 1)],
        "both": [access(3, 1, 0), access(3, 1, 1)],
        "read0": [access(1, 1, 0)],
        "none0": [access(0, 1, 0)],
        "none1": [access(0, 1, 1)],
    }.items():
        step(f"set.{name}", "cuMemSetAccess", start, PAGE, grant, len(grant))
        for ordinal, context in ((0, first), (1, second)):
            step(f"{name}.get.{ordinal}", "cuMemGetAccess", location(1, ordinal), start)
            step.quiet("cuCtxSetCurrent", context)
            if name != "read0":
                step(f"{name}.memset.{ordinal}", "cuMemsetD8", start, 0x11, 16)
            step(f"{name}.DtoH.{ordinal}", "cuMemcpyDtoH", bytearray(16), start, 16)
            step.synchronize(f"{name}.synchronize.{ordinal}")
        step.quiet("cuCtxSetCurrent", first)
    step("set.last", "cuMemSetAccess", start, PAGE, [access(3, 1, 0)], 1)
    singly(step, "mapped", start)
    near = step.quiet("cuMemAlloc", MIB)
    step("DtoD", "cuMemcpyDtoD", start, near, 16)
    step("peer", "cuMemcpyPeer", start, second, near, first, 16)
    step("range", "cuMemGetAddressRange", start)
    kind = cu.CUmemAllocationHandleType(1)
    descriptor = int(step.quiet("cuMemExportToShareableHandle", handle, kind, 0))
    taken = step("import", "cuMemImportFromShareableHandle", descriptor, kind, hide=True)
    kept = step("import.props", "cuMemGetAllocationPropertiesFromHandle", taken, hide=True)
    step.note("import.props.values", kept.type, kept.requestedHandleTypes, kept.location.type, kept.location.id)
    mixed = step.quiet("cuMemCreate", PAGE, properties(1, 1, 0), 0)
    step("map.neighbour", "cuMemMap", start + PAGE, PAGE, 0, mixed, 0)
    step("set.two_devices", "cuMemSetAccess", start, 2 * PAGE, [access(3, 1, 0), access(3, 1, 1)], 2)
    step("memset.two_devices", "cuMemsetD8", start + PAGE - 8, 1, 16)
    host = bytearray(16)
    step("DtoH.two_devices", "cuMemcpyDtoH", host, start + PAGE - 8, 16)
    step("DtoD.two_devices", "cuMemcpyDtoD", near, start + PAGE - 8, 16)
    step.note("DtoH.two_devices.bytes", host.hex())
    step.synchronize("synchronize")


@group(context=False, kind="peer")
def peer_readonly(step: Recorder) -> None:
    """A write through a read-only grant to the other device's memory; may end the context."""
    both(step)
    handle = step.quiet("cuMemCreate", PAGE, properties(1, 1, 1), 0)
    start = int(step.quiet("cuMemAddressReserve", PAGE, 0, 0, 0))
    step.quiet("cuMemMap", start, PAGE, 0, handle, 0)
    step("set.read", "cuMemSetAccess", start, PAGE, [access(1, 1, 0)], 1)
    step("memset", "cuMemsetD8", start, 1, 16)
    step.synchronize("synchronize")


@group(context=False, kind="peer")
def peer_pools(step: Recorder) -> None:
    """Pools across devices."""
    both(step)
    pool = step.quiet("cuDeviceGetDefaultMemPool", 1)
    for ordinal in (0, 1):
        step(f"get.{ordinal}", "cuMemPoolGetAccess", pool, location(1, ordinal))
    address = step("alloc", "cuMemAllocFromPoolAsync", MIB, pool, 0, hide=True)
    step("before.memset", "cuMemsetD8", address or 0, 1, 16)
    step("set.0", "cuMemPoolSetAccess", pool, [access(3, 1, 0)], 1)
    step("get.0.after", "cuMemPoolGetAccess", pool, location(1, 0))
    step("after.memset", "cuMemsetD8", address or 0, 1, 16)
    step("set.none1", "cuMemPoolSetAccess", pool, [access(0, 1, 1)], 1)
    step("set.device9", "cuMemPoolSetAccess", pool, [access(3, 1, 9)], 1)
    step.synchronize("synchronize")
