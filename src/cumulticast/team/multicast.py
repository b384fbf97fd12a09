"""Multicast objects: one range of addresses, under which the memories of several devices are bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from cumulticast import driver

from .binding import Binding, bind_address, bind_memory, free_offset
from .devices import (
    MOST_DEVICES,
    DeviceLike,
    Granularity,
    Kind,
    device_ordinal,
    granularity_flag,
    handle_mask,
    positive,
    round_up,
)
from .handles import export_handle, import_handle
from .mapping import Mapping, map_handles
from .memory import PhysicalMemory, accessors
from .resource import Resource, close_all


class MulticastObject(Resource):
    """A multicast object: a store through its address reaches every replica, a load can reduce over all of them.

        with MulticastObject.create(devices=range(8), size=2 << 20) as team:
            ...

    ``close`` unmaps what ``map`` gave, unbinds what was bound here, and releases the object, in this order.

    Attributes
    ----------
    handle
        The driver's handle.
    size
        In bytes; what was asked for, rounded up to the granularity. None for an imported object of unknown size.
    num_devices
        How many devices belong to it, or None.
    granularity
        Of binds, in bytes: offsets and sizes are multiples. The driver's minimum.
    """

    def __init__(self, handle: int, size: int | None, num_devices: int | None, granularity: int) -> None:
        super().__init__()
        self.handle = handle
        self.size = size
        self.num_devices = num_devices
        self.granularity = granularity
        self.bindings: list[Binding] = []
        self._mappings: list[Mapping] = []
        self.undo(driver.mem_release, handle)
        self.undo(self._unbind)
        self.undo(self._unmap)

    @classmethod
    def create(
        cls,
        devices: Sequence[DeviceLike] | None = None,
        size: int = 0,
        *,
        num_devices: int | None = None,
        granularity: Granularity = "minimum",
        handle_types: Kind | Iterable[Kind] = (),
    ) -> Self:
        """Create a multicast object.

        Parameters
        ----------
        devices
            All its devices, which are added at once: a team in this process.
        size
            Bytes of each device; rounded up to the granularity.
        num_devices
            Instead of devices: how many there will be. Each is added by ``add_device``, in any process.
        granularity
            ``minimum`` or ``recommended``: what size is rounded up to.
        handle_types
            How it can be shared with other processes: ``"posix_fd"``, ``"fabric"``, or several.

        Raises
        ------
        TypeError, ValueError
            Neither or both of devices and num_devices are given; a device stands twice; size is not positive.
        cumulticast.driver.DriverError
            The driver refused; `cumulticast explain` knows why.
        """
        ordinals, count = _members(devices, num_devices)
        prop = driver.MulticastObjectProp_v1()
        prop.num_devices, prop.handle_types = count, handle_mask(handle_types)
        prop.size_ = positive("size", size)
        driver.init(0)
        step = driver.multicast_get_granularity(prop, granularity_flag(granularity))
        prop.size_ = round_up(size, step)
        least = step if granularity == "minimum" else _minimum_granularity(prop.size_, count)
        made = cls(int(driver.multicast_create(prop)), prop.size_, count, least)
        with made.building():
            for ordinal in ordinals:
                driver.multicast_add_device(made.handle, ordinal)
        return made

    @classmethod
    def import_(
        cls,
        shared: int | bytes,
        kind: Kind,
        *,
        size: int | None = None,
        num_devices: int | None = None,
        granularity: int | None = None,
    ) -> Self:
        """Import an object that another process exported.

        The driver tells nothing about an imported object, so what its creator knows should travel with the handle.

        Parameters
        ----------
        shared
            A file descriptor (it may be closed afterwards), or the 64 bytes of a fabric handle.
        kind
            ``"posix_fd"`` or ``"fabric"``.
        size, num_devices
            As the creator's object has them. Without size, ``map`` has to be told how much to map.
        granularity
            As the creator's object has it; None: the driver's minimum.
        """
        driver.init(0)
        checked = None if size is None else positive("size", size)
        count = None if num_devices is None else positive("num_devices", num_devices, "device", MOST_DEVICES)
        least = _minimum_granularity(checked or 1, count or 1)
        step = least if granularity is None else positive("granularity", granularity)
        return cls(import_handle(shared, kind), checked, count, step)

    def add_device(self, device: DeviceLike) -> None:
        """Add a device. Binds and maps wait until all are added, everywhere."""
        self.check_open()
        driver.multicast_add_device(self.handle, device_ordinal(device))

    def bind_memory(
        self,
        memory: PhysicalMemory | int,
        *,
        device: DeviceLike | None = None,
        mc_offset: int | None = None,
        mem_offset: int = 0,
        size: int | None = None,
    ) -> Binding:
        """Bind physical memory; waits until all devices are added.

        Parameters
        ----------
        memory
            Where the replica lies; a driver's handle needs size.
        device
            Whose replica it becomes, by the ``_v2`` call where the driver has it (13.1). Else the memory's device.
        mc_offset
            Where in the object, in bytes; None: the first free place of this device.
        mem_offset
            Where in the memory, in bytes.
        size
            In bytes; None: all of the memory from mem_offset on.
        """
        self.check_open()
        return bind_memory(self, memory, device, mc_offset, mem_offset, size)

    def bind_address(
        self, ptr: Any, size: int | None = None, *, device: DeviceLike | None = None, mc_offset: int | None = None
    ) -> Binding:
        """Bind memory by an address at which it is mapped; waits until all devices are added.

        Parameters
        ----------
        ptr
            An address, or a `Mapping` or `cuda.core.Buffer` (then size may be left out).
        size
            In bytes.
        device, mc_offset
            As for ``bind_memory``.
        """
        self.check_open()
        return bind_address(self, ptr, size, device, mc_offset)

    def free_offset(self, device: DeviceLike, size: int) -> int:
        """Answer the first place of a device, in bytes, where so many bytes are not bound from this process."""
        return free_offset(self, device_ordinal(device), positive("size", size))

    def map(self, devices: DeviceLike | Iterable[DeviceLike] | None = None, *, size: int | None = None) -> Mapping:
        """Map the object, readable and writable by devices; waits until all devices are added.

        Parameters
        ----------
        devices
            Who gets access.
        size
            Bytes from the beginning; None: all.

        Raises
        ------
        TypeError
            The size of the object is not known: it was imported without.
        """
        self.check_open()
        wanted = self.size if size is None else size
        if wanted is None:
            raise TypeError("map needs size: the driver does not tell how large an imported object is")
        only = self.bindings[0].device if self.bindings else None
        mapping = map_handles([self.handle], positive("size", wanted), accessors(devices, only))
        self._mappings.append(mapping)
        return mapping

    def export(self, kind: Kind) -> int | bytes:
        """Export the object: a file descriptor, which you close, or the 64 bytes of a fabric handle."""
        self.check_open()
        return export_handle(self.handle, kind)

    def _unmap(self) -> None:
        close_all(self._mappings)

    def _unbind(self) -> None:
        close_all(self.bindings[:])

    def __repr__(self) -> str:
        """Show size and devices."""
        return f"MulticastObject(size={self.size}, num_devices={self.num_devices})"


def _minimum_granularity(size: int, num_devices: int) -> int:
    prop = driver.MulticastObjectProp_v1()
    prop.num_devices, prop.size_ = num_devices, size
    return driver.multicast_get_granularity(prop, granularity_flag("minimum"))


def _members(devices: Sequence[DeviceLike] | None, num_devices: int | None) -> tuple[list[int], int]:
    """Answer the devices to add at once, and how many the object has."""
    if (devices is None) == (num_devices is None):
        raise TypeError("give the devices of the object, or num_devices and add them one by one")
    if devices is None:
        assert num_devices is not None
        return [], positive("num_devices", num_devices, "device", MOST_DEVICES)
    ordinals = [device_ordinal(device) for device in devices]
    twice = next((one for one in ordinals if ordinals.count(one) > 1), None)
    if twice is not None:
        raise ValueError(f"device {twice} stands twice in {ordinals}: an object takes each device once")
    return ordinals, positive("the number of devices", len(ordinals), "device")
