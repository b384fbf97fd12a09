"""Contexts: each device's primary one, ordinary ones, and every thread's stack of current ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cumulticast.rules import Refused, Status, contexts

if TYPE_CHECKING:
    from cumulticast.sim.engine import Queues

FIRST = 0x6374_0000_0000
STEP = 0x1000


@dataclass(slots=True, eq=False)
class Context:
    """A CUcontext.

    Attributes
    ----------
    value
        The handle.
    serial
        What cuCtxGetId answers, unique in the process; 0 before a primary context is first active.
    ordinal
        The device it belongs to.
    primary
        Whether it is the device's primary context.
    flags
        CUctx_flags.
    cache_config, shared_config
        CUfunc_cache and CUsharedconfig; preferences that nothing here depends on.
    peers
        Handles of the contexts whose memory it may touch (cuCtxEnablePeerAccess).
    limits
        Values set with cuCtxSetLimit.
    destroyed
        It cannot be used: destroyed, or a primary context that nobody retains. Stacks may still hold it.
    queues
        Its work that has to wait; None before there was any.
    """

    value: int
    serial: int
    ordinal: int
    primary: bool
    flags: int = 0
    cache_config: int = 0
    shared_config: int = 1
    peers: set[int] = field(default_factory=set[int])
    limits: dict[int, int] = field(default_factory=dict[int, int])
    destroyed: bool = False
    queues: Queues | None = None

    @property
    def busy(self) -> bool:
        """Whether any of its work is not done."""
        return self.queues is not None and self.queues.busy

    def check(self) -> None:
        """Refuse, with the fault's status, if a kernel has failed in it."""
        if self.queues is not None:
            self.queues.check()


@dataclass(slots=True)
class Primary:
    """The primary context of one device: active from the first retain until the last release or a reset."""

    context: Context
    retained: int = 0


class Contexts:
    """All contexts of a process."""

    def __init__(self) -> None:
        self._known: dict[int, Context] = {}
        self._stacks: dict[int, list[Context]] = {}
        self._primaries: dict[int, Primary] = {}
        self._values = 0
        self._made = 0

    def find(self, value: int) -> Context | None:
        """Answer a context that is alive."""
        context = self._known.get(value)
        return None if context is None or context.destroyed else context

    def created(self) -> list[Context]:
        """Answer the ordinary contexts that live: what a caller has yet to destroy."""
        return [c for c in self._known.values() if not c.primary and not c.destroyed]

    def create(self, ordinal: int, flags: int) -> Context:
        """Make an ordinary context; it is current nowhere yet."""
        context = self._new(ordinal, primary=False)
        context.flags, context.serial = flags, self._next_serial()
        return context

    def _new(self, ordinal: int, *, primary: bool) -> Context:
        self._values += 1
        context = Context(FIRST + STEP * self._values, 0, ordinal, primary, destroyed=primary)
        self._known[context.value] = context
        return context

    def _next_serial(self) -> int:
        self._made += 1
        return self._made

    def primary(self, ordinal: int) -> Primary:
        """Answer a device's primary context, active or not."""
        if ordinal not in self._primaries:
            self._primaries[ordinal] = Primary(self._new(ordinal, primary=True))
        return self._primaries[ordinal]

    def activate(self, primary: Primary) -> None:
        """Make a primary context usable; it keeps its handle and its number."""
        context = primary.context
        context.destroyed = False
        context.serial = context.serial or self._next_serial()

    def deactivate(self, primary: Primary) -> None:
        """End a primary context's work and settings; threads may still have it on their stacks."""
        context = primary.context
        context.destroyed = True
        context.flags, context.cache_config, context.shared_config = 0, 0, 1
        context.peers.clear()
        context.limits.clear()

    def destroy(self, context: Context, thread: int) -> None:
        """End an ordinary context; it leaves the calling thread's stack when it is on top."""
        context.destroyed = True
        del self._known[context.value]
        stack = self.stack(thread)
        if stack and stack[-1] is context:
            stack.pop()

    def forget_peer(self, peer: Context) -> None:
        """Take away the access that other contexts were given to one that ends."""
        for context in self._known.values():
            context.peers.discard(peer.value)

    def stack(self, thread: int) -> list[Context]:
        """Answer the stack of a thread, current context last."""
        return self._stacks.setdefault(thread, [])

    def top(self, thread: int) -> Context | None:
        """Answer the context on top of a thread's stack, usable or not."""
        stack = self._stacks.get(thread)
        return stack[-1] if stack else None

    def current(self, thread: int) -> Context | None:
        """Answer the context current to a thread.

        Raises
        ------
        Refused
            709: it has been destroyed since. Or the status of the fault with which it has failed.
        """
        context = self.top(thread)
        if context is not None and context.destroyed:
            reason = contexts.context_alive.check(context.value, True)
            assert reason is not None
            raise Refused(Status.CONTEXT_IS_DESTROYED, contexts.context_alive, reason)
        if context is not None:
            context.check()
        return context

    def set_current(self, thread: int, context: Context | None) -> None:
        """Replace the top of a thread's stack, or take it off."""
        stack = self.stack(thread)
        if stack:
            stack.pop()
        if context is not None:
            stack.append(context)
