"""Contexts: each device's primary one, ordinary ones, and every thread's stack of current ones."""

from __future__ import annotations

from dataclasses import dataclass, field

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
        What cuCtxGetId answers: unique for the life of the process.
    ordinal
        The device it belongs to.
    primary
        Whether it is the device's primary context.
    flags
        CUctx_flags.
    peers
        Ordinals of the devices whose memory it may touch (cuCtxEnablePeerAccess).
    limits
        Values set with cuCtxSetLimit.
    destroyed
        It must not be used any more, though a thread may still have it on its stack.
    """

    value: int
    serial: int
    ordinal: int
    primary: bool
    flags: int = 0
    cache_config: int = 0
    peers: set[int] = field(default_factory=set[int])
    limits: dict[int, int] = field(default_factory=dict[int, int])
    destroyed: bool = False


@dataclass(slots=True)
class Primary:
    """The primary context of one device: made when first retained, gone when last released."""

    context: Context
    retained: int = 0
    flags: int = 0


class Contexts:
    """All contexts of a process."""

    def __init__(self) -> None:
        self._known: dict[int, Context] = {}
        self._stacks: dict[int, list[Context]] = {}
        self._primaries: dict[int, Primary] = {}
        self._made = 0

    def find(self, value: int) -> Context | None:
        """Answer a context that is alive."""
        context = self._known.get(value)
        return None if context is None or context.destroyed else context

    def create(self, ordinal: int, flags: int, *, primary: bool = False) -> Context:
        """Make a context; it is current nowhere yet."""
        self._made += 1
        context = Context(FIRST + STEP * self._made, self._made, ordinal, primary, flags)
        self._known[context.value] = context
        return context

    def primary(self, ordinal: int) -> Primary:
        """Answer a device's primary context, active or not."""
        if ordinal not in self._primaries:
            self._primaries[ordinal] = Primary(self.create(ordinal, 0, primary=True))
        return self._primaries[ordinal]

    def destroy(self, context: Context, thread: int) -> None:
        """End an ordinary context; it leaves the calling thread's stack when it is on top."""
        context.destroyed = True
        del self._known[context.value]
        stack = self.stack(thread)
        if stack and stack[-1] is context:
            stack.pop()

    def stack(self, thread: int) -> list[Context]:
        """Answer the stack of a thread, current context last."""
        return self._stacks.setdefault(thread, [])

    def current(self, thread: int) -> Context | None:
        """Answer the context current to a thread."""
        stack = self._stacks.get(thread)
        return stack[-1] if stack else None

    def set_current(self, thread: int, context: Context | None) -> None:
        """Replace the top of a thread's stack, or take it off."""
        stack = self.stack(thread)
        if stack:
            stack.pop()
        if context is not None:
            stack.append(context)
