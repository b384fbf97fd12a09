"""NVML of one process: which machine it tells of, how often it was initialised, and the devices by handle."""

from __future__ import annotations

import os
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from cumulticast.libnvml import facts
from cumulticast.libnvml.books import Books, read
from cumulticast.libnvml.status import Refused, Status
from cumulticast.sim.log import ErrorLog
from cumulticast.sim.machine import Device, Machine, load
from cumulticast.sim.rights import WorldError, check, read_values

HANDLE = 0x4E56_0000_0000  # what device handles begin with: a device's number, or a CUDA handle, is none
STEP = 0x100


@dataclass(frozen=True, slots=True)
class Gpu:
    """A device as NVML sees it: the devices of one node, counted by their PCI addresses."""

    index: int
    device: Device

    @property
    def handle(self) -> int:
        """The nvmlDevice_t."""
        return HANDLE + STEP * (self.device.index + 1)

    @property
    def uuid(self) -> str:
        """As ``GPU-`` and 32 digits in groups."""
        digits = self.device.uuid.hex()
        groups = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        return "GPU-" + "-".join(groups)

    @property
    def serial(self) -> str:
        """Thirteen digits, as boards have; ours are those of the uuid."""
        return f"{int.from_bytes(self.device.uuid[:6], 'big') % 10**13:013d}"

    @property
    def pci(self) -> tuple[int, int, int]:
        """Domain, bus and device."""
        domain, bus, slot = self.device.pci_address.partition(".")[0].split(":")
        return int(domain, 16), int(bus, 16), int(slot, 16)


class Service:
    """NVML in front of one machine.

    Parameters
    ----------
    machine, node
        What it tells of; NVML sees the devices of one node.
    world
        The directory of its world; None for a machine that nobody uses.
    """

    def __init__(self, machine: Machine, node: int, world: Path | None) -> None:
        self.machine = machine
        self.facts = facts.load(machine.name)
        self.world = world
        self.log = ErrorLog.from_environment()
        self.lock = threading.RLock()
        self.users = 0
        mine = sorted((d for d in machine.devices if d.node == node), key=lambda device: device.pci_address)
        self.gpus = tuple(Gpu(index, device) for index, device in enumerate(mine))
        self._by_handle = {gpu.handle: gpu for gpu in self.gpus}

    @classmethod
    def of_world(cls, path: Path, node: int) -> Service:
        """Tell of somebody's world.

        Raises
        ------
        WorldError
            It is no world, or not this user's; the text says why.
        """
        check(path)
        values = read_values(path)
        machine = load(str(values["machine"]), devices=int(values["devices"]), nodes=int(values["nodes"]))
        return cls(machine, node, path)

    def gpu(self, handle: int) -> Gpu:
        """Answer the device of a handle, or refuse."""
        found = self._by_handle.get(handle)
        if found is None:
            raise Refused(Status.INVALID_ARGUMENT, f"{handle:#x} is no nvmlDevice_t of this machine")
        return found

    def books(self) -> Books:
        """Read the world as it is now; a machine without a world is idle."""
        if self.world is None:
            return Books()
        try:
            return read(self.world)
        except (OSError, sqlite3.Error, WorldError) as error:
            raise Refused(Status.GPU_IS_LOST, f"the world {self.world} is gone: {error}") from error

    def current(self) -> Machine:
        """Answer the machine with the cliques that a fault may have split it into."""
        fault = self.books().fault("cliques")
        return self.machine.with_cliques(*map(int, fault.value.split(","))) if fault else self.machine

    def owner(self, index: int) -> Device:
        """Answer a device by its number in the whole machine, in its clique of now."""
        return self.current().device(index)

    def refuse(self, call: str, refused: Refused) -> Status:
        """Log why a call is refused, and answer its status."""
        name = f"NVML_{'ERROR_' * bool(refused.status)}{refused.status.name}"
        self.log.write("E", f"{call}: {refused.reason}; returning {int(refused.status)} ({name})")
        return refused.status


def process_name(pid: int) -> str:
    """Answer the program of a process as nvidia-smi shows it: the first word of its command line."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return os.fsdecode(words[0]) or Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        raise Refused(Status.NOT_FOUND, f"there is no process {pid}") from None
