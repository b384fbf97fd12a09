"""Questions for occupancy."""

from .book import rule
from .source import Document, Transcript
from .status import Status

_OCCUPANCY = (
    "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cuOccupancyMaxPotentialBlockSize", "cuOccupancyMaxPotentialBlockSizeWithFlags",
    "cuOccupancyAvailableDynamicSMemPerBlock",
)  # fmt: skip


@rule(
    "MC1122",
    "occupancy is asked for a block of some size",
    calls=_OCCUPANCY,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor", "Block size the kernel is intended to be launched with"
        ),
        Transcript("occupancy", "blocks.0.0", recording="kernels"),
        Transcript("occupancy", "available.0.128", recording="kernels"),
    ),
)
def occupancy_number(name: str, value: int, least: int) -> str | None:
    """Ask with a positive block size and number of blocks; a limit of 0 means the device's own.

        occupancy_max_active_blocks_per_multiprocessor(f, 0, 0)     # refused
        occupancy_max_active_blocks_per_multiprocessor(f, 128, 0)   # good

    A block that is too large for the kernel is answered with 0 blocks, not with an error.

    Fix: pass the block size of the launch.
    """
    return None if value >= least else f"{name} {value} is less than {least}; nearest {least}"


@rule(
    "MC1123",
    "the flags of an occupancy query are known",
    calls=_OCCUPANCY[1:4:2],
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "The valid flags are"),
        Transcript("occupancy", "flags.2", recording="kernels"),
    ),
)
def occupancy_flags(flags: int) -> str | None:
    """Pass 0 (CU_OCCUPANCY_DEFAULT) or 1 (CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE).

        occupancy_max_active_blocks_per_multiprocessor_with_flags(f, 128, 0, 2)   # refused
        occupancy_max_active_blocks_per_multiprocessor_with_flags(f, 128, 0, 0)   # good

    On devices of today both answer the same.

    Fix: pass 0.
    """
    return None if flags in (0, 1) else f"flags {flags:#x} has bits beyond 0x1"
