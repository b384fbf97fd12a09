"""Contexts: primary and ordinary ones, the stack of each thread, peer access."""

from __future__ import annotations

from cumulticast.rules import Refused, Status, contexts, peer_access
from cumulticast.sim.contexts import Context, Primary
from cumulticast.sim.entry import entry
from cumulticast.sim.lookup import device_of
from cumulticast.sim.process import Process
from cumulticast.sim.streams import await_end

MAP_HOST = 0x08
REMEMBERED = 0x07 | 0x10 | 0x80  # recorded: cuCtxSetFlags accepts the coredump flags and forgets them
FLAGS_MASK = 0xFF
API_VERSION = 3020  # recorded


def context_of(process: Process, value: int) -> Context:
    """Answer the context with this handle, or refuse (201)."""
    context = process.contexts.find(value)
    process.driver.judge(contexts.context_valid, value, context is not None)
    assert context is not None
    return context


def context_or_current(process: Process, thread: int, value: int) -> Context:
    """Answer the context with this handle; for 0 the current one."""
    if value:
        return context_of(process, value)
    context = process.contexts.current(thread)
    process.driver.judge(contexts.context_current, 0 if context is None else context.value)
    assert context is not None
    return context


def end_work(process: Process, context: Context) -> None:
    """Free and destroy everything that belongs to a context that ends."""
    process.streams.end_context(context)
    process.moves.settle()
    process.modules.end_context(context)
    process.reach.end_context(context)
    process.multicast_reach.end_context(context)
    process.heap.end_context(context)
    process.contexts.forget_peer(context)
    process.reach.changed()


# ---- primary contexts


@entry("cuDevicePrimaryCtxRetain")
def device_primary_ctx_retain(process: Process, dev: int) -> int:
    """Retain a device's primary context; it becomes current nowhere."""
    primary = process.contexts.primary(device_of(process, dev).ordinal)
    primary.retained += 1
    process.contexts.activate(primary)
    return primary.context.value


@entry("cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2")
def device_primary_ctx_release(process: Process, thread: int, dev: int) -> None:
    """Release it once; the last release resets it."""
    primary = process.contexts.primary(device_of(process, dev).ordinal)
    process.driver.judge(contexts.primary_retained, dev, primary.retained)
    if primary.retained == 1:
        await_end(process, thread, primary.context)
    primary.retained -= 1
    if not primary.retained:
        reset(process, primary)


@entry("cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2")
def device_primary_ctx_reset(process: Process, thread: int, dev: int) -> None:
    """End it whoever retains it. The retains stay counted (recorded)."""
    primary = process.contexts.primary(device_of(process, dev).ordinal)
    await_end(process, thread, primary.context)
    reset(process, primary)


def reset(process: Process, primary: Primary) -> None:
    """End the work of a primary context."""
    end_work(process, primary.context)
    process.contexts.deactivate(primary)


@entry("cuDevicePrimaryCtxGetState")
def device_primary_ctx_get_state(process: Process, dev: int) -> tuple[int, int]:
    """Answer flags and whether it is active."""
    context = process.contexts.primary(device_of(process, dev).ordinal).context
    return context.flags, int(not context.destroyed)


@entry("cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2")
def device_primary_ctx_set_flags(process: Process, dev: int, flags: int) -> None:
    """Set its flags, active or not."""
    context = process.contexts.primary(device_of(process, dev).ordinal).context
    process.driver.judge(contexts.context_flags, flags, FLAGS_MASK & ~MAP_HOST)
    context.flags = flags


# ---- ordinary contexts


@entry("cuCtxCreate", "cuCtxCreate_v2")
def ctx_create(process: Process, thread: int, flags: int, dev: int) -> int:
    """Make a context and push it."""
    device = device_of(process, dev)
    process.driver.judge(contexts.context_flags, flags, FLAGS_MASK)
    context = process.contexts.create(device.ordinal, flags)
    process.contexts.stack(thread).append(context)
    return context.value


@entry("cuCtxCreate_v3")
def ctx_create_v3(process: Process, thread: int, affinities: bytes | None, count: int, flags: int, dev: int) -> int:
    """Make a context and push it; execution affinities need MPS."""
    if count:
        raise Refused(Status.UNSUPPORTED_EXEC_AFFINITY, None, f"{count} execution affinities need MPS, which is off")
    return ctx_create(process, thread, flags, dev)


@entry("cuCtxCreate_v4")
def ctx_create_v4(process: Process, thread: int, params: bytes | None, flags: int, dev: int) -> int:
    """Make a context and push it; ``params`` (execution affinities, graphics clients) must name nothing."""
    if params is not None:
        count, graphics = int.from_bytes(params[8:12], "little"), int.from_bytes(params[16:24], "little")
        if graphics:
            raise Refused(Status.NOT_SUPPORTED, None, "contexts for graphics clients (cigParams) are not simulated")
        return ctx_create_v3(process, thread, None, count, flags, dev)
    return ctx_create(process, thread, flags, dev)


@entry("cuCtxDestroy", "cuCtxDestroy_v2")
def ctx_destroy(process: Process, thread: int, ctx: int) -> None:
    """Destroy an ordinary context; pops it when it is current."""
    if not ctx:
        raise Refused(Status.INVALID_VALUE, contexts.context_valid, "ctx is null")
    context = context_of(process, ctx)
    process.driver.judge(contexts.context_valid, ctx, not context.primary)
    await_end(process, thread, context)
    end_work(process, context)
    process.contexts.destroy(context, thread)


@entry("cuCtxPushCurrent", "cuCtxPushCurrent_v2")
def ctx_push_current(process: Process, thread: int, ctx: int) -> None:
    """Push a context on the thread's stack; the same one may lie there more than once."""
    if not ctx:
        raise Refused(Status.INVALID_VALUE, contexts.context_valid, "ctx is null")
    process.contexts.stack(thread).append(context_of(process, ctx))


@entry("cuCtxPopCurrent", "cuCtxPopCurrent_v2")
def ctx_pop_current(process: Process, thread: int) -> int:
    """Take the current context off the stack."""
    stack = process.contexts.stack(thread)
    process.driver.judge(contexts.stack_not_empty, len(stack))
    return stack.pop().value


@entry("cuCtxSetCurrent")
def ctx_set_current(process: Process, thread: int, ctx: int) -> None:
    """Replace the top of the stack; 0 takes it off."""
    process.contexts.set_current(thread, context_of(process, ctx) if ctx else None)


@entry("cuCtxGetCurrent")
def ctx_get_current(process: Process, thread: int) -> int:
    """Answer the current context, or 0."""
    context = process.contexts.top(thread)
    return 0 if context is None else context.value


# ---- peer access


@entry("cuCtxEnablePeerAccess")
def ctx_enable_peer_access(process: Process, thread: int, peer: int, flags: int) -> None:
    """Let the current context touch the allocations of another device's context."""
    judge = process.driver.judge
    judge(peer_access.peer_flags, flags)
    context, other = peers(process, thread, peer)
    possible = context.ordinal != other.ordinal and process.machine.peer_access != "none"
    judge(peer_access.peer_possible, context.ordinal, other.ordinal, possible)
    judge(peer_access.peer_once, peer, peer in context.peers)
    context.peers.add(peer)
    process.reach.changed()


@entry("cuCtxDisablePeerAccess")
def ctx_disable_peer_access(process: Process, thread: int, peer: int) -> None:
    """Take the access away."""
    context, _ = peers(process, thread, peer)
    process.driver.judge(peer_access.peer_enabled, peer, peer in context.peers)
    process.moves.settle()
    context.peers.remove(peer)
    process.reach.changed()


def peers(process: Process, thread: int, peer: int) -> tuple[Context, Context]:
    """Answer the current context and the named one."""
    context, other = process.contexts.current(thread), process.contexts.find(peer)
    current = 0 if context is None else context.value
    process.driver.judge(peer_access.peer_contexts, current, peer, other is not None)
    process.driver.judge(peer_access.peer_is_other, current, peer)
    assert context is not None
    assert other is not None
    return context, other
