"""MC1101 to MC1129: launches and occupancy."""

from .book import rule
from .launch_calls import PLAIN
from .source import Document, Transcript
from .status import Status
from .text import bytes_text

_RESOURCES = Document(
    "CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "launch specifies too many threads for the kernel's register count"
)


@rule(
    "MC1101",
    "a grid has blocks",
    calls=PLAIN,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuLaunchKernel", "grid of blocks"),
        Transcript("modules", "launch.(0,1,1).(1,1,1).0", recording="driver"),
    ),
)
def grid_positive(width: int, height: int, depth: int) -> str | None:
    """Launch at least one block: no dimension of a grid is 0.

        launch_kernel(f, 0, 1, 1, …)   # refused
        launch_kernel(f, 1, 1, 1, …)   # good

    A count computed as n // block is 0 for small n.

    Fix: round up, and skip the launch where there is nothing to do.
    """
    return (
        None if width and height and depth else f"the grid ({width}, {height}, {depth}) has a dimension of 0; nearest 1"
    )


@rule(
    "MC1102",
    "a grid is no larger than the device allows",
    calls=PLAIN,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("modules", "launch.(1,65536,1).(1,1,1).0", recording="driver"),
        Transcript("modules", "launch.(2147483648,1,1).(1,1,1).0", recording="driver"),
    ),
)
def grid_limit(axis: str, blocks: int, most: int) -> str | None:
    """Put the long dimension into x: 2147483647 blocks fit there, 65535 in y and z.

        launch_kernel(f, 1, 65536, 1, …)   # refused
        launch_kernel(f, 65536, 1, 1, …)   # good

    Fix: exchange the dimensions, or let each block do more (a grid-stride loop).
    """
    return None if blocks <= most else f"grid dimension {axis} of {blocks} exceeds {most}; nearest {most}"


@rule(
    "MC1103",
    "the dimensions of a block are legal",
    calls=PLAIN,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("modules", "launch.(1,1,1).(0,1,1).0", recording="driver"),
        Transcript("modules", "launch.(1,1,1).(1025,1,1).0", recording="driver"),
        Transcript("modules", "launch.(1,1,1).(1,1,65).0", recording="driver"),
    ),
)
def block_dimension(axis: str, threads: int, most: int) -> str | None:
    """Keep every dimension of a block between 1 and the device's limit: 1024, 1024 and 64.

        launch_kernel(f, 1, 1, 1, 1, 1, 65, …)   # refused
        launch_kernel(f, 1, 1, 1, 1, 1, 64, …)   # good

    Fix: put the long dimension into x.
    """
    if 1 <= threads <= most:
        return None
    return f"block dimension {axis} of {threads} is not between 1 and {most}; nearest {most if threads else 1}"


@rule(
    "MC1104",
    "a block has no more threads than the device allows",
    calls=PLAIN,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("modules", "launch.(1,1,1).(32,33,1).0", recording="driver"),
)
def block_threads(threads: int, most: int) -> str | None:
    """Multiply the dimensions: a block has at most 1024 threads in all.

        launch_kernel(f, 1, 1, 1, 32, 33, 1, …)   # 1056: refused
        launch_kernel(f, 1, 1, 1, 32, 32, 1, …)   # 1024: good

    Fix: more and smaller blocks.
    """
    return None if threads <= most else f"a block of {threads} threads exceeds {most}; nearest {most}"


@rule(
    "MC1105",
    "a block has no more threads than the kernel was compiled for",
    calls=PLAIN,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuFuncGetAttribute", "number of threads per block, beyond which a launch of the function"),
        Transcript("launch_limits", "bounded.129", recording="kernels"),
    ),
)
def block_bound(threads: int, most: int) -> str | None:
    """Launch no more threads than __launch_bounds__ (.maxntid) promised.

        func_get_attribute(FunctionAttribute.MAX_THREADS_PER_BLOCK, f)   # 128
        launch_kernel(f, 1, 1, 1, 256, 1, 1, …)                          # refused
        launch_kernel(f, 1, 1, 1, 128, 1, 1, …)                          # good

    Fix: raise the bound in the source, or launch smaller blocks.
    """
    return (
        None
        if threads <= most
        else f"a block of {threads} threads exceeds the kernel's bound of {most}; nearest {most}"
    )


@rule(
    "MC1106",
    "a block has the size that the kernel requires",
    calls=PLAIN,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuFuncGetAttribute", "number of threads per block, beyond which a launch of the function"),
        Transcript("launch_limits", "fixed_block.32", recording="kernels"),
    ),
)
def block_required(width: int, height: int, depth: int, needed_x: int, needed_y: int, needed_z: int) -> str | None:
    """Launch exactly the block that .reqntid names: PTX ISA lets any other fail.

        launch_kernel(f, 1, 1, 1, 64, 1, 1, …)    # .reqntid 128: refused
        launch_kernel(f, 1, 1, 1, 128, 1, 1, …)   # good

    Fix: take the size from the source.
    """
    needed = (needed_x, needed_y, needed_z)
    if (width, height, depth) == needed:
        return None
    return f"the block ({width}, {height}, {depth}) is not the one the kernel requires; nearest {needed}"


@rule(
    "MC1107",
    "the registers of a block fit the device",
    calls=PLAIN,
    status=Status.LAUNCH_OUT_OF_RESOURCES,
    evidence="documented",
    source=_RESOURCES,
)
def block_registers(threads: int, registers: int, available: int, most: int) -> str | None:
    """Keep threads times registers below the block's 65536 registers.

    The number of registers is an estimate here: ptxas may need more or fewer.

        launch_kernel(f, 1, 1, 1, 1024, 1, 1, …)   # 128 registers each: refused
        launch_kernel(f, 1, 1, 1, 512, 1, 1, …)    # good

    Fix: __launch_bounds__(threads) makes the compiler keep within it.
    """
    if threads <= most:
        return None
    return f"{threads} threads of {registers} registers need more than {available}; nearest {most} threads"


@rule(
    "MC1108",
    "dynamic shared memory is within the function's limit",
    calls=PLAIN,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("modules", "launch.(1,1,1).(1,1,1).49153", recording="driver"),
        Transcript("launch_limits", "shared.48129", recording="kernels"),
    ),
)
def dynamic_shared(size: int, most: int) -> str | None:
    """Opt in before launching with more than 48 KiB of shared memory.

        launch_kernel(f, …, 65536, …)                                                # refused
        func_set_attribute(f, FunctionAttribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536)
        launch_kernel(f, …, 65536, …)                                                # good

    Fix: set the attribute, up to MAX_SHARED_MEMORY_PER_BLOCK_OPTIN less what the kernel declares.
    """
    if size <= most:
        return None
    return f"dynamic shared memory of {bytes_text(size)} bytes exceeds the limit of {bytes_text(most)}; nearest {most}"


@rule(
    "MC1127",
    "the dynamic shared memory of so many blocks is asked for only if so many fit",
    calls=("cuOccupancyAvailableDynamicSMemPerBlock",),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("occupancy", "available.33.32", recording="kernels"),
        Transcript("occupancy", "available.1.2048", recording="kernels"),
    ),
)
def blocks_fit(blocks: int, most: int) -> str | None:
    """Ask first how many blocks a multiprocessor holds without dynamic shared memory.

        occupancy_available_dynamic_smem_per_block(f, 33, 32)   # 32 fit: refused
        occupancy_available_dynamic_smem_per_block(f, 32, 32)   # good

    Fix: occupancy_max_active_blocks_per_multiprocessor(f, block_size, 0) is the most.
    """
    return None if blocks <= most else f"num_blocks {blocks} do not fit a multiprocessor; nearest {most}"
