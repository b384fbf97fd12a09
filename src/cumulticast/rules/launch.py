"""MC1101 to MC1129: launches and occupancy."""

from .book import rule
from .source import Document, Transcript
from .status import Status
from .text import bytes_text

_PLAIN = ("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel")
_EX = ("cuLaunchKernelEx",)
_CLUSTERS = ("cuLaunchKernelEx", "cuOccupancyMaxActiveClusters")
_OCCUPANCY = (
    "cuOccupancyMaxActiveBlocksPerMultiprocessor", "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
    "cuOccupancyMaxPotentialBlockSize", "cuOccupancyMaxPotentialBlockSizeWithFlags",
    "cuOccupancyAvailableDynamicSMemPerBlock",
)  # fmt: skip
_RESOURCES = Document(
    "CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "launch specifies too many threads for the kernel's register count"
)
_CLUSTER_STATUS = Document("CUresult.CUDA_ERROR_INVALID_CLUSTER_SIZE", "a kernel launch error due to cluster")


@rule(
    "MC1101",
    "a grid has blocks",
    calls=_PLAIN,
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
    calls=_PLAIN,
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
    calls=_PLAIN,
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
    calls=_PLAIN,
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
    calls=_PLAIN,
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
    calls=_PLAIN,
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
    calls=_PLAIN,
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
    calls=_PLAIN,
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
    "MC1109",
    "a kernel with parameters gets them",
    calls=_PLAIN,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Transcript("modules", "launch.no_arguments", recording="driver"),
        Transcript("launch_limits", "extra.nothing", recording="kernels"),
        Transcript("launch_limits", "extra.size.0", recording="kernels"),
        Transcript("launch_limits", "extra.no_size", recording="kernels"),
    ),
)
def parameters_given(count: int, given: bool) -> str | None:
    """Pass a pointer for each parameter in kernel_params, or one packed buffer in extra.

        launch_kernel(f, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0)       # f takes a pointer: refused
        launch_kernel(f, 1, 1, 1, 1, 1, 1, 0, 0, params, 0)  # good

    Fix: func_get_param_count tells how many there are.
    """
    return f"the kernel takes {count} parameters and none are given" if count and not given else None


@rule(
    "MC1110",
    "parameters are given in one way",
    calls=("cuLaunchKernel", "cuLaunchKernelEx"),
    status=Status.INVALID_VALUE,
    evidence="documented",
    source=(
        Document("cuLaunchKernel", "kernel parameters are specified with both `kernelParams` and `extra`"),
        Transcript("launch_limits", "both", recording="kernels"),
    ),
)
def parameters_once(pointers: bool, extra: bool) -> str | None:
    """Pass kernel_params or extra, not both.

        launch_kernel(f, …, params, extra)   # refused
        launch_kernel(f, …, params, 0)       # good

    Fix: leave extra NULL.
    """
    return "both kernel_params and extra are given" if pointers and extra else None


@rule(
    "MC1111",
    "a parameter buffer is no longer than the parameters",
    calls=("cuLaunchKernel", "cuLaunchKernelEx"),
    status=Status.LAUNCH_OUT_OF_RESOURCES,
    evidence="documented",
    source=(
        Document("CUresult.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "attempted to pass too many arguments"),
        Transcript("launch_limits", "extra.size.13", recording="kernels"),
        Transcript("launch_limits", "extra.packed", recording="kernels"),
    ),
)
def parameter_buffer(given: int, needed: int) -> str | None:
    """Pack every parameter at its own alignment, and nothing behind the last: padding of a structure counts.

        launch_kernel(f, …, extra of 16 bytes)   # f takes (u64, u32): refused
        launch_kernel(f, …, extra of 12 bytes)   # good

    func_get_param_info tells offset and size of each.

    Fix: the size is the last parameter's offset plus its size.
    """
    return None if given <= needed else f"a parameter buffer of {given} bytes is too long; nearest {needed}"


@rule(
    "MC1112",
    "extra is a list of known settings with an end",
    calls=("cuLaunchKernel", "cuLaunchKernelEx"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuLaunchKernel", "list must be terminated with either NULL or"),
        Transcript("launch_limits", "extra.unknown", recording="kernels"),
    ),
)
def extra_known(name: int, known: bool) -> str | None:
    """Write pairs of CU_LAUNCH_PARAM_BUFFER_POINTER (1) and CU_LAUNCH_PARAM_BUFFER_SIZE (2), then END (0).

        extra = [7, pointer, 0]                  # refused
        extra = [1, pointer, 2, size_pointer, 0] # good

    The size is a pointer to a size_t, not the number.

    Fix: end the list with 0.
    """
    return None if known else f"extra names {name:#x}, which is no CU_LAUNCH_PARAM_; 0, 1 and 2 are"


@rule(
    "MC1113",
    "a cooperative grid is resident as a whole",
    calls=("cuLaunchCooperativeKernel", "cuLaunchKernelEx"),
    status=Status.COOPERATIVE_LAUNCH_TOO_LARGE,
    evidence="documented",
    source=(
        Document("CUresult.CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "exceeds the maximum"),
        Transcript("modules", "launch.cooperative_wide", recording="driver"),
        Transcript("launch_attributes", "cooperative_wide", recording="kernels"),
    ),
)
def cooperative_fits(blocks: int, most: int) -> str | None:
    """Launch no more blocks than the device holds at once: all of them must meet at a grid barrier.

        launch_cooperative_kernel(f, 100000, 1, 1, 1024, 1, 1, …)   # refused
        launch_cooperative_kernel(f, 264, 1, 1, 1024, 1, 1, …)      # 132 multiprocessors, two each: good

    Fix: occupancy_max_active_blocks_per_multiprocessor times MULTIPROCESSOR_COUNT, and a grid-stride loop.
    """
    return (
        None if blocks <= most else f"a cooperative grid of {blocks} blocks exceeds the {most} that fit; nearest {most}"
    )


@rule(
    "MC1114",
    "a launch attribute is one of launches",
    calls=(*_EX, "cuOccupancyMaxActiveClusters", "cuOccupancyMaxPotentialClusterSize"),
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("cuLaunchKernelEx", "Each entry is an attribute ID and a"),
        Transcript("launch_attributes", "3.1", recording="kernels"),
        Transcript("launch_attributes", "18.1", recording="kernels"),
    ),
)
def launch_attribute_known(attribute: int, known: bool) -> str | None:
    """Pass attributes that CUlaunchAttributeID marks as valid for launches.

    SYNCHRONIZATION_POLICY (3) is of streams alone; DEVICE_UPDATABLE_KERNEL_NODE (13) is of graphs alone.

        attrs = [LaunchAttribute(id=3)]   # refused
        attrs = [LaunchAttribute(id=2)]   # cooperative: good

    Fix: stream_set_attribute for what belongs to a stream.
    """
    return None if known else f"launch attribute {attribute} is not valid for a launch outside of a capture"


@rule(
    "MC1115",
    "the value of a launch attribute is legal",
    calls=_EX,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE", "Any other value will return"),
        Transcript("launch_attributes", "5.9", recording="kernels"),
        Transcript("launch_attributes", "14.101", recording="kernels"),
        Transcript("launch_attributes", "16.2", recording="kernels"),
    ),
)
def launch_attribute_value(attribute: int, value: int, least: int, most: int) -> str | None:
    """Keep values within their enumeration: carve-out 0 to 100, modes as their enumerations list them.

        attrs = [LaunchAttribute(id=17, value=9)]   # portable cluster size mode: refused
        attrs = [LaunchAttribute(id=17, value=1)]   # good

    Fix: take the value from its enumeration.
    """
    if least <= value <= most:
        return None
    nearest = least if value < least else most
    return f"launch attribute {attribute} has value {value}, not {least} to {most}; nearest {nearest}"


@rule(
    "MC1116",
    "clusters divide the grid",
    calls=_EX,
    status=Status.INVALID_CLUSTER_SIZE,
    evidence="documented",
    source=(
        _CLUSTER_STATUS,
        Transcript("launch_limits", "cluster.3", recording="kernels"),
        Transcript("launch_attributes", "cluster.4.0", recording="kernels"),
    ),
)
def cluster_divides(axis: str, blocks: int, cluster: int) -> str | None:
    """Choose a grid whose every dimension is a multiple of the cluster's.

        launch_kernel_ex(grid 3x1x1, cluster 2x1x1)   # refused
        launch_kernel_ex(grid 4x1x1, cluster 2x1x1)   # good

    Fix: round the grid up and let the blocks beyond the data return.
    """
    if cluster and blocks % cluster == 0:
        return None
    if not cluster:
        return f"cluster dimension {axis} is 0; nearest 1"
    below = blocks - blocks % cluster
    near = f"{below} or {below + cluster}" if below else f"{cluster}"
    return f"grid dimension {axis} of {blocks} is not a multiple of the cluster's {cluster}; nearest {near}"


@rule(
    "MC1117",
    "a cluster is no larger than the kernel may have",
    calls=_CLUSTERS,
    status=Status.INVALID_CLUSTER_SIZE,
    evidence="documented",
    source=(
        _CLUSTER_STATUS,
        Document("cuFuncGetAttribute", "The portable cluster size for sm_90 is 8 blocks per cluster"),
        Transcript("launch_attributes", "cluster.9.9", recording="kernels"),
        Transcript("occupancy", "clusters.16", recording="kernels"),
    ),
)
def cluster_limit(blocks: int, most: int) -> str | None:
    """Keep a cluster within 8 blocks, or allow sizes that are not portable, up to 16.

        launch_kernel_ex(cluster 16x1x1)                                              # refused
        func_set_attribute(f, FunctionAttribute.NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1)
        launch_kernel_ex(cluster 16x1x1)                                              # good

    Fix: smaller clusters, or the attribute.
    """
    return None if blocks <= most else f"a cluster of {blocks} blocks exceeds {most}; nearest {most}"


@rule(
    "MC1118",
    "a launch has the cluster that the kernel requires",
    calls=(*_PLAIN, "cuOccupancyMaxActiveClusters"),
    status=Status.INVALID_CLUSTER_SIZE,
    evidence="documented",
    source=(
        _CLUSTER_STATUS,
        Document("cuOccupancyMaxActiveClusters", "the cluster size from config must either be"),
        Transcript("launch_attributes", "fixed.4", recording="kernels"),
    ),
)
def cluster_required(width: int, height: int, depth: int, needed_x: int, needed_y: int, needed_z: int) -> str | None:
    """Leave the cluster size out, or name the one that the source fixes (__cluster_dims__).

        launch_kernel_ex(cluster 4x1x1, f)   # f requires 2x1x1: refused
        launch_kernel_ex(no cluster, f)      # good

    Fix: take the size from the source.
    """
    needed = (needed_x, needed_y, needed_z)
    if (width, height, depth) == needed:
        return None
    return f"the cluster ({width}, {height}, {depth}) is not the one the kernel requires; nearest {needed}"


@rule(
    "MC1119",
    "the device has what a launch asks for",
    calls=("cuLaunchCooperativeKernel", "cuLaunchKernelEx"),
    status=Status.NOT_SUPPORTED,
    evidence="assumed",
    source=Document(
        "cuLaunchCooperativeKernel", "The device on which this kernel is invoked must have a non-zero value"
    ),
)
def launch_supported(what: str, attribute: str, supported: bool) -> str | None:
    """Check COOPERATIVE_LAUNCH or CLUSTER_LAUNCH before asking for it: clusters begin with sm_90.

        launch_kernel_ex(cluster 2x1x1)   # hgx-a100-8: refused
        launch_kernel_ex(cluster 2x1x1)   # hgx-h100-8: good

    Fix: another way for older devices.
    """
    return None if supported else f"the device has no {what} (attribute {attribute} is 0)"


@rule(
    "MC1120",
    "stream and function belong to one context",
    calls=_PLAIN,
    status=Status.INVALID_HANDLE,
    evidence="recorded",
    source=(
        Document("cuLaunchKernelEx", "The CUDA context associated with this stream"),
        Transcript("launch_limits", "other_context", recording="kernels"),
    ),
)
def launch_context(stream_context: int, function_context: int) -> str | None:
    """Launch a CUfunction in a stream of the context it was loaded in; a CUkernel goes with any stream.

        launch_kernel(function of device 0, …, stream of device 1)   # refused
        launch_kernel(kernel of a library, …, stream of device 1)    # good

    The null stream is the current context's.

    Fix: load the code as a library, or once in each context.
    """
    if stream_context == function_context:
        return None
    return f"the stream is of context {stream_context:#x}, the function of {function_context:#x}"


@rule(
    "MC1121",
    "an event of a launch attribute keeps no time",
    calls=_EX,
    status=Status.NOT_SUPPORTED,
    evidence="recorded",
    source=(
        Document("cuLaunchKernelEx", "The event must disable timing"),
        Transcript("launch_attributes", "event.0", recording="kernels"),
    ),
)
def launch_event_untimed(event: int, timed: bool) -> str | None:
    """Create the event with CU_EVENT_DISABLE_TIMING.

        launch_kernel_ex(PROGRAMMATIC_EVENT: event_create(0))   # refused
        launch_kernel_ex(PROGRAMMATIC_EVENT: event_create(2))   # good

    The event triggers here when the whole kernel has ended, which the documents allow.

    Fix: flag 2.
    """
    return f"event {event:#x} keeps time" if timed else None


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


@rule(
    "MC1124",
    "the number of active clusters is asked for with a cluster size",
    calls=("cuOccupancyMaxActiveClusters",),
    status=Status.INVALID_CLUSTER_SIZE,
    evidence="documented",
    held="strict",
    source=(
        _CLUSTER_STATUS,
        Document("cuOccupancyMaxActiveClusters", "Without required sizes, the cluster size must be"),
    ),
)
def cluster_named(given: bool) -> str | None:
    """Put CLUSTER_DIMENSION into the configuration, unless the kernel requires a size.

        occupancy_max_active_clusters(f, config without attributes)   # refused
        occupancy_max_active_clusters(f, config with 2x1x1)           # good

    A real driver was recorded to answer 0 clusters instead, which profile `hardware` follows.

    Fix: add the attribute.
    """
    return None if given else "neither the configuration nor the kernel names a cluster size"


@rule(
    "MC1125",
    "a parameter buffer holds all parameters",
    calls=("cuLaunchKernel", "cuLaunchKernelEx"),
    kind="undefined",
    evidence="assumed",
    source=Document("cuLaunchKernel", "burden on the application of knowing each kernel parameter's size"),
)
def parameter_buffer_whole(given: int, needed: int) -> str | None:
    """Pack all parameters: a real driver takes a shorter buffer without a word (recorded: extra.size.8).

    What the kernel reads of the rest is not documented; here it is 0.

        launch_kernel(f, …, extra of 8 bytes)    # f takes (u64, u32): a finding
        launch_kernel(f, …, extra of 12 bytes)   # good

    Fix: the size is the last parameter's offset plus its size.
    """
    return None if given >= needed else f"a parameter buffer of {given} bytes lacks the last {needed - given} bytes"


@rule(
    "MC1126",
    "a device-updatable node belongs to a graph",
    calls=_EX,
    status=Status.NOT_SUPPORTED,
    evidence="recorded",
    source=(
        Document("cuLaunchKernelEx", "launch in a non-capturing stream results in an error"),
        Transcript("launch_attributes", "13.1", recording="kernels"),
    ),
)
def launch_captured(attribute: int, needs_capture: bool) -> str | None:
    """Set DEVICE_UPDATABLE_KERNEL_NODE (13) on launches that a stream captures into a graph.

        launch_kernel_ex([LaunchAttribute(id=13, value=1)])    # not capturing: refused
        launch_kernel_ex([LaunchAttribute(id=2, value=1)])     # cooperative: good

    Fix: leave the attribute out, or capture.
    """
    return f"launch attribute {attribute} is for streams that capture" if needs_capture else None


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
