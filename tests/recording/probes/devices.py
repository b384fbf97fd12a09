"""What a device says of itself."""

from __future__ import annotations

import ctypes

from cuda.bindings import driver as cu
from recorder import Recorder, group, location


@group(context=False)
def devices(step: Recorder) -> None:
    """Names, identities, properties, P2P with itself, default pools."""
    device = step.device
    for length in (256, 12, 11, 5, 1):
        step(f"name.{length}", "cuDeviceGetName", length, device)
    for length in (64, 13, 12, 5, 1):
        step(f"bus.{length}", "cuDeviceGetPCIBusId", length, device)
    bus = cu.cuDeviceGetPCIBusId(64, device)[1].split(b"\0")[0]
    for text in (bus, bus.upper(), bus[5:], bus[:-2], b"ffff:ff:1f.0", b"garbage", b""):
        step(f"by_bus.{text.decode()}", "cuDeviceGetByPCIBusId", text)
    step("uuid", "cuDeviceGetUuid", device, hide=True)
    first, second = (ctypes.c_ubyte * 16)(), (ctypes.c_ubyte * 16)()
    step.raw("uuid_v1", "cuDeviceGetUuid", first, 0)
    step.raw("uuid_v2", "cuDeviceGetUuid_v2", second, 0)
    step.note("uuid.same", bytes(first) == bytes(second))
    step("luid", "cuDeviceGetLuid", device)
    step("total", "cuDeviceTotalMem", device)
    step("capability", "cuDeviceComputeCapability", device)
    step("properties", "cuDeviceGetProperties", device)
    step("texture", "cuDeviceGetTexture1DLinearMaxWidth", cu.CUarray_format(1), 4, device)
    step("affinity", "cuDeviceGetExecAffinitySupport", cu.CUexecAffinityType(0), device)
    step("peer.itself", "cuDeviceCanAccessPeer", device, device)
    step("peer.bad", "cuDeviceCanAccessPeer", device, 99)
    for attribute in cu.CUdevice_P2PAttribute:
        step(f"p2p.itself.{attribute.name}", "cuDeviceGetP2PAttribute", attribute, device, device)
        step(f"p2p.bad.{attribute.name}", "cuDeviceGetP2PAttribute", attribute, device, 99)
    for bad in (1, 99, -1):
        step(f"bad.{bad}.name", "cuDeviceGetName", 64, bad)
        step(f"bad.{bad}.total", "cuDeviceTotalMem", bad)
        step(f"bad.{bad}.attribute", "cuDeviceGetAttribute", cu.CUdevice_attribute(1), bad)
        step(f"bad.{bad}.uuid", "cuDeviceGetUuid", bad)
        step(f"bad.{bad}.retain", "cuDevicePrimaryCtxRetain", bad)
        step(f"bad.{bad}.pool", "cuDeviceGetDefaultMemPool", bad)
    step("get.negative", "cuDeviceGet", -1)
    value = ctypes.c_int(77)
    for attribute in (0, 1, 150, 200, 1000, -1):
        step.raw(f"attribute.{attribute}", "cuDeviceGetAttribute", ctypes.byref(value), attribute, 0)
        step.note(f"attribute.{attribute}.value", value.value)
    for symbol in (
        "cuDeviceGetFabricClusterUuid",
        "cuDeviceGetFabricCliqueId",
        "cuDeviceGetCliqueId",
        "cuDeviceGetClique",
    ):
        step.note(f"exported.{symbol}", hasattr(step.library, symbol), status=0)
    pool = step("pool.default", "cuDeviceGetDefaultMemPool", device, hide=True)
    same = step("pool.current", "cuDeviceGetMemPool", device, hide=True)
    step.note("pool.same", int(pool or 0) == int(same or 0))
    for kind, identity in ((1, 0), (1, 9), (2, 0), (3, 0), (4, 0), (0, 0)):
        for allocation in (0, 1, 2):
            step(
                f"pool.location{kind}.{identity}.type{allocation}",
                "cuMemGetDefaultMemPool",
                location(kind, identity),
                cu.CUmemAllocationType(allocation),
                hide=True,
            )
    step("graph_memory", "cuDeviceGetGraphMemAttribute", device, cu.CUgraphMem_attribute(0))


@group(context=False)
def name_empty(step: Recorder) -> None:
    """A name of no length; on its own, since it may end the process."""
    step("bus.0", "cuDeviceGetPCIBusId", 0, step.device)
    step("name.0", "cuDeviceGetName", 0, step.device)
