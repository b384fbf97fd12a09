"""From a launch that the rules allow to what the engine runs: ``struct ptx_launch`` (ptx/native/runtime.h)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from cumulticast.sim.streams import enqueue_launch

if TYPE_CHECKING:
    from cumulticast.sim.blocks import Block
    from cumulticast.sim.contexts import Context
    from cumulticast.sim.engine import Fault
    from cumulticast.sim.launches import Launch, Shape3
    from cumulticast.sim.process import Process
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


def enqueue(process: Process, stream: Stream, asked: Launch) -> None:
    """Launch in the order of a stream. The function was loaded.

    Raises
    ------
    Refused
        2: the host has no memory. Or the status of the fault with which the context has failed.
    """
    from cumulticast.ptx.runtime import ffi

    function, context = asked.function, stream.context
    code, table, image = function.kernel.code(), process.reach.table(context), function.module.image
    given = ffi.new("struct ptx_launch *")
    fill_head(process, context, stream, asked, given.head)
    given.code = ffi.cast("void *", code.address)
    parameters = ffi.from_buffer(asked.parameters)
    given.params, given.params_size = parameters, len(asked.parameters)
    given.frame_size, given.places, given.fair = code.frame_size, code.places, code.fair
    given.cooperative = asked.cooperative
    given.symbols = ffi.cast("uint64_t *", image.symbols.ctypes.data)
    given.rights = ffi.cast("uint8_t *", table.address)
    enqueue_launch(process, stream, given, (code, image, table), lambda fault: explained(asked, fault))


def fill_head(process: Process, context: Context, stream: Stream, asked: Launch, head: Any) -> None:
    """Write what machine code reads of a launch."""
    kernel, device = asked.function.kernel, process.devices[context.ordinal]
    head.nctaid, head.ntid, head.cluster = asked.grid, asked.block, asked.cluster
    head.ncluster = divided(asked.grid, asked.cluster)
    head.explicit_cluster = asked.cluster != NO_CLUSTER
    head.dynamic_shared = asked.dynamic
    head.shared_size = rounded(kernel.static_shared) + asked.dynamic
    head.local_static = rounded(kernel.local_size)
    head.local_size = head.local_static + rounded(context.limits.get(STACK_SIZE, DEFAULT_STACK))
    head.gridid = next(GRIDS)
    head.device, head.smcount = context.ordinal, device.attributes[MULTIPROCESSORS]
    if asked.cooperative:
        base = workspace(process, context, stream).base
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


def explained(asked: Launch, fault: Fault) -> str:
    """Say in words where a kernel failed: its name, the line of its text, the thread."""
    lines = asked.function.kernel.code().lines
    line = lines[fault.instruction] if fault.instruction < len(lines) else 0
    where = f" line {line}" if line else ""
    return f"kernel {asked.function.kernel.name}{where}, block {fault.block}, thread {fault.thread}: {fault.reason}"
