"""cuMulticastCreate, cuMulticastAddDevice, cuMulticastGetGranularity: objects and their teams."""

from __future__ import annotations

from cumulticast.rules import devices, granularity, multicast_object, multicast_team
from cumulticast.sim import objects
from cumulticast.sim.entry import entry
from cumulticast.sim.handles import Handle
from cumulticast.sim.lookup import device_of, multicast_handle
from cumulticast.sim.physical import as_os_error
from cumulticast.sim.process import Process
from cumulticast.sim.structs import SHAREABLE, MulticastProp


@entry("cuMulticastCreate")
def multicast_create(process: Process, prop: bytes) -> int:
    """Make a multicast object of ``prop.size`` bytes a device for ``prop.numDevices`` devices."""
    judge, machine = process.driver.judge, process.machine
    wanted = MulticastProp.read(prop)
    judge(multicast_object.multicast_supported, machine.name, machine.multicast_supported)
    judge(multicast_object.object_flags, wanted.flags)
    judge(multicast_object.team_size, wanted.num_devices)
    judge(multicast_object.object_size_positive, wanted.size)
    judge(multicast_object.object_size_granularity, wanted.size, machine.multicast_granularity)
    judge(multicast_object.object_handle_types, wanted.handle_types, SHAREABLE)
    process.require_fabric(wanted.handle_types)
    judge(multicast_object.object_size_recommended, wanted.size, machine.recommended_granularity(wanted.size))
    judge(multicast_object.team_fits_fabric, wanted.num_devices, machine.device_count)
    obj = process.next_object()
    size, types = wanted.size, wanted.handle_types
    try:
        objects.create_multicast(process.world, process.number, obj, size, wanted.num_devices, types, process.node)
    except (OSError, OverflowError) as error:  # 2^63 bytes and more do not fit in the books
        raise process.no_room(f"a multicast object of {size} bytes", as_os_error(error)) from error
    value = process.handles.next_value()
    return process.adopt(Handle(value, obj, "multicast", size, prop, types, num_devices=wanted.num_devices))


@entry("cuMulticastAddDevice")
def multicast_add_device(process: Process, mc: int, dev: int) -> None:
    """Make a device a member of the object's team; the last one releases everybody who waits."""
    judge = process.driver.judge
    handle = multicast_handle(process, mc)
    device = device_of(process, dev)
    judge(multicast_team.device_supports_multicast, dev, process.machine.multicast_supported)
    with process.world.transaction() as db:
        known = objects.read_object(db, handle.obj)
        # The kernel driver looks whether the team is full before it looks for the device in it.
        judge(multicast_team.team_has_room, device.index, known.num_devices, known.team)
        judge(multicast_team.added_once, device.index, known.team)
        if known.team:
            first = process.clique(known.team[0])
            judge(devices.same_clique, dev, process.clique(device.index), first)
        objects.join(db, handle.obj, device.index)
    process.world.changed(handle.obj)


@entry("cuMulticastGetGranularity")
def multicast_get_granularity(process: Process, prop: bytes, option: int) -> int:
    """Answer what sizes and offsets of an object with these properties must, or should, be multiples of."""
    judge, machine = process.driver.judge, process.machine
    judge(multicast_object.multicast_supported, machine.name, machine.multicast_supported)
    judge(granularity.granularity_option, option)
    size = MulticastProp.read(prop).size
    return machine.recommended_granularity(size) if option else machine.multicast_granularity
