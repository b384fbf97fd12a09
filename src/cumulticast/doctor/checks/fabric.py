"""The NVLink fabric as the devices know it: registration, clique, cluster, health."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

from cumulticast.doctor import ask
from cumulticast.doctor.register import check
from cumulticast.doctor.result import Result

STATES = ("not supported", "not started", "in progress", "completed")  # NVML_GPU_FABRIC_STATE_
NOT_SUPPORTED, NOT_STARTED, IN_PROGRESS, COMPLETED = range(4)
SUMMARIES = ("not supported", "healthy", "unhealthy", "limited capacity")  # NVML_GPU_FABRIC_HEALTH_SUMMARY_
UNHEALTHY, LIMITED = 2, 3
#: Trouble in the health mask: shift, width, the values that are trouble, what it is, and the cause it speaks for
#: (NVML_GPU_FABRIC_HEALTH_MASK_).
TROUBLE = (
    (0, 0x3, (1,), "degraded bandwidth", "nvlink-hardware-fault"),
    (2, 0x3, (1,), "route recovery in progress", "nvlink-hardware-fault"),
    (4, 0x3, (1,), "route unhealthy", "nvlink-hardware-fault"),
    (6, 0x3, (1,), "access timeout recovery in progress", "nvlink-hardware-fault"),
    (8, 0xF, tuple(range(2, 16)), "incorrect configuration", "fabric-bad-state"),
    (12, 0x3, (2,), "no partition assigned", "fabric-partition-inactive"),
)


@dataclass(frozen=True, slots=True)
class Registration:
    """What a device knows of its fabric.

    Attributes
    ----------
    state
        NVML_GPU_FABRIC_STATE_.
    status
        The nvmlReturn_t of the registration; it counts when it is complete.
    clique, cluster
        The id of the clique, and the UUID of the cluster: zeros for a fabric of one node.
    mask, summary
        Health, where the driver tells it.
    """

    state: int
    status: int
    clique: int
    cluster: str
    mask: int | None
    summary: int | None

    @property
    def trouble(self) -> list[tuple[str, str]]:
        """What the health mask complains of, and the cause that it speaks for."""
        mask = self.mask or 0
        return [(what, cause) for shift, width, values, what, cause in TROUBLE if (mask >> shift & width) in values]

    def as_dict(self) -> dict[str, Any]:
        """Answer it in words."""
        summary = None if self.summary is None else _word(SUMMARIES, self.summary)
        return {**asdict(self), "state": _word(STATES, self.state), "summary": summary}


def _word(words: Sequence[str], number: int) -> str:
    return words[number] if number < len(words) else str(number)


def read() -> list[Registration]:
    """Ask every device.

    Raises
    ------
    Unavailable
        There is no NVML.
    """
    with ask.nvml() as nvml:
        found = [_read(nvml, handle) for handle in ask.handles(nvml)]
    return [one for one in found if one is not None]


def _read(nvml: ModuleType, handle: int) -> Registration | None:
    """Ask one device in the newest form that its driver knows."""
    found = ask.maybe(nvml.device_get_gpu_fabric_info_v, handle)
    if found is None:
        return None
    return Registration(
        int(found.state),
        int(found.status),
        int(found.clique_id),
        str(uuid.UUID(bytes=bytes(found.cluster_uuid))),
        int(found.health_mask) if hasattr(found, "health_mask") else None,
        int(found.health_summary) if hasattr(found, "health_summary") else None,
    )


@check("fabric", "the fabric: registration, clique, cluster, health", apart=True)
def fabric() -> Result:
    """Judge what the devices say: the least ready of them decides."""
    try:
        found = read()
    except ask.Unavailable as error:
        return Result("fabric", "not-available", str(error))
    details = {"devices": [one.as_dict() for one in found]}
    states = {one.state for one in found}
    if not states - {NOT_SUPPORTED}:
        return Result("fabric", "not-available", "the devices have no fabric", details)
    if states & {NOT_STARTED, IN_PROGRESS}:
        return _pending(found, details)
    if failed := [k for k, one in enumerate(found) if one.state == COMPLETED and one.status]:
        summary = f"the registration of device {failed[0]} failed with NVML status {found[failed[0]].status}"
        return Result("fabric", "missing", summary, details, ("fabric-bad-state",))
    return _health(found, details)


def _pending(found: Sequence[Registration], details: dict[str, Any]) -> Result:
    """Say that nobody probes the devices, or that it takes its time."""
    waiting = [one for one in found if one.state in (NOT_STARTED, IN_PROGRESS)]
    state = min(one.state for one in waiting)
    summary = f"the registration of {len(waiting)} of {len(found)} devices is {_word(STATES, state)}"
    causes = ("fabric-registration-pending",)
    if state == NOT_STARTED and not _fabric_manager_runs():
        causes = ("fm-not-running", *causes)
    return Result("fabric", "missing", summary, details, causes)


def _fabric_manager_runs() -> bool:
    from cumulticast.doctor.checks.services import fabric_manager

    return fabric_manager().outcome == "ok"


def _health(found: Sequence[Registration], details: dict[str, Any]) -> Result:
    """Judge registrations that are complete."""
    trouble = list(dict.fromkeys(pair for one in found for pair in one.trouble))
    bad = [one for one in found if one.summary in (UNHEALTHY, LIMITED)]
    if trouble or bad:
        words = [what for what, _ in trouble] or [_word(SUMMARIES, bad[0].summary or 0)]
        causes = tuple(dict.fromkeys(cause for _, cause in trouble)) or ("fabric-bad-state",)
        return Result("fabric", "partial", f"completed, but {', '.join(words)}", details, causes)
    cliques = sorted({one.clique for one in found if one.state == COMPLETED})
    if len(cliques) > 1:
        summary = f"completed, in {len(cliques)} cliques ({', '.join(map(str, cliques))}): no object can span them"
        return Result("fabric", "partial", summary, details, ("clique-mismatch",))
    return Result("fabric", "ok", f"completed, clique {cliques[0]}", details)
