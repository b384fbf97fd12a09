"""The services beside the driver: Fabric Manager, and IMEX with its channels."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from cumulticast.doctor import ask
from cumulticast.doctor.register import check
from cumulticast.doctor.result import Result

FABRIC_MANAGER_LOG = Path("/var/log/fabricmanager.log")
SWITCHES = Path("/proc/driver/nvidia-nvswitch/devices")
CHANNELS = Path("/dev/nvidia-caps-imex-channels")
CHANNEL_DEVICE = "nvidia-caps-imex-channels"
TAIL = 1 << 20  # bytes of a log that are read, from its end
OF_FABRIC_MANAGER = {
    *("fm-stale-registration", "fm-not-running", "fm-version-mismatch", "fm-transient-stall", "fm-not-needed"),
    *("nvswitch-not-visible", "nvlink-hardware-fault", "fabric-partition-inactive", "multicast-slots-exhausted"),
}


@check("fabric-manager", "the Fabric Manager service: unit, process, log")
def fabric_manager() -> Result:
    """Look at the unit, at the processes that can be seen, and at the end of the log."""
    if ask.simulated():
        summary = "a simulated machine has no service to look at; the fabric check and the trial tell its state"
        return Result("fabric-manager", "not-available", summary)
    unit, running = _unit("nvidia-fabricmanager"), _running("nv-fabricmanage")
    details: dict[str, Any] = {"unit": unit, "process": running, "switches": _switches(), **_log(FABRIC_MANAGER_LOG)}
    if cause := details.get("log_cause"):
        return Result("fabric-manager", "partial", f"its log: {details['log_says']}", details, (cause,))
    if running or unit == "active":
        return Result("fabric-manager", "ok", "it runs", details)
    if unit in ("inactive", "failed", "activating") and details["switches"]:
        causes = ("fm-not-running",) if unit != "activating" else ("fabric-registration-pending",)
        return Result("fabric-manager", "missing", f"its unit is {unit}", details, causes)
    if unit:
        return Result("fabric-manager", "not-available", f"its unit is {unit}; no NVSwitch is seen here", details)
    return Result("fabric-manager", "not-available", "neither unit nor process can be seen from here", details)


@check("imex", "IMEX: service and channels", apart=True)
def imex() -> Result:
    """Look for a channel; it is needed where the fabric goes beyond one node."""
    if ask.simulated():
        summary = "a simulated machine has no channel devices to look at; the trial asks for fabric handles"
        return Result("imex", "not-available", summary)
    details: dict[str, Any] = {
        "unit": _unit("nvidia-imex"),
        "process": _running("nvidia-imex"),
        "driver_has_channels": CHANNEL_DEVICE in _text(Path("/proc/devices")),
        "channels": sorted(path.name for path in CHANNELS.glob("channel*")) if CHANNELS.is_dir() else [],
        "multi_node": _multi_node(),
    }
    if details["channels"]:
        return Result("imex", "ok", f"channels: {', '.join(details['channels'])}", details)
    if not details["driver_has_channels"]:
        return Result("imex", "not-available", "the kernel driver offers no IMEX channels here", details)
    summary = "no IMEX channel: fabric handles are refused (800)"
    if details["multi_node"]:
        return Result("imex", "missing", f"{summary}, and this fabric spans nodes", details, ("imex-channel-missing",))
    return Result("imex", "partial", f"{summary}; within one node file descriptors do", details)


def _unit(name: str) -> str | None:
    """Answer what systemd says of a unit; None where there is no systemd to ask, or no such unit."""
    if not shutil.which("systemctl"):
        return None
    command = ["systemctl", "show", name, "--property=LoadState,ActiveState"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except subprocess.TimeoutExpired:
        return None
    told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    return told.get("ActiveState") if told.get("LoadState") == "loaded" else None


def _running(name: str) -> bool:
    """Tell whether a process of that name is seen; the kernel cuts names to 15 letters."""
    return any(_text(path).strip() == name[:15] for path in Path("/proc").glob("[0-9]*/comm"))


def _switches() -> int:
    """Count the NVSwitches that the kernel driver has in this node."""
    return len(list(SWITCHES.glob("*"))) if SWITCHES.is_dir() else 0


def _log(path: Path) -> dict[str, Any]:
    """Let the end of a log be explained."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL))
            text = file.read()
    except OSError:
        return {"log": None}
    from cumulticast.why import explain

    found = explain(text)
    told: dict[str, Any] = {"log": str(path), "log_verdict": found.verdict}
    if found.verdict == "fault" and found.cause in OF_FABRIC_MANAGER:
        told |= {"log_cause": found.cause, "log_says": found.title, "log_lines": [one.text for one in found.quotes]}
    return told


def _multi_node() -> bool | None:
    """Tell by the cluster UUID whether the fabric spans nodes; None when NVML cannot be asked."""
    from cumulticast.doctor.checks.fabric import read

    try:
        return any(set(device.cluster) - set("0-") for device in read())
    except ask.Unavailable:
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
