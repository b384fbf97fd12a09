"""MC950 to MC969: copies and memsets (for multicast addresses see MC531)."""

from .book import rule
from .groups import PLANE_COPIES, PLANE_MEMSETS, TRANSFERS, WIDE_MEMSETS
from .source import Document, Note, Transcript
from .status import Status
from .text import not_multiple


@rule(
    "MC951",
    "a copied or set address is allocated or mapped",
    calls=TRANSFERS,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(Transcript("memcpybad", "memcpyHtoD.bad"), Transcript("memcpybad", "memset.bad")),
)
def transfer_known(ptr: int, known: bool) -> str | None:
    """Copy and set only device memory that exists.

    The refusal leaves the context usable: nothing was started. A reserved address without a mapping is not
    memory.

        memcpy_htod_v2(0x1234, data, 16)   # refused
        memcpy_htod_v2(va, data, 16)       # good

    Fix: check that the mapping still exists.
    """
    return None if known else f"{ptr:#x} is no device memory of this process"


@rule(
    "MC952",
    "the device of a copy has access to the memory",
    calls=TRANSFERS,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_map", "does not make the address accessible"),
        Transcript("map", "memset.noaccess"),
        Transcript("readonly", "memset", recording="driver"),
        Transcript("across", "ungranted.DtoH", recording="driver"),
    ),
)
def transfer_access(ptr: int, dev: int, granted: int, wanted: int) -> str | None:
    """Set access before copying: reading needs READ, writing READWRITE.

    The current context's device does the copy, so its access counts. Unlike a kernel's fault (MC849) this
    is a plain refusal.

        mem_map(va, size, 0, mem, 0); memset_d8_v2(va, 0, size)                                      # refused
        mem_map(va, size, 0, mem, 0); mem_set_access(va, size, desc, 1); memset_d8_v2(va, 0, size)   # good

    Fix: mem_set_access after each mem_map.
    """
    if granted & wanted == wanted:
        return None
    return f"device {dev} has access {granted} to {ptr:#x}, needs {wanted} (0 none, 1 read, 3 read and write)"


@rule(
    "MC953",
    "a copy stays within allocated or mapped memory",
    calls=TRANSFERS,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Note("settled here", "as a real driver answers for an address that is not allocated at all"),
        Transcript("copies", "past.memset", recording="driver"),
        Transcript("copies", "past.HtoD", recording="driver"),
    ),
)
def transfer_within(ptr: int, size: int, end: int) -> str | None:
    """End a copy or memset where the memory ends.

    Mappings side by side count as one range; `end` is the first address that is not mapped. Counts are
    bytes in copies, but elements in memset_d16 and memset_d32.

        memset_d32_v2(va, 0, size)        # size bytes are size // 4 elements: refused
        memset_d32_v2(va, 0, size // 4)   # good

    Fix: check the unit of the count.
    """
    if ptr + size <= end:
        return None
    return f"[{ptr:#x}, {ptr + size:#x}) is beyond the end of the memory at {end:#x}"


@rule(
    "MC954",
    "the address of a memset is aligned to its element",
    calls=WIDE_MEMSETS,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("memset_d32_v2", "pointer must be four byte aligned"),
        Document("memset_d16_v2", "pointer must be two byte aligned"),
        Transcript("memsets", "D16.1", recording="driver"),
        Transcript("memsets", "D32.2", recording="driver"),
    ),
)
def memset_aligned(ptr: int, element: int) -> str | None:
    """Align the address of memset_d16 to 2 bytes, of memset_d32 to 4.

        memset_d32_v2(va + 2, 0, n)   # refused
        memset_d32_v2(va + 4, 0, n)   # good

    A real driver checks this before it looks the address up, but a count of 0 is always accepted.

    Fix: use memset_d8 for odd addresses.
    """
    return not_multiple("dst_device", ptr, element, shown="#x")


@rule(
    "MC955",
    "a row is not wider than the pitch",
    calls=PLANE_COPIES,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("memcpy_2d_v2", "must be greater than or equal to ``WidthInBytes`` + ``srcXInBytes``"),
        Transcript("planes", "cuMemcpy2D.src_pitch_short", recording="driver"),
        Transcript("planes", "cuMemcpy2D.offset_past_pitch", recording="driver"),
    ),
)
def pitch_covers_row(name: str, pitch: int, x: int, width: int) -> str | None:
    """Make a pitch at least x + width bytes; 0 means that the rows lie close together.

    The pitch is the distance from row to row.

        copy.src_pitch = 64; copy.width_in_bytes = 100    # rows would overlap: refused
        copy.src_pitch = 128; copy.width_in_bytes = 100   # good

    Fix: take the pitch from the allocation (cuMemAllocPitch).
    """
    if pitch == 0 or x + width <= pitch:
        return None
    return f"{name} {pitch} is less than x {x} + width {width} = {x + width}"


@rule(
    "MC956",
    "the rows of a 2D memset are not wider than its pitch",
    calls=PLANE_MEMSETS,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("planes", "memset2.D8.pitch_short", recording="driver"),
        Transcript("planes", "memset2.D8.pitch0", recording="driver"),
    ),
)
def memset_pitch(pitch: int, width: int, height: int) -> str | None:
    """Make the pitch of a 2D memset at least the width in bytes; 0 is not "close together" here.

    With a single row the pitch does not matter. (Copies do take a pitch of 0 as the width: MC955.)

        memset_d2d8_v2(va, 0, 0, 64, 4)    # refused
        memset_d2d8_v2(va, 64, 0, 64, 4)   # good

    Fix: pass the pitch of the allocation.
    """
    if pitch >= width or height <= 1 or width == 0:
        return None
    return f"pitch {pitch} is less than the width of {width} bytes"


@rule(
    "MC957",
    "the pitch of a 2D memset is aligned to its element",
    calls=tuple(name for name in PLANE_MEMSETS if "D2D8" not in name),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("planes", "memset2.D16.pitch_odd", recording="driver"),
        Transcript("planes", "memset2.D32.pitch_odd", recording="driver"),
    ),
)
def memset_pitch_aligned(pitch: int, element: int) -> str | None:
    """Make the pitch of memset_d2d16 a multiple of 2, of memset_d2d32 a multiple of 4.

    Otherwise every other row would begin off its alignment (MC954).

        memset_d2d32_v2(va, 66, 0, 4, 4)   # refused
        memset_d2d32_v2(va, 68, 0, 4, 4)   # good

    Fix: round the pitch up.
    """
    return not_multiple("dst_pitch", pitch, element)
