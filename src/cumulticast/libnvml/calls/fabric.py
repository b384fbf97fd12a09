"""The fabric as its devices know it: the state of their registration, clique, cluster and health.

What a fault changes here is what a real machine shows (failures seen in public):

* ``fm=stopped``, ``fm=never``: nobody probes the devices: not started.
* ``fm=starting:S``: in progress, for so long.
* ``fm=restarted``: completed, as before; that the registration is stale shows nowhere but in the failing bind.
* ``fm=stalled:S``, ``state=illegal``: completed.
* ``cliques=A,B``: other clique ids.
"""

from __future__ import annotations

import struct

from cumulticast.libnvml.books import Books
from cumulticast.libnvml.entry import answers
from cumulticast.libnvml.service import Gpu, Service
from cumulticast.libnvml.status import Refused, Status
from cumulticast.libnvml.texts import check_version, version

V1 = struct.Struct("16sIIB3x")  # nvmlGpuFabricInfo_t: cluster, status, clique, state
V2 = struct.Struct("I16sIIB3xI")  # nvmlGpuFabricInfo_v2_t: version first; the health mask last
V3 = struct.Struct("I16sIIB3xIB3x")  # nvmlGpuFabricInfo_v3_t: also the summary of health
CLIQUE = struct.Struct("B3xI")  # nvmlGpuFabricClique_v1_t
V4 = struct.Struct(f"16sI{64 * CLIQUE.size}sIB3xIB3x")  # nvmlGpuFabricInfo_v4_t
V2_VERSION, V3_VERSION = version(V2.size, 2), version(V3.size, 3)

FIRST_WITH_V4 = 13050  # assumed; that of CUDA 13.0 has none (recorded)

UNSUPPORTED, NOT_STARTED, IN_PROGRESS, COMPLETED = range(4)  # NVML_GPU_FABRIC_STATE_
SUMMARY_UNSUPPORTED, HEALTHY, UNHEALTHY, LIMITED = range(4)  # NVML_GPU_FABRIC_HEALTH_SUMMARY_
#: Value and shift of a healthy device in the mask (NVML_GPU_FABRIC_HEALTH_MASK_): bandwidth not degraded, no route
#: recovery, routes healthy, no access timeout recovery, no wrong configuration. Whether a partition is assigned and
#: whether the global Fabric Manager is connected are left "not supported".
HEALTHY_MASK = 2 << 0 | 2 << 2 | 2 << 4 | 2 << 6 | 1 << 8


def probe_state(service: Service, books: Books) -> int:
    """Answer how far the registration of the devices with the fabric is."""
    fault = books.fault("fm")
    if not service.machine.fabric:
        return UNSUPPORTED
    if fault is not None and fault.value in ("stopped", "never"):
        return NOT_STARTED
    if fault is not None and fault.value == "starting" and books.left("fm") > 0:
        return IN_PROGRESS
    return COMPLETED


def _facts(service: Service, gpu: Gpu) -> tuple[bytes, int, int, int, int]:
    """Answer cluster, clique, state, health mask and summary; nothing is known before the registration is complete."""
    state = probe_state(service, service.books())
    if state != COMPLETED:
        return bytes(16), 0, state, 0, SUMMARY_UNSUPPORTED
    device = service.owner(gpu.device.index)
    mask, summary = (HEALTHY_MASK, HEALTHY) if service.facts.cluster_health else (0, SUMMARY_UNSUPPORTED)
    return device.cluster_uuid, device.clique or 0, state, mask, summary


@answers("nvmlDeviceGetGpuFabricInfo")
def fabric_info(service: Service, gpu: Gpu) -> bytes:
    """Answer nvmlGpuFabricInfo_t."""
    cluster, clique, state, _, _ = _facts(service, gpu)
    return V1.pack(cluster, Status.SUCCESS, clique, state)


@answers("nvmlDeviceGetGpuFabricInfoV")
def fabric_info_versioned(service: Service, gpu: Gpu, given: bytes) -> bytes:
    """Answer the version that the caller names: 2 or 3."""
    known = check_version(given, V2_VERSION, V3_VERSION)
    cluster, clique, state, mask, summary = _facts(service, gpu)
    if known == V2_VERSION:
        return V2.pack(known, cluster, Status.SUCCESS, clique, state, mask)
    return V3.pack(known, cluster, Status.SUCCESS, clique, state, mask, summary)


@answers("nvmlDeviceGetGpuFabricInfo_v4")
def fabric_info_v4(service: Service, gpu: Gpu) -> bytes:
    """Answer nvmlGpuFabricInfo_v4_t: the clique of every type that the machine has; older drivers have no such call."""
    if service.machine.driver_version < FIRST_WITH_V4:
        raise Refused(Status.FUNCTION_NOT_FOUND, "this driver is too old for it")
    cluster, clique, state, mask, summary = _facts(service, gpu)
    types = service.machine.clique_types if state == COMPLETED else ()
    cliques = b"".join(CLIQUE.pack(kind, clique) for kind in types)
    return V4.pack(cluster, Status.SUCCESS, cliques, len(types), state, mask, summary)
