"""MC820 to MC839: mapping and unmapping memory (for multicast objects see also MC500)."""

from .book import rule
from .source import Document, Note, Transcript
from .status import Status
from .text import beyond, bytes_text, not_multiple, overlap, splits

_MAP = ("cuMemMap",)
_UNMAP = ("cuMemUnmap",)
_WHOLE = Document("mem_unmap", "The range must be the entire contiguous address range that was mapped to")
_GRANULE = Document("mem_map", "must be a multiple of the value given via ``cuMemGetAllocationGranularity``")


@rule(
    "MC821",
    "a mapping begins in a reservation",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_map", "an address reservation previously reserved with ``cuMemAddressReserve``"),
        Transcript("map", "map.unreserved"),
    ),
    spec=("MM1",),
)
def map_reserved(ptr: int, reserved: bool) -> str | None:
    """Map at an address inside a range from mem_address_reserve.

    Addresses from mem_alloc_v2 or from another process are not reservations of this process.

        mem_map(0x123400000000, size, 0, mem, 0)                             # refused
        mem_map(mem_address_reserve(size, 0, 0, 0), size, 0, mem, 0)         # good

    Fix: reserve first.
    """
    return None if reserved else f"ptr {ptr:#x} is in no reservation"


@rule(
    "MC822",
    "a mapping ends in its reservation",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    held="strict",
    source=(
        Document("mem_map", "This range must be an address reservation previously reserved"),
        Note(
            "settled here",
            "a real driver was recorded to answer 0 (map.pastend); hardware follows it, strict the sentence",
        ),
    ),
    spec=("MM1",),
)
def map_inside(ptr: int, size: int, reserved_end: int) -> str | None:
    """Keep the whole mapping inside the reservation.

    A real driver accepted a mapping that ran past the end of its reservation. What it then lay on is
    anybody's guess: do not rely on it.

        va = mem_address_reserve(16 << 20, 0, 0, 0)
        mem_map(va + (14 << 20), 4 << 20, 0, mem, 0)   # ends 2 MiB behind: refused in strict
        mem_map(va + (12 << 20), 4 << 20, 0, mem, 0)   # good

    Fix: reserve as much as you map.
    """
    if ptr + size <= reserved_end:
        return None
    return f"the mapping ends at {ptr + size:#x}, its reservation at {reserved_end:#x}"


@rule(
    "MC823",
    "a mapping overlaps no other mapping",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_map", "currently mapped"),
        Transcript("map", "map.overlap"),
    ),
    spec=("MM1",),
)
def map_free(ptr: int, size: int, mapped_ptr: int, mapped_size: int) -> str | None:
    """Map only where nothing is mapped yet.

    A new mapping does not replace an old one. (One memory may be mapped at several places, though.)

        mem_map(va, 4 << 20, 0, a, 0); mem_map(va + (2 << 20), 4 << 20, 0, b, 0)   # overlaps: refused
        mem_map(va, 4 << 20, 0, a, 0); mem_map(va + (4 << 20), 4 << 20, 0, b, 0)   # good

    Fix: unmap the old mapping, or continue behind it.
    """
    if not overlap(ptr, size, mapped_ptr, mapped_size):
        return None
    return (
        f"[{ptr:#x}, {ptr + size:#x}) overlaps the mapping at {mapped_ptr:#x} of {bytes_text(mapped_size)}; "
        f"next free address {mapped_ptr + mapped_size:#x}"
    )


@rule(
    "MC824",
    "the size of a mapping is not 0",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("map", "map.size0"),
)
def map_size_positive(size: int) -> str | None:
    """Map something.

    0 does not mean "all of it"; give the size of the allocation.

        mem_map(va, 0, 0, mem, 0)         # refused
        mem_map(va, 4 << 20, 0, mem, 0)   # good

    Fix: pass the size that was created.
    """
    return None if size > 0 else "size is 0; it must be the size of the allocation"


@rule(
    "MC825",
    "the address of a mapping is a multiple of the allocation granularity",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_GRANULE, Transcript("map", "map.unaligned_va")),
    spec=("MM2",),
)
def map_ptr_aligned(ptr: int, granularity: int) -> str | None:
    """Map at a multiple of the allocation granularity.

    Device pages are 2 MiB; host pages do not matter here.

        mem_map(va + 4096, size, 0, mem, 0)        # refused
        mem_map(va + (2 << 20), size, 0, mem, 0)   # good

    Fix: place allocations behind each other in steps of the granularity.
    """
    return not_multiple("ptr", ptr, granularity, shown="#x")


@rule(
    "MC826",
    "the size of a mapping is a multiple of the allocation granularity",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    held="strict",
    source=(
        _GRANULE,
        Note("settled here", "a real driver compares the size with the allocation's instead (MC828)"),
    ),
    spec=("MM2",),
)
def map_size_aligned(size: int, granularity: int) -> str | None:
    """Map a multiple of the allocation granularity.

    Held in profile `strict`. A real driver never gets that far: it accepts the size of the allocation only,
    which is such a multiple.

        mem_map(va, (2 << 20) + 4096, 0, mem, 0)   # refused
        mem_map(va, 4 << 20, 0, mem, 0)            # good

    Fix: pass the size that was created.
    """
    return not_multiple("size", size, granularity, least=1)


@rule(
    "MC827",
    "memory is mapped from offset 0",
    calls=_MAP,
    status=Status.NOT_SUPPORTED,
    evidence="recorded",
    source=(
        Note("cuda.h", "the offset of cuMemMap currently must be zero"),
        Transcript("map", "map.offset"),
    ),
    spec=("MM4",),
)
def map_offset(offset: int) -> str | None:
    """Pass 0 as the offset of a mapping.

    The documents give the offset an alignment; the C header adds that it must be 0 for now, and a real driver
    says the same with 801.

        mem_map(va, 2 << 20, 2 << 20, mem, 0)   # refused
        mem_map(va, 4 << 20, 0, mem, 0)         # good

    Fix: map the whole allocation and add to the address, or create two allocations.
    """
    return None if offset == 0 else f"offset {offset} is not supported; it must be 0"


@rule(
    "MC828",
    "on hardware an allocation is mapped whole",
    calls=_MAP,
    status=Status.NOT_SUPPORTED,
    evidence="recorded",
    held="hardware",
    source=(
        Transcript("map", "map.half"),
        Transcript("map", "map.toobig"),
        Transcript("map", "map.unaligned_size"),
    ),
)
def map_whole(size: int, memory_size: int) -> str | None:
    """Map exactly the size that was created.

    Neither a part nor more: a real driver answers 801 to both. The documents allow a part (MC829), so profile
    `strict` does. Multicast objects may be mapped in part in both profiles.

        mem_map(va, 2 << 20, 0, mem, 0)   # memory of 4 MiB: refused on hardware
        mem_map(va, 4 << 20, 0, mem, 0)   # good

    Fix: map all of it, or create smaller allocations.
    """
    if size == memory_size:
        return None
    relation = "smaller" if size < memory_size else "larger"
    return f"size {size} is {relation} than the allocation; it must be {bytes_text(memory_size)}"


@rule(
    "MC829",
    "offset + size of a mapping stays within the allocation",
    calls=_MAP,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    held="strict",
    source=Document("mem_map", "``offset`` + ``size`` must be less than the size of the memory allocation"),
    spec=("MM3",),
)
def map_within_memory(offset: int, size: int, memory_size: int) -> str | None:
    """Map no more than the allocation has; all of it is fine.

    "Less than" in the documents cannot be meant: every example maps the whole allocation. A real driver
    answers 801 here (MC828); the list of mem_map has 1 for it.

        mem_map(va, 8 << 20, 0, mem, 0)   # memory of 4 MiB: refused
        mem_map(va, 4 << 20, 0, mem, 0)   # good

    Fix: pass the size that was created.
    """
    return beyond("offset", offset, size, memory_size, "the allocation")


@rule(
    "MC830",
    "an unmap covers whole mappings",
    calls=_UNMAP,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_WHOLE, Transcript("access", "unmap.partial"), Transcript("access", "unmap.offset")),
    spec=("UM1",),
)
def unmap_whole(ptr: int, size: int, mapped_ptr: int, mapped_size: int) -> str | None:
    """Unmap a mapping from its beginning to its end.

    There is no unmapping of a part; the range must contain the mapping it touches.

        mem_unmap(va, 2 << 20)   # mapping of 4 MiB: refused
        mem_unmap(va, 4 << 20)   # good

    Fix: keep address and size of each mapping.
    """
    return splits(ptr, size, mapped_ptr, mapped_size)


@rule(
    "MC831",
    "an unmap covers nothing but mappings",
    calls=_UNMAP,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    held="strict",
    source=(
        _WHOLE,
        Note(
            "settled here",
            "a real driver was recorded to answer 0 (unmap.bigger, unmap.twice); hardware follows it",
        ),
    ),
    spec=("UM1",),
)
def unmap_mapped(ptr: int, size: int, mapped_bytes: int) -> str | None:
    """Unmap exactly what was mapped, once.

    A real driver accepts a range that reaches beyond the mapping, or one where nothing is mapped any more.
    The documents say that the range is the one that was mapped, so `strict` refuses.

        mem_unmap(va, 16 << 20)   # mapping of 4 MiB: refused in strict
        mem_unmap(va, 4 << 20)    # good

    Fix: keep address and size of each mapping.
    """
    if size == mapped_bytes:
        return None
    return f"[{ptr:#x}, {ptr + size:#x}) holds mappings of {mapped_bytes} bytes only, not of {size}"


@rule(
    "MC832",
    "an unmap covers one mapping",
    calls=_UNMAP,
    kind="undefined",
    status=Status.INVALID_VALUE,
    held="strict",
    evidence="assumed",
    source=(_WHOLE, Note("settled here", "whether one call may span several whole mappings is not said")),
    spec=("UM1",),
)
def unmap_one(ptr: int, mappings: int) -> str | None:
    """Unmap each mapping with a call of its own.

    "The entire contiguous address range that was mapped to" can be read either way when two mappings lie side
    by side. Some clients unmap them together. `strict` refuses, `hardware` accepts with a finding.

        mem_unmap(va, 8 << 20)                                   # two mappings of 4 MiB: undescribed
        mem_unmap(va, 4 << 20); mem_unmap(va + (4 << 20), 4 << 20)   # good

    Fix: one unmap per map.
    """
    return f"the range at {ptr:#x} spans {mappings} mappings" if mappings > 1 else None


@rule(
    "MC833",
    "an unmap begins in a reservation",
    calls=_UNMAP,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_WHOLE, Transcript("spans", "unmap.unreserved", recording="driver")),
)
def unmap_reserved(ptr: int, reserved: bool) -> str | None:
    """Unmap addresses of this process's reservations only.

    Memory from mem_alloc_v2 or from a pool is freed, not unmapped. Inside a reservation a second unmap of the
    same range was recorded to succeed (MC831); outside of all reservations there is nothing to succeed at.

        mem_unmap(mem_alloc_v2(size), size)   # refused
        mem_unmap(va, size)                   # good

    Fix: use mem_free_v2 for what mem_alloc_v2 returned.
    """
    return None if reserved else f"ptr {ptr:#x} is in no reservation"


@rule(
    "MC834",
    "the size of an unmap is not 0",
    calls=_UNMAP,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("spans", "unmap.size0", recording="driver"),
)
def unmap_size_positive(size: int) -> str | None:
    """Unmap at least one mapping.

        mem_unmap(va, 0)         # refused
        mem_unmap(va, 4 << 20)   # good

    0 does not mean "the mapping at this address".

    Fix: keep address and size of each mapping.
    """
    return None if size > 0 else "size is 0; it must be the size of the mapping"
