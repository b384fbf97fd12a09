"""MC450 to MC459: the two granularity queries."""

from .book import rule
from .source import Document, Transcript
from .status import Status

_NAMES = {0: "MINIMUM", 1: "RECOMMENDED"}


@rule(
    "MC451",
    "the option of a granularity query is MINIMUM (0) or RECOMMENDED (1)",
    calls=("cuMulticastGetGranularity", "cuMemGetAllocationGranularity"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("multicast_get_granularity", "Calculates either the minimal or recommended granularity"),
        Document("CUresult.CUDA_ERROR_INVALID_VALUE", "not within an acceptable range of values"),
        Transcript("reservations", "granularity.option2", recording="driver"),
    ),
    spec=("MG1", "GR1"),
)
def granularity_option(option: int) -> str | None:
    """Ask for MINIMUM (0) or RECOMMENDED (1).

    `_v2` hands any integer to the driver unchecked. MINIMUM is what sizes and offsets must be multiples of;
    RECOMMENDED is a multiple of it that may be faster and, for large objects, costs up to 512 MiB of
    rounding.

        multicast_get_granularity(prop, 2)                                  # refused
        multicast_get_granularity(prop, MulticastGranularityFlags.MINIMUM)  # good

    Fix: pass a member of MulticastGranularityFlags (for memory: MemAllocationGranularityFlags).
    """
    return None if option in _NAMES else f"option {option} is neither 0 (MINIMUM) nor 1 (RECOMMENDED)"
