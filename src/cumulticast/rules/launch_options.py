"""Attributes of a launch, clusters and cooperative grids."""

from .book import rule
from .launch_calls import PLAIN
from .source import Document, Transcript
from .status import Status

_EX = ("cuLaunchKernelEx",)
_CLUSTERS = ("cuLaunchKernelEx", "cuOccupancyMaxActiveClusters")
_CLUSTER_STATUS = Document("CUresult.CUDA_ERROR_INVALID_CLUSTER_SIZE", "a kernel launch error due to cluster")


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
    calls=(*PLAIN, "cuOccupancyMaxActiveClusters"),
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
    calls=PLAIN,
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
