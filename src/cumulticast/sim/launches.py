"""A launch: its shape held to the rules, and what the engine is handed.

Recorded of a real driver (h200-580.159-kernels.json, launch_limits/order.*): parameters are looked at before the
block, the block before the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cumulticast.rules import launch, launch_options
from cumulticast.sim import functions, occupancy
from cumulticast.sim.functions import Subject

if TYPE_CHECKING:
    from cumulticast.sim.modules import Function
    from cumulticast.sim.process import Process

Shape3 = tuple[int, int, int]
AXES = "XYZ"
# CUdevice_attribute
BLOCK_DIMENSIONS, GRID_DIMENSIONS = (2, 3, 4), (5, 6, 7)
COOPERATIVE_LAUNCH, CLUSTER_LAUNCH = 95, 120
NO_CLUSTER: Shape3 = (1, 1, 1)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a launch asks for besides its parameters.

    Attributes
    ----------
    grid, block
        Blocks of the grid, threads of a block.
    dynamic
        Bytes of dynamic shared memory of a block.
    cluster
        Blocks of a cluster, where the launch names them.
    cooperative
        Whether all blocks are resident at once.
    wide_clusters
        Whether this launch allows clusters that are not portable; None: as the function says.
    """

    grid: Shape3
    block: Shape3
    dynamic: int
    cluster: Shape3 | None = None
    cooperative: bool = False
    wide_clusters: bool | None = None

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return volume(self.block)


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch that the rules allow, as the engine runs it.

    Attributes
    ----------
    cluster
        Blocks of a cluster; (1, 1, 1) without any.
    parameters
        Their bytes.
    """

    function: Function
    grid: Shape3
    block: Shape3
    cluster: Shape3
    dynamic: int
    parameters: bytes
    cooperative: bool


def volume(shape: Shape3) -> int:
    """Multiply the three dimensions."""
    return shape[0] * shape[1] * shape[2]


def check(process: Process, function: Function, shape: Shape) -> Shape3:
    """Hold a shape to the rules, and answer its clusters. What was found legal once need not be looked at again.

    Raises
    ------
    Refused
        1, 701, 720, 801 or 912.
    """
    cluster = function.proven.get(shape)
    if cluster is None:
        subject = functions.subject(function, process.devices[function.module.context.ordinal])
        cluster = shape.cluster or subject.cluster or NO_CLUSTER
        check_block(process, subject, shape)
        check_grid(process, subject, shape)
        check_memory(process, subject, shape)
        check_cluster(process, subject, shape, cluster)
        check_cooperative(process, subject, shape)
        function.proven[shape] = cluster
    return cluster


def check_grid(process: Process, subject: Subject, shape: Shape) -> None:
    """Refuse (1) a grid that is empty or too large."""
    process.driver.judge(launch.grid_positive, *shape.grid)
    for axis, blocks, attribute in zip(AXES, shape.grid, GRID_DIMENSIONS, strict=True):
        process.driver.judge(launch.grid_limit, axis, blocks, subject.device.attributes[attribute])


def check_block(process: Process, subject: Subject, shape: Shape) -> None:
    """Refuse (1) a block that is empty, too large for the device, or not what the kernel was compiled for."""
    judge, attributes, kernel, threads = process.driver.judge, subject.device.attributes, subject.kernel, shape.threads
    for axis, size, attribute in zip(AXES, shape.block, BLOCK_DIMENSIONS, strict=True):
        judge(launch.block_dimension, axis, size, attributes[attribute])
    judge(launch.block_threads, threads, attributes[functions.THREADS_PER_BLOCK])
    if kernel.required_block is not None:
        judge(launch.block_required, *shape.block, *kernel.required_block)
    elif kernel.max_threads:
        judge(launch.block_bound, threads, kernel.max_threads)


def check_memory(process: Process, subject: Subject, shape: Shape) -> None:
    """Refuse a block for whose registers (701) or shared memory (1) there is no room."""
    available, registers = subject.device.attributes[functions.REGISTERS_PER_BLOCK], subject.kernel.registers
    process.driver.judge(launch.block_registers, shape.threads, registers, available, subject.registers_allow)
    process.driver.judge(launch.dynamic_shared, shape.dynamic, subject.dynamic_limit)


def check_cluster(process: Process, subject: Subject, shape: Shape, cluster: Shape3) -> None:
    """Refuse clusters that the device lacks (801), or that do not fit grid and kernel (912)."""
    judge, needed = process.driver.judge, subject.cluster
    if needed is not None and shape.cluster is not None:
        judge(launch_options.cluster_required, *shape.cluster, *needed)
    if cluster == NO_CLUSTER:
        return
    judge(
        launch_options.launch_supported,
        "clusters",
        "CLUSTER_LAUNCH",
        bool(subject.device.attributes.get(CLUSTER_LAUNCH)),
    )
    for axis, blocks, size in zip(AXES, shape.grid, cluster, strict=True):
        judge(launch_options.cluster_divides, axis, blocks, size)
    wide = shape.wide_clusters
    if wide is None:
        wide = bool(subject.settings.get(functions.NON_PORTABLE_CLUSTER))
    judge(launch_options.cluster_limit, volume(cluster), occupancy.largest_cluster(subject.device, portable=not wide))


def check_cooperative(process: Process, subject: Subject, shape: Shape) -> None:
    """Refuse a cooperative grid that is not resident as a whole (720)."""
    if shape.cooperative:
        has = bool(subject.device.attributes.get(COOPERATIVE_LAUNCH))
        process.driver.judge(launch_options.launch_supported, "cooperative launch", "COOPERATIVE_LAUNCH", has)
        most = occupancy.resident(subject, shape.threads, shape.dynamic)
        process.driver.judge(launch_options.cooperative_fits, volume(shape.grid), most)
