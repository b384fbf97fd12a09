"""MC800 to MC819: reserving and freeing address ranges."""

from .book import rule
from .source import Document, Note, Transcript
from .status import Status
from .text import bytes_text, not_multiple

_RESERVE = ("cuMemAddressReserve",)
_FREE = ("cuMemAddressFree",)
_PAGE = Document("mem_address_reserve", "The size and address parameters must be a multiple of the host page size")


@rule(
    "MC801",
    "the size of a reservation is not 0",
    calls=_RESERVE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("reserve", "reserve.s0"),
)
def reserve_size_positive(size: int) -> str | None:
    """Reserve at least one granule of addresses.

    An empty range has no address.

        mem_address_reserve(0, 0, 0, 0)         # refused
        mem_address_reserve(2 << 20, 0, 0, 0)   # good

    Fix: reserve what you will map.
    """
    return None if size > 0 else "size is 0"


@rule(
    "MC802",
    "the size of a reservation is a multiple of the host page size",
    calls=_RESERVE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(_PAGE, Transcript("reserve", "reserve.s1")),
    spec=("VA1",),
)
def reserve_size_page(size: int, page: int) -> str | None:
    """Reserve a multiple of the host page size.

    That is what the documents demand. A real driver demands 2 MiB (MC803), so use that.

        mem_address_reserve(1, 0, 0, 0)         # refused
        mem_address_reserve(2 << 20, 0, 0, 0)   # good

    Fix: round up to the allocation granularity; only then can the whole range be mapped.
    """
    return not_multiple("size", size, page, least=1)


@rule(
    "MC803",
    "on hardware the size of a reservation is a multiple of 2 MiB",
    calls=_RESERVE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    held="hardware",
    source=(Transcript("reserve", "reserve.s4096"), Transcript("reserve", "reserve.s65536")),
)
def reserve_size_granularity(size: int, granularity: int) -> str | None:
    """Reserve a multiple of 2 MiB, which real drivers demand although the documents ask only for host pages.

    Profile `hardware` follows the recording, `strict` the sentence (MC802).

        mem_address_reserve(65536, 0, 0, 0)     # refused on hardware
        mem_address_reserve(2 << 20, 0, 0, 0)   # good

    Fix: round up to mem_get_allocation_granularity(prop, MINIMUM).
    """
    return not_multiple("size", size, granularity, least=1)


@rule(
    "MC804",
    "the alignment of a reservation is a power of two or 0",
    calls=_RESERVE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_address_reserve", "alignment must be a power of two or zero for default alignment"),
        Transcript("reserve", "reserve.al3"),
    ),
    spec=("VA1",),
)
def reserve_alignment(alignment: int) -> str | None:
    """Pass 0 or a power of two as alignment.

    0 is the default (2 MiB). For large multicast objects pass the recommended granularity. Not every multiple
    of 2 MiB is a power of two.

        mem_address_reserve(size, 6 << 20, 0, 0)   # refused
        mem_address_reserve(size, 8 << 20, 0, 0)   # good

    Fix: take the next power of two.
    """
    if alignment & (alignment - 1) == 0:
        return None
    above = 1 << alignment.bit_length()
    return f"alignment {alignment} is not a power of two; nearest {above >> 1} or {above}"


@rule(
    "MC805",
    "the address hint of a reservation is a multiple of the host page size",
    calls=_RESERVE,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    held="strict",
    source=_PAGE,
    spec=("VA1",),
)
def reserve_hint_page(addr: int, page: int) -> str | None:
    """Give a multiple of the host page size as hint, or 0.

    The hint is no demand: another place may be returned (a recorded driver honoured none). That is what the
    documents ask for; a real driver wants 2 MiB (MC810).

        mem_address_reserve(size, 0, 0x7f0000000001, 0)   # refused in strict
        mem_address_reserve(size, 0, 0x7f0000000000, 0)   # good

    Fix: pass 0 unless you really need the place, and check the result.
    """
    return not_multiple("addr", addr, page, shown="#x")


@rule(
    "MC806",
    "there is address space left",
    calls=_RESERVE,
    kind="limit",
    status=Status.OUT_OF_MEMORY,
    evidence="recorded",
    source=(
        Document("CUresult.CUDA_ERROR_OUT_OF_MEMORY", "unable to allocate enough memory or other resources"),
        Transcript("reservations", "reserve.1125899906842624.0", recording="driver"),
    ),
)
def address_space_left(size: int, alignment: int) -> str | None:
    """Stay within the address space of a process (47 bits on x86-64).

    Called with a size only after the operating system has refused it; 0 means that it has not. Reservations
    cost no memory, but alignments of many GiB fragment the space, and those that are never freed add up.

        mem_address_reserve(1 << 48, 0, 0, 0)   # refused
        mem_address_reserve(1 << 40, 0, 0, 0)   # good

    Fix: free reservations, or reserve one range and map parts of it.
    """
    if size == 0:
        return None
    return f"no free address range of {bytes_text(size)} with alignment {alignment}"


@rule(
    "MC807",
    "a reservation is freed from its beginning",
    calls=_FREE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_address_free", "ptr given must match what was returned from memAddressReserve"),
        Transcript("reserve", "free.offset"),
        Transcript("reserve", "free.twice"),
        Transcript("reserve", "free.null"),
    ),
    spec=("VA5",),
)
def free_reserved(ptr: int, reserved: bool) -> str | None:
    """Free a range with the address that mem_address_reserve returned, once.

    An address inside the range is not its beginning; 0 and an address already freed are none of this process.

        mem_address_free(va + (2 << 20), size)   # refused
        mem_address_free(va, size)               # good

    Fix: keep address and size of each reservation.
    """
    return None if reserved else f"ptr {ptr:#x} is not the beginning of a reservation"


@rule(
    "MC808",
    "a reservation is freed with its size",
    calls=_FREE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_address_free", "The size must match what was given to memAddressReserve"),
        Transcript("reserve", "free.partial"),
        Transcript("reserve", "free.bigger"),
        Transcript("reservations", "free.two_at_once", recording="driver"),
    ),
    spec=("VA7",),
)
def free_exact(ptr: int, size: int, reserved_size: int) -> str | None:
    """Free a range with exactly the size it was reserved with.

    Neither a part of a reservation nor two that lie side by side can be freed by one call.

        mem_address_free(va, 2 << 20)   # reserved 8 MiB: refused
        mem_address_free(va, 8 << 20)   # good

    Fix: one free per reserve, with the same size.
    """
    if size == reserved_size:
        return None
    return f"size {size} is not the {reserved_size} reserved at {ptr:#x}"


@rule(
    "MC809",
    "a freed reservation holds no mapping",
    calls=_FREE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Note("programming guide", "the range must be unmapped before it is freed"),
        Transcript("access", "free.mapped"),
    ),
    spec=("VA6",),
)
def free_unmapped(ptr: int, mappings: int) -> str | None:
    """Unmap everything in a range before freeing it.

    Freeing does not unmap, and releasing the handles does not either: a mapping holds its memory by itself.

        mem_release(mem); mem_address_free(va, size)                   # refused
        mem_unmap(va, size); mem_release(mem); mem_address_free(va, size)   # good

    Fix: unmap, release, free, in this order.
    """
    return f"the range at {ptr:#x} still holds {mappings} mapping(s)" if mappings else None


@rule(
    "MC810",
    "on hardware the address hint of a reservation is a multiple of 2 MiB",
    calls=_RESERVE,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    held="hardware",
    source=Transcript("reservations", "hint.misaligned", recording="driver"),
)
def reserve_hint_granularity(addr: int, granularity: int) -> str | None:
    """Give a multiple of 2 MiB as hint, or 0.

    As for the size (MC803) a real driver demands more than the documents do.

        mem_address_reserve(size, 0, 0x7f0000001000, 0)   # refused on hardware
        mem_address_reserve(size, 0, 0x7f0000200000, 0)   # good

    Fix: pass 0 unless you really need the place, and check the result.
    """
    return not_multiple("addr", addr, granularity, shown="#x")
