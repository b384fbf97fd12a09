"""MC320 to MC339: which memory may be bound to which object, and for which device."""

from .book import rule
from .groups import BIND_ADDR, BIND_MEM, BINDS, BINDS_BY_DEVICE, BINDS_BY_OWNER
from .source import Document, Note
from .status import Status
from .text import listed, overlap

_NOT_ATTACHED = Note("kernel driver", "memory of a GPU that is not attached to the object: invalid device")


@rule(
    "MC320",
    "mem_handle is memory, not a multicast object",
    calls=BIND_MEM,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("multicast_bind_mem", "Binds a memory allocation specified by ``mem_handle`` and created via"),
    spec=("B14",),
)
def memory_handle(mem_handle: int, is_memory: bool) -> str | None:
    """Pass a handle from mem_create (or an imported one) as mem_handle.

    Memory and multicast objects have handles of one type, so no compiler notices when they change places. A
    multicast object has no memory of its own and cannot be bound to another one.

        multicast_bind_mem(mc, 0, mc, 0, size, 0)    # refused
        multicast_bind_mem(mc, 0, mem, 0, size, 0)   # good

    Fix: mc_handle first, then its offset, then mem_handle.
    """
    return None if is_memory else f"mem_handle {mem_handle:#x} is a multicast object; it must be memory from mem_create"


@rule(
    "MC321",
    "memptr points to memory from mem_create or from a pool",
    calls=BIND_ADDR,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("multicast_bind_addr", "``cuMemCreate`` or ``cudaMallocAsync``"),
    spec=("B14",),
)
def memory_address(memptr: int, origin: str) -> str | None:
    """Bind by address only memory that came from mem_create or from a stream-ordered pool.

    Only such memory consists of physical allocations that another object may refer to. `origin` names what is
    behind the address: `cuMemCreate`, `cuMemAllocAsync`, `cuMemAlloc`, `a multicast object`, `nothing` …

        multicast_bind_addr(mc, 0, mem_alloc_v2(size), size, 0)                # refused
        multicast_bind_addr(mc, 0, mem_alloc_async(size, stream), size, 0)     # good, once allocated

    Fix: allocate with mem_create + mem_map, or from a pool whose memory is shareable if the object is.
    """
    if origin in ("cuMemCreate", "cuMemAllocAsync"):
        return None
    return f"memptr {memptr:#x} points to {origin}; it must be memory from cuMemCreate or cuMemAllocAsync"


@rule(
    "MC322",
    "the device that owns the memory is in the team",
    calls=BINDS_BY_OWNER,
    status=Status.INVALID_DEVICE,
    evidence="kernel-module",
    source=(
        Document("multicast_bind_mem", "must have beeen created on one of the devices that was"),
        _NOT_ATTACHED,
    ),
    spec=("B6",),
)
def owner_in_team(owner: int, team: tuple[int, ...]) -> str | None:
    """Bind memory of a device that was added to the object.

    The first forms of the calls have no device argument: they bind for the device on which the memory was
    created. If that device is not in the team, there is no replica to put it behind.

        multicast_add_device(mc, 0); multicast_add_device(mc, 1)
        multicast_bind_mem(mc, 0, memory_of_device_2, 0, size, 0)   # refused
        multicast_bind_mem(mc, 0, memory_of_device_1, 0, size, 0)   # good

    Fix: check prop.location.id of the memory; add the device before, if the team has room.
    """
    return None if owner in team else f"the memory lives on device {owner}; the team is {listed(team)}"


@rule(
    "MC323",
    "the device named in a bind is in the team",
    calls=BINDS_BY_DEVICE,
    status=Status.INVALID_DEVICE,
    evidence="kernel-module",
    source=(
        Document("multicast_bind_mem_v2", "must have been added to the multicast team via"),
        _NOT_ATTACHED,
    ),
    spec=("B21",),
)
def device_in_team(dev: int, team: tuple[int, ...]) -> str | None:
    """Name a device that was added to the object.

    The `_v2` forms say for which device the bind applies. Only a device that multicast_add_device has
    joined to the object has a place for a replica.

        multicast_bind_mem_v2(mc, 2, 0, mem, 0, size, 0)   # device 2 never added: refused
        multicast_bind_mem_v2(mc, 1, 0, mem, 0, size, 0)   # good

    Fix: add the device, or name the one you added.
    """
    return None if dev in team else f"dev {dev} is not in the team; the team is {listed(team)}"


@rule(
    "MC324",
    "device memory is bound for the device that owns it",
    calls=BINDS_BY_DEVICE,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(
        Document("multicast_bind_mem_v2", "been created on the device specified by ``dev``"),
        Note("kernel driver", "attaching another GPU's memory is an invalid argument"),
    ),
    spec=("B22",),
)
def memory_on_device(dev: int, owner: int) -> str | None:
    """Bind, for a device, memory that was created on that device.

    A replica must be local: the switch delivers each store to the GPU itself. Peer memory cannot stand in.

        multicast_bind_mem_v2(mc, 1, 0, memory_of_device_0, 0, size, 0)   # refused
        multicast_bind_mem_v2(mc, 0, 0, memory_of_device_0, 0, size, 0)   # good

    Fix: pass the device given in prop.location.id when the memory was created.
    """
    return None if owner == dev else f"the memory lives on device {owner}, not on dev {dev}; use dev {owner}"


@rule(
    "MC325",
    "host memory is bound for a device whose nearest NUMA node owns it",
    calls=BINDS_BY_DEVICE,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("multicast_bind_mem_v2", "created on the CPU NUMA node closest to ``dev``"),
    spec=("B23",),
)
def memory_on_nearest_node(dev: int, node: int, host_numa_id: int) -> str | None:
    """Bind host memory of the CPU node that lies closest to the device.

    Host memory has no owning device; the `_v2` forms attach it to the device whose attribute HOST_NUMA_ID is
    the memory's node, because only through that device's coherent link can the fabric reach it.

        node = device_get_attribute(DeviceAttribute.HOST_NUMA_ID, dev)
        prop.location.id = 1 - node   # the other socket: refused at the bind
        prop.location.id = node       # good

    Fix: query HOST_NUMA_ID for dev, and create the memory there.
    """
    if node == host_numa_id:
        return None
    return f"the memory lives on NUMA node {node}; HOST_NUMA_ID of device {dev} is {host_numa_id}"


@rule(
    "MC326",
    "host NUMA memory is bound with the _v2 forms",
    calls=BINDS_BY_OWNER,
    status=Status.NOT_SUPPORTED,
    evidence="assumed",
    source=Note(
        "public report",
        "the first forms answer host NUMA memory with not supported; the _v2 forms are for it",
    ),
    spec=("B25",),
)
def host_numa_needs_v2(location: str) -> str | None:
    """Use multicast_bind_mem_v2 or multicast_bind_addr_v2 for memory of a CPU node.

    The first forms take the device from the memory, and host memory belongs to none.

        multicast_bind_mem(mc, 0, host_memory, 0, size, 0)           # refused
        multicast_bind_mem_v2(mc, dev, 0, host_memory, 0, size, 0)   # good, if dev is nearest to the node

    Fix: name the device.
    """
    return (
        None if location != "HOST_NUMA" else "HOST_NUMA memory has no owning device; use the _v2 form, which names one"
    )


@rule(
    "MC327",
    "bound memory lives on a device or on a CPU NUMA node",
    calls=BINDS,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=Note("kernel driver", "attaching memory that belongs to no device is an invalid argument"),
    spec=("B24",),
)
def memory_location(location: str) -> str | None:
    """Bind memory of location DEVICE or HOST_NUMA.

    The documents speak of these two only. Memory of location HOST is not tied to a node, and managed memory
    moves: neither has pages that the fabric could reach for good.

        prop.location.type = MemLocationType.HOST     # refused at the bind
        prop.location.type = MemLocationType.DEVICE   # good

    Fix: create the memory on a device of the team.
    """
    return (
        None
        if location in ("DEVICE", "HOST_NUMA")
        else f"memory of location {location} cannot be bound; DEVICE or HOST_NUMA can"
    )


@rule(
    "MC328",
    "a shareable or imported object is bound to shareable memory",
    calls=BINDS,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("multicast_bind_mem", "memory. Note that this call will return CUDA_ERROR_OUT_OF_MEMORY"),
    spec=("B7", "IM7"),
)
def shareable_memory(object_shareable: bool, object_imported: bool, memory_shareable: bool) -> str | None:
    """Bind memory with requestedHandleTypes other than 0 when the object is shareable or was imported.

    What is bound becomes reachable from every process that has the object, so the memory must be of a kind
    that may be shared. The two sets of handle types need not be the same, and memory that was itself
    imported counts as shareable. An object with handleTypes 0 that was created here takes either kind.

        prop.requested_handle_types = 0   # refused when mc.handle_types is not 0
        prop.requested_handle_types = MemAllocationHandleType.POSIX_FILE_DESCRIPTOR   # good

    Fix: create the memory with a handle type, even if it is never exported.
    """
    if memory_shareable or not (object_shareable or object_imported):
        return None
    which = "imported" if object_imported else "shareable"
    return f"the object is {which} but the memory is not shareable; create it with requested_handle_types"


@rule(
    "MC329",
    "an object holds the same memory at one place only",
    calls=BINDS,
    kind="undefined",
    status=Status.INVALID_VALUE,
    held="strict",
    evidence="assumed",
    source=(
        Note(
            "settled here",
            "no document says whether an object may hold one memory twice; strict refuses, hardware accepts",
        ),
        Note("public report", "several clients bind one buffer into an object per team, and it works"),
    ),
    spec=("B19",),
)
def memory_bound_once(mem_offset: int, size: int, bound_offset: int, bound_size: int) -> str | None:
    """Know that binding the same bytes into one object a second time is not described anywhere.

    A store through the object then meets itself in the same bytes. Profile `hardware` accepts it with a finding.
    Into several objects the same memory may be bound, in both profiles: NCCL and others bind one window into one
    object per team, and no sentence speaks against it.

        multicast_bind_mem(mc_a, 0, mem, 0, size, 0)
        multicast_bind_mem(mc_a, size, mem, 0, size, 0)   # undescribed: refused in strict
        multicast_bind_mem(mc_b, 0, mem, 0, size, 0)      # good: another object

    Fix: bind another part of the memory there, or other memory.
    """
    if not overlap(mem_offset, size, bound_offset, bound_size):
        return None
    return (
        f"bytes [{mem_offset}, {mem_offset + size}) of the memory overlap [{bound_offset}, "
        f"{bound_offset + bound_size}), which are already bound"
    )
