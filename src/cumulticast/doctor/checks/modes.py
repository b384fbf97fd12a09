"""Modes of the devices that have no multicast: MIG, and confidential computing."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from cumulticast.doctor import ask
from cumulticast.doctor.register import check
from cumulticast.doctor.result import Result


@check("mig", "MIG: whether devices are split", apart=True)
def mig() -> Result:
    """Ask the mode of each device."""
    try:
        with ask.nvml() as nvml:
            modes = [ask.maybe(nvml.device_get_mig_mode, handle) for handle in ask.handles(nvml)]
    except ask.Unavailable as error:
        return Result("mig", "not-available", str(error))
    details = {"devices": [None if mode is None else {"now": int(mode[0]), "next": int(mode[1])} for mode in modes]}
    split = [k for k, mode in enumerate(modes) if mode is not None and int(mode[0])]
    if split:
        outcome = "missing" if len(split) == len(modes) else "partial"
        return Result(
            "mig", outcome, f"MIG is on for device {', '.join(map(str, split))}", details, ("mig-no-multicast",)
        )
    return Result("mig", "ok", "MIG is off", details)


@check("confidential-computing", "confidential computing, and whether the devices take work", apart=True)
def confidential() -> Result:
    """Ask the state of the system."""
    try:
        with ask.nvml() as nvml:
            details = _state(nvml)
    except ask.Unavailable as error:
        return Result("confidential-computing", "not-available", str(error))
    if details["feature"] is None:
        return Result("confidential-computing", "not-available", "the driver does not tell", details)
    if not details["feature"]:
        return Result("confidential-computing", "ok", "it is off", details)
    if details["ready"] == 0:
        summary = "it is on, and the devices do not take work: their ready state was not set"
        return Result("confidential-computing", "missing", summary, details, ("cc-gpus-not-ready",))
    summary = "it is on: such devices have no multicast"
    return Result("confidential-computing", "missing", summary, details, ("cc-mode-no-multicast",))


def _state(nvml: ModuleType) -> dict[str, Any]:
    state = ask.maybe(nvml.system_get_conf_compute_state)
    ready = ask.maybe(nvml.system_get_conf_compute_gpus_ready_state)
    return {
        "feature": None if state is None else int(state.cc_feature),
        "environment": None if state is None else int(state.environment),
        "ready": None if ready is None else int(ready),
    }
