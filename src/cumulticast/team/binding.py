"""What is bound to a multicast object, and the calls that bind: v1 and ``_v2`` forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cumulticast import driver

from .devices import DeviceLike, device_ordinal, offset, positive, round_up, whole
from .mapping import Mapping
from .memory import PhysicalMemory
from .resource import Resource

if TYPE_CHECKING:
    from .multicast import MulticastObject


class Binding(Resource):
    """A piece of memory that is bound to a multicast object, until ``unbind`` (or ``close``, which is the same).

    Attributes
    ----------
    device
        Whose replica it is part of.
    mc_offset, size
        Where it lies in the object, in bytes.
    occupied
        Bytes of the object that are taken: the size, and one granule more behind memory that is not aligned to the
        granularity (SM_107 and newer).
    """

    def __init__(self, mc: MulticastObject, device: int, mc_offset: int, size: int, occupied: int) -> None:
        super().__init__()
        self.device = device
        self.mc_offset = mc_offset
        self.size = size
        self.occupied = occupied
        mc.bindings.append(self)
        self.undo(mc.bindings.remove, self)
        self.undo(driver.multicast_unbind, mc.handle, device, mc_offset, size)

    def unbind(self) -> None:
        """Unbind; the memory stays what it is. A second call does nothing."""
        self.close()

    def __repr__(self) -> str:
        """Show where it is."""
        return f"Binding(device={self.device}, mc_offset={self.mc_offset}, size={self.size})"


def bind_memory(
    mc: MulticastObject,
    memory: PhysicalMemory | int,
    device: DeviceLike | None,
    mc_offset: int | None,
    mem_offset: int,
    size: int | None,
) -> Binding:
    """Bind by handle; see `MulticastObject.bind_memory`."""
    handle, owner, size = _piece(memory, mem_offset, size)
    whose = owner if device is None else device_ordinal(device)
    occupied = _occupied(mc, size, mem_offset)
    at = _place(mc, whose, occupied) if mc_offset is None else offset("mc_offset", mc_offset)
    if device is not None and has_v2():
        driver.multicast_bind_mem_v2(mc.handle, whose, at, handle, mem_offset, size, 0)
    else:
        _same_device(whose, owner)
        driver.multicast_bind_mem(mc.handle, at, handle, mem_offset, size, 0)
    binding = Binding(mc, whose, at, size, occupied)
    if isinstance(memory, PhysicalMemory):
        memory.bindings.append(binding)
        binding.undo(memory.bindings.remove, binding)
    return binding


def bind_address(
    mc: MulticastObject, ptr: Any, size: int | None, device: DeviceLike | None, mc_offset: int | None
) -> Binding:
    """Bind by address; see `MulticastObject.bind_address`."""
    if isinstance(ptr, Mapping):
        ptr.check_open()
        ptr, size = ptr.ptr, ptr.size if size is None else size
    address = offset("ptr", getattr(ptr, "handle", ptr))
    given = getattr(ptr, "size", None) if size is None else size
    if given is None:
        raise TypeError("an address needs a size; a Mapping and a cuda.core.Buffer have their own")
    size = positive("size", given)
    owner = int(driver.pointer_get_attribute(driver.PointerAttribute.DEVICE_ORDINAL, address))
    whose = owner if device is None else device_ordinal(device)
    occupied = _occupied(mc, size, address)
    at = _place(mc, whose, occupied) if mc_offset is None else offset("mc_offset", mc_offset)
    if device is not None and has_v2():
        driver.multicast_bind_addr_v2(mc.handle, whose, at, address, size, 0)
    else:
        _same_device(whose, owner)
        driver.multicast_bind_addr(mc.handle, at, address, size, 0)
    return Binding(mc, whose, at, size, occupied)


def has_v2() -> bool:
    """Tell whether the driver has the ``_v2`` binds, which name the device (CUDA 13.1)."""
    return driver.driver_get_version() >= 13010


def free_offset(mc: MulticastObject, device: int, size: int) -> int:
    """Answer the first place of a device where so many bytes are free, as far as this process bound them.

    Where none is left it is the place behind the last one.
    """
    end = 0
    for bound in sorted((b for b in mc.bindings if b.device == device), key=lambda b: b.mc_offset):
        if bound.mc_offset - end >= size:
            break
        end = bound.mc_offset + bound.occupied
    return round_up(end, mc.granularity)


def _place(mc: MulticastObject, device: int, size: int) -> int:
    """Answer the first place of a device that is free and inside of the object.

    The driver would take some that begin or end behind it (MC309), where no mapping shows them.
    """
    at = free_offset(mc, device, size)
    if mc.size is not None and at + size > mc.size:
        raise ValueError(
            f"no room for {size} bytes of device {device} in {mc}: "
            f"the first place is at {at}, where {max(0, mc.size - at)} are left"
        )
    return at


def _occupied(mc: MulticastObject, size: int, begin: int) -> int:
    """Answer how much of the object a bind takes; memory inside a granule needs one granule of headroom.

    Source: cuMulticastBindMem, "The next available mc_offset for the next bind will be mc_offset + size + the value of
    CU_MULTICAST_GRANULARITY_MINIMUM".
    """
    return size if begin % mc.granularity == 0 else size + mc.granularity


def _piece(memory: PhysicalMemory | int, mem_offset: int, size: int | None) -> tuple[int, int, int]:
    """Answer handle, device and size of what is to be bound."""
    if isinstance(memory, PhysicalMemory):
        memory.check_open()
        if not 0 <= whole("mem_offset", mem_offset) < memory.size:
            raise ValueError(f"mem_offset {mem_offset}: {memory} has the offsets 0 to {memory.size - 1}")
        left = memory.size - mem_offset
        handle, wanted, owner = memory.handle, left if size is None else size, memory.device
    elif isinstance(memory, Mapping) or hasattr(memory, "handle"):
        raise TypeError(f"a {type(memory).__name__} is no PhysicalMemory: bind_address binds what has an address")
    elif size is None:
        raise TypeError("a driver's handle needs size: the driver does not tell how much memory is behind it")
    else:
        handle, wanted, owner = offset("handle", memory), size, None
        offset("mem_offset", mem_offset)
    if owner is None:
        owner = driver.mem_get_allocation_properties_from_handle(handle).location.id
    return handle, owner, positive("size", wanted)


def _same_device(whose: int, owner: int) -> None:
    if whose != owner:
        raise ValueError(
            f"device {whose} cannot be given the memory of device {owner} on this driver: "
            f"the binds that name a device came with CUDA 13.1"
        )
