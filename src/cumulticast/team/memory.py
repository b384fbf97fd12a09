"""Physical memory of a device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from cumulticast import driver

from .devices import DeviceLike, Granularity, Kind, device_ordinal, granularity_flag, handle_mask, positive, round_up
from .handles import export_handle, import_handle
from .mapping import Mapping, map_handles
from .resource import Resource, close_all

if TYPE_CHECKING:
    from .multicast import Binding


class PhysicalMemory(Resource):
    """Memory of one device, without an address: ``map`` gives it one, a multicast object binds it.

    Attributes
    ----------
    handle
        The driver's generic allocation handle.
    size
        In bytes, a multiple of the granularity.
    device
        The ordinal of the device it lies on; None for imported memory, whose device may be out of sight.
    """

    def __init__(self, handle: int, size: int, device: int | None) -> None:
        super().__init__()
        self.handle = handle
        self.size = size
        self.device = device
        self.bindings: list[Binding] = []  # through which multicast objects show this memory
        self.undo(driver.mem_release, handle)
        self.undo(self._unbind)

    @classmethod
    def create(
        cls,
        device: DeviceLike,
        size: int,
        *,
        granularity: Granularity = "minimum",
        handle_types: Kind | Iterable[Kind] = (),
    ) -> Self:
        """Create memory on a device.

        Parameters
        ----------
        device
            An ordinal or a `cuda.core.Device`.
        size
            In bytes; rounded up to the granularity of memory and to that of multicast objects, where there are any.
        granularity
            ``minimum`` or ``recommended``.
        handle_types
            How it can be shared with other processes: ``"posix_fd"``, ``"fabric"``, or several.

        Raises
        ------
        ValueError
            An argument is none of what is listed here.
        cumulticast.driver.DriverError
            The driver refused: 2 out of memory, 800 no right to fabric handles, 801 kind of handle not supported.
        """
        ordinal, kinds = device_ordinal(device), handle_mask(handle_types)
        prop = _properties(ordinal, kinds)
        step = driver.mem_get_allocation_granularity(prop, granularity_flag(granularity))
        rounded = round_up(positive("size", size), step)
        return cls(int(driver.mem_create(rounded, prop, 0)), rounded, ordinal)

    @classmethod
    def import_(cls, shared: int | bytes, kind: Kind, size: int) -> Self:
        """Import memory that another process exported.

        Parameters
        ----------
        shared
            A file descriptor, or the 64 bytes of a fabric handle.
        kind
            ``"posix_fd"`` or ``"fabric"``.
        size
            In bytes. The driver does not tell it (cuMemGetAllocationPropertiesFromHandle has no size), so it has to
            travel with the handle.
        """
        driver.init(0)
        size = positive("size", size)
        return cls(import_handle(shared, kind), size, None)

    def export(self, kind: Kind) -> int | bytes:
        """Export the memory: a file descriptor, which you close, or the 64 bytes of a fabric handle."""
        self.check_open()
        return export_handle(self.handle, kind)

    def map(self, devices: DeviceLike | Iterable[DeviceLike] | None = None) -> Mapping:
        """Map all of it, readable and writable by devices (its own, if none is named)."""
        self.check_open()
        return map_handles([self.handle], self.size, accessors(devices, self.device))

    def _unbind(self) -> None:
        """Unbind before the memory goes: B200 refuses the unbind afterwards (pytorch/pytorch #162429)."""
        close_all(self.bindings[:])

    def __repr__(self) -> str:
        """Show size and device."""
        return f"PhysicalMemory(size={self.size}, device={self.device})"


def accessors(devices: DeviceLike | Iterable[DeviceLike] | None, own: int | None) -> list[int]:
    """Answer the ordinals of the devices that are to have access.

    Raises
    ------
    ValueError
        None is named, and the memory's own device is not known.
    """
    if devices is None:
        if own is None:
            raise ValueError("name the devices that are to have access: the memory's own is in another process")
        return [own]
    if isinstance(devices, Iterable):
        return [device_ordinal(device) for device in devices]  # pyright: ignore[reportUnknownVariableType]
    return [device_ordinal(devices)]


def _properties(ordinal: int, kinds: int) -> driver.MemAllocationProp_v1:
    prop = driver.MemAllocationProp_v1()
    prop.type = int(driver.MemAllocationType.PINNED)
    prop.location.type, prop.location.id = int(driver.MemLocationType.DEVICE), ordinal
    prop.requested_handle_types = kinds
    return prop
