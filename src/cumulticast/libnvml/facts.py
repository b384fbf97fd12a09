"""What NVML tells of a machine beyond what CUDA tells: machines.toml, each value with its evidence."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cumulticast.sim.presets import Fact

MACHINES = Path(__file__).with_name("machines.toml")


@dataclass(frozen=True, slots=True)
class Facts:
    """One machine's values. Sizes in bytes, power in milliwatts, clocks in MHz, temperature in degrees Celsius.

    Attributes
    ----------
    driver_version, nvml_version
        As nvidia-smi shows them.
    total_memory, bar1_memory
        The whole memory of a device (CUDA counts less: the driver keeps a part), and the window to it.
    architecture, brand
        Numbers of nvml.h (NVML_DEVICE_ARCH_, NVML_BRAND_).
    links, link_version, link_speed
        NVLinks of a device, their version, and MB/s of each; 0 without NVLink.
    link_to
        What is at their other ends: ``switch``, ``gpu``, or nothing.
    switches
        PCI addresses of the NVSwitches in this node; none where they stand elsewhere in the rack.
    cluster_health
        Whether the devices tell the health of their fabric.
    power_limit, power_minimum, power_idle, clock_idle, clock_video, temperature
        Of a device that does nothing; the clock of its video engine is the highest one.
    cores_per_multiprocessor
        CUDA cores of one multiprocessor.
    confidential_capable
        Whether the devices could do confidential computing; it is off.
    mig
        Whether the devices could be split into MIG instances; none ever is.
    pcie_generation, pcie_width
        Of the link to the host.
    virtual
        Whether the machine is a virtual one with devices passed through.
    """

    driver_version: str
    nvml_version: str
    total_memory: int
    bar1_memory: int
    architecture: int
    brand: int
    links: int
    link_version: int
    link_speed: int
    link_to: str
    switches: tuple[str, ...]
    cluster_health: bool
    power_limit: int
    power_minimum: int
    power_idle: int
    clock_idle: int
    clock_video: int
    temperature: int
    cores_per_multiprocessor: int
    confidential_capable: bool
    mig: bool
    pcie_generation: int
    pcie_width: int
    virtual: bool


@cache
def load(machine: str) -> Facts:
    """Answer the values of a preset.

    Raises
    ------
    TypeError
        Values are missing: the preset has no entry in machines.toml.
    """
    return Facts(**{name: fact.value for name, fact in evidence(machine).items()})


@cache
def evidence(machine: str) -> Mapping[str, Fact]:
    """Answer every value of a preset with its evidence; later groups of the file go before earlier ones."""
    found: dict[str, Fact] = {}
    for group in tomllib.loads(MACHINES.read_text(encoding="utf-8"))["facts"]:
        if "machines" not in group or machine in group["machines"]:
            found |= {
                name: Fact(_frozen(value), group["evidence"], group["source"])
                for name, value in group.items()
                if name not in ("machines", "evidence", "source")
            }
    return found


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
