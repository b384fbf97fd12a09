"""MC360 to MC369: the relaxed alignment of SM_107 (Rubin) and newer machines, and its price."""

from .book import rule
from .groups import BIND_ADDR, BIND_MEM, BINDS
from .source import Document
from .status import Status
from .text import bytes_text, not_multiple

RELAXED_ALIGNMENT = 256  # bytes


@rule(
    "MC360",
    "on SM_107 the mem_offset of a bind is a multiple of 256",
    calls=BIND_MEM,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("multicast_bind_mem", "GPUs, ``mem_offset`` may be aligned to 256"),
    spec=("R1",),
)
def mem_offset_relaxed(mem_offset: int) -> str | None:
    """Make mem_offset a multiple of 256 bytes on machines with SM_107 or newer GPUs.

    These GPUs can shift a replica inside its page, so a bind may begin inside a granule. Size and mc_offset
    still follow the granularity (MC304, MC305), one granule of headroom is needed (MC362), and the hardware
    has only a stock of such binds (MC364).

        multicast_bind_mem(mc, 0, mem, 100, 2 << 20, 0)   # refused
        multicast_bind_mem(mc, 0, mem, 256, 2 << 20, 0)   # good on SM_107

    Fix: keep buffers 256-byte aligned inside their allocation, as every CUDA allocator does.
    """
    return not_multiple("mem_offset", mem_offset, RELAXED_ALIGNMENT)


@rule(
    "MC361",
    "on SM_107 the memptr of a bind is a multiple of 256",
    calls=BIND_ADDR,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("multicast_bind_addr", "GPUs, ``memptr`` may be aligned to 256"),
    spec=("R1",),
)
def memptr_relaxed(memptr: int) -> str | None:
    """Make memptr a multiple of 256 bytes on machines with SM_107 or newer GPUs.

    The address form of MC360, with the same price: headroom (MC362) and a stock of unaligned binds (MC364). A
    pointer that is a multiple of the granularity pays nothing.

        multicast_bind_addr(mc, 0, base + 100, 2 << 20, 0)   # refused
        multicast_bind_addr(mc, 0, base + 256, 2 << 20, 0)   # good on SM_107

    Fix: bind from an address that is a multiple of 256.
    """
    return not_multiple("memptr", memptr, RELAXED_ALIGNMENT, shown="#x")


@rule(
    "MC362",
    "an unaligned bind leaves one granule of headroom in the object",
    calls=BINDS,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document(
        "multicast_bind_mem",
        "``CU_MULTICAST_GRANULARITY_MINIMUM`` cannot be larger than the size of the than",
    ),
    spec=("R4",),
)
def headroom(mc_offset: int, size: int, granularity: int, object_size: int) -> str | None:
    """Create the object one granule larger for a bind whose memory is not aligned to the granularity.

    A replica that begins inside a page reaches into one page more than its size says, so the bind occupies
    size + one granule of the object. An aligned bind needs no headroom, on SM_107 machines either.

        # mem_offset 256, size 2 MiB, granularity 2 MiB
        prop.size_ = 2 << 20   # refused
        prop.size_ = 4 << 20   # good

    Fix: add one granularity to the object's size for each unaligned bind.
    """
    end = mc_offset + size + granularity
    if end <= object_size:
        return None
    return (
        f"mc_offset {mc_offset} + size {size} + granularity {granularity} = {end} is beyond the multicast "
        f"object of {bytes_text(object_size)}; an unaligned bind needs one granule of headroom"
    )


@rule(
    "MC363",
    "the next bind begins behind the headroom of an unaligned one",
    calls=BINDS,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document(
        "multicast_bind_mem",
        "The next available mc_offset for the next bind will be mc_offset + size + the value",
    ),
    spec=("R5",),
)
def behind_headroom(mc_offset: int, bound_offset: int, bound_size: int, granularity: int) -> str | None:
    """Skip one granule behind an unaligned bind before the next bind of the same device.

    The headroom granule (MC362) belongs to the unaligned bind. The arguments bound_offset and bound_size are
    those of the unaligned bind that precedes the new mc_offset.

        multicast_bind_mem(mc, 0, mem, 256, 2 << 20, 0)       # occupies [0, 4 MiB)
        multicast_bind_mem(mc, 2 << 20, mem2, 0, 2 << 20, 0)  # refused
        multicast_bind_mem(mc, 4 << 20, mem2, 0, 2 << 20, 0)  # good

    Fix: next mc_offset = mc_offset + size + granularity.
    """
    next_offset = bound_offset + bound_size + granularity
    if not bound_offset + bound_size <= mc_offset < next_offset:
        return None
    return f"mc_offset {mc_offset} is in the headroom of the bind at {bound_offset}; next {next_offset}"


@rule(
    "MC364",
    "the hardware has resources left for an unaligned bind",
    calls=BINDS,
    kind="limit",
    status=Status.MULTICAST_RESOURCE_FULL,
    evidence="documented",
    source=Document("multicast_bind_mem", "is limited by HW resources and may"),
    spec=("R6",),
)
def unaligned_stock(used: int, stock: int) -> str | None:
    """Use unaligned binds sparingly: a device has a limited stock of them.

    Each one occupies an entry of an offset table in hardware. How many there are is not published; the
    machine data assume 1024 per device. 47 says that the table is full, while aligned binds still succeed.

        1024 binds at mem_offset 256, then one more: refused
        the same memory bound at mem_offset 0: good

    Fix: bind whole granules, and reach the buffer inside them by its offset.
    """
    if used < stock:
        return None
    return f"all {stock} unaligned binds of this device are in use; a mem_offset on the granularity needs none"
