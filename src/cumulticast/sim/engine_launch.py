"""From a launch that the rules allow to what the engine runs: ``struct ptx_launch`` (ptx/native/runtime.h)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cumulticast.sim.kernel_faults import explained
from cumulticast.sim.streams import enqueue_launch

if TYPE_CHECKING:
    from cumulticast.sim.blocks import Block
    from cumulticast.sim.contexts import Context
    from cumulticast.sim.images import Code, Image
    from cumulticast.sim.launches import Launch, Shape3
    from cumulticast.sim.modules import Function
    from cumulticast.sim.multicast_reach import Table as MulticastTable
    from cumulticast.sim.process import Process
    from cumulticast.sim.reach import Table
    from cumulticast.sim.streams import Stream

STACK_SIZE = 0  # CUlimit
DEFAULT_STACK = 1024  # recorded: h200-580.159-driver.json, group limits
LOCAL_STEP = 16
MULTIPROCESSORS = 16  # CUdevice_attribute
GRIDS = itertools.count(1)
# %envreg1 and %envreg2 hold the high and the low half of the address of a cooperative grid's workspace: two words, its
# size and the barrier (cooperative_groups/details/driver_abi.h).
WORKSPACE_HIGH, WORKSPACE_LOW = 1, 2
WORKSPACE_SIZE = 8
NO_CLUSTER = (1, 1, 1)


@dataclass(frozen=True, slots=True)
class Ready:
    """What all launches of a function have in common.

    Attributes
    ----------
    struct
        ``struct ptx_launch *``; what differs is written into it before each launch, under the driver's lock.
    code, image, table, multicast
        What the struct points into.
    static_shared, local_static
        Bytes of variables, rounded up.
    uses_stack
        Whether calls take room on each thread's stack.
    """

    struct: Any
    code: Code
    image: Image
    table: Table
    multicast: MulticastTable
    static_shared: int
    local_static: int
    uses_stack: bool


def ready(process: Process, function: Function) -> Ready:
    """Answer what a function's launches have in common. It was loaded."""
    if function.ready is None:
        from cumulticast.ptx.runtime import ffi

        context, kernel, image = function.module.context, function.kernel, function.module.image
        code, table = kernel.code(), process.reach.table(context)
        made = ffi.new("struct ptx_launch *")
        made.code = ffi.cast("void *", code.address)
        made.frame_size, made.places, made.fair = code.frame_size, code.places, code.fair
        made.symbols = ffi.cast("uint64_t *", image.symbols_address)
        made.rights = ffi.cast("uint8_t *", table.address)
        multicast = process.multicast_reach.table(context)
        made.head.multicast = multicast.struct
        made.seconds = process.driver.options.kernel_limit or 0
        made.head.device = context.ordinal
        made.head.smcount = process.devices[context.ordinal].attributes[MULTIPROCESSORS]
        local = rounded(kernel.local_size)
        made.head.local_static = local
        shared, stack = rounded(kernel.static_shared), kernel.uses_stack
        function.ready = Ready(made, code, image, table, multicast, shared, local, stack)
    return function.ready


def enqueue(process: Process, stream: Stream, asked: Launch) -> None:
    """Launch in the order of a stream. The function was loaded.

    Raises
    ------
    Refused
        2: the host has no memory. Or the status of the fault with which the context has failed.
    """
    from cumulticast.ptx.runtime import ffi

    found, context = ready(process, asked.function), stream.context
    process.reach.refresh(found.table, context)
    process.multicast_reach.refresh(found.multicast, context)
    struct = found.struct
    parameters = ffi.from_buffer(asked.parameters)
    struct.params, struct.params_size = parameters, len(asked.parameters)
    struct.cooperative = asked.cooperative
    fill_head(process, stream, asked, found, struct.head)
    if process.adversary is not None:
        process.adversary.prepare(struct, asked.function)
    keepalive = found, process.adversary
    enqueue_launch(process, stream, struct, keepalive, lambda fault: explained(process, context, asked, fault))


def fill_head(process: Process, stream: Stream, asked: Launch, found: Ready, head: Any) -> None:
    """Write what machine code reads of this launch."""
    head.nctaid, head.ntid, head.cluster = asked.grid, asked.block, asked.cluster
    head.ncluster = asked.grid if asked.cluster == NO_CLUSTER else divided(asked.grid, asked.cluster)
    head.explicit_cluster = asked.cluster != NO_CLUSTER
    head.dynamic_shared = asked.dynamic
    head.shared_size = found.static_shared + asked.dynamic
    head.local_size = found.local_static
    if found.uses_stack:
        head.local_size += rounded(stream.context.limits.get(STACK_SIZE, DEFAULT_STACK))
    head.gridid = next(GRIDS)
    # 0 without one: grid.sync() of an ordinary launch ends in a trap.
    base = workspace(process, stream.context, stream).base if asked.cooperative else 0
    head.envreg[WORKSPACE_HIGH], head.envreg[WORKSPACE_LOW] = base >> 32, base & 0xFFFFFFFF


def divided(grid: Shape3, cluster: Shape3) -> Shape3:
    """Answer how many clusters a grid has."""
    return grid[0] // cluster[0], grid[1] // cluster[1], grid[2] // cluster[2]


def rounded(size: int) -> int:
    """Round a number of bytes up to what every variable is aligned to."""
    return -(-size // LOCAL_STEP) * LOCAL_STEP


def workspace(process: Process, context: Context, stream: Stream) -> Block:
    """Answer the words with which cooperative grids of a stream meet: one grid uses them at a time."""
    found = process.modules.workspaces.get(stream.serial)
    if found is None:
        found = process.modules.own(context, WORKSPACE_SIZE, WORKSPACE_SIZE.to_bytes(4, "little"))
        process.modules.workspaces[stream.serial] = found
    return found
