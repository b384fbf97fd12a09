"""Launches of kernels: plain, with a configuration, cooperative."""

from __future__ import annotations

from cumulticast.rules import Refused, launch_options, module_functions
from cumulticast.sim import captures, engine_launch, launch_attributes, launches, loading, parameters
from cumulticast.sim.calls.event import event_of
from cumulticast.sim.calls.kernel import function_in
from cumulticast.sim.calls.stream import stream_of
from cumulticast.sim.contexts import Context
from cumulticast.sim.entry import entry
from cumulticast.sim.graph_params import kern_of
from cumulticast.sim.graph_work import KernelWork, RecordWork
from cumulticast.sim.launches import Launch, Shape
from cumulticast.sim.modules import Function
from cumulticast.sim.process import Process
from cumulticast.sim.streams import Event, Stream, record


def launched(process: Process, value: int, context: Context) -> Function:
    """Answer the function behind a CUfunction or a CUkernel, loaded; called without the driver's lock."""
    function = process.modules.find_function(value)
    if function is None:
        with process.driver.lock:
            kernel = process.libraries.find_kernel(value)
            process.driver.judge(module_functions.function_valid, value, kernel is not None)
        assert kernel is not None
        return function_in(process, kernel, context)
    loading.load_function(process, function)
    return function


@entry("cuLaunchKernel", locked=False)
def launch_kernel(
    process: Process,
    thread: int,
    call: str,
    f: int,
    grid_x: int,
    grid_y: int,
    grid_z: int,
    block_x: int,
    block_y: int,
    block_z: int,
    shared: int,
    stream: int,
    kernel_params: int,
    extra: int,
) -> None:
    """Launch a kernel in stream order."""
    shape = Shape((grid_x, grid_y, grid_z), (block_x, block_y, block_z), shared)
    start(process, thread, call, f, shape, stream, (kernel_params, extra))


@entry("cuLaunchCooperativeKernel", locked=False)
def launch_cooperative_kernel(
    process: Process,
    thread: int,
    call: str,
    f: int,
    grid_x: int,
    grid_y: int,
    grid_z: int,
    block_x: int,
    block_y: int,
    block_z: int,
    shared: int,
    stream: int,
    kernel_params: int,
) -> None:
    """Launch a kernel whose blocks are all resident at once."""
    shape = Shape((grid_x, grid_y, grid_z), (block_x, block_y, block_z), shared, cooperative=True)
    start(process, thread, call, f, shape, stream, (kernel_params, 0))


@entry("cuLaunchKernelEx", locked=False)
def launch_kernel_ex(
    process: Process, thread: int, call: str, config: bytes, f: int, kernel_params: int, extra: int
) -> None:
    """Launch a kernel with attributes."""
    shape, stream, events = launch_attributes.read(process, config)
    with process.driver.lock:
        found = tuple(untimed(process, event) for event in events)
    start(process, thread, call, f, shape, stream, (kernel_params, extra), found)


def untimed(process: Process, value: int) -> Event:
    """Answer an event that keeps no time, or refuse (1)."""
    event = event_of(process, value)
    process.driver.judge(launch_options.launch_event_untimed, value, event.timed)
    return event


def start(
    process: Process,
    thread: int,
    call: str,
    f: int,
    shape: Shape,
    stream: int,
    given: tuple[int, int],
    events: tuple[Event, ...] = (),
) -> None:
    """Check a launch and hand it over; the events of its attributes are recorded when it has ended, as is allowed."""
    with process.driver.lock:
        where = stream_of(process, thread, stream, call)
    function = launched(process, f, where.context)
    with process.driver.lock:
        try:
            asked = checked(process, where, function, shape, given)
        except Refused:
            captures.spoil(where)
            raise
        if where.capture is not None:
            for work in (KernelWork(asked, shape, kern_of(process, f)), *map(RecordWork, events)):
                captures.add(process, where, work)
            return
        engine_launch.enqueue(process, where, asked)
        for event in events:
            record(process, where, event)


def checked(process: Process, where: Stream, function: Function, shape: Shape, given: tuple[int, int]) -> Launch:
    """Hold a launch to the rules and gather its parameters."""
    if where.context is not function.module.context:
        process.driver.judge(launch_options.launch_context, where.context.value, function.module.context.value)
    cluster = launches.check(process, function, shape)
    data = parameters.gather(process, function, *given)
    return Launch(function, shape.grid, shape.block, cluster, shape.dynamic, data, shape.cooperative)
