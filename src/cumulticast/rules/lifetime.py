"""MC860 to MC879: release, retain, and what outlives what."""

from .book import rule
from .source import Document, Note, Transcript
from .status import Status

_RELEASE = ("cuMemRelease",)
_RETAIN = ("cuMemRetainAllocationHandle",)


@rule(
    "MC861",
    "a released handle is valid",
    calls=_RELEASE,
    kind="undefined",
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_release", "handle the behavior is undefined"),
        Transcript("release", "release.twice"),
        Transcript("release0", "release.0"),
    ),
    spec=("RL1",),
)
def release_valid(handle: int, known: bool) -> str | None:
    """Release each reference once: one release per create, import and retain.

    Anything else is undefined. A real driver answered 1 to a second release and to 0, and crashed on an
    invented number; the simulator always answers 1.

        mem_release(mem); mem_release(mem)   # the second: undefined
        mem_release(mem)                     # good

    Fix: set the handle to None after its release.
    """
    return None if known else f"handle {handle:#x} is not valid, or was released already"


@rule(
    "MC862",
    "a handle is retained from a mapped address",
    calls=_RETAIN,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=(
        Document("mem_retain_allocation_handle", "the address requested is not mapped, the function will fail"),
        Transcript("access", "retain.unmapped"),
    ),
    spec=("RT1",),
)
def retain_mapped(addr: int, mapped: bool) -> str | None:
    """Retain a handle from an address inside a mapping; any address inside will do.

    It works after every handle has been released, and for multicast addresses, too. Each success is one more
    reference, which needs one mem_release.

        mem_unmap(va, size); mem_retain_allocation_handle(va)   # refused
        mem_retain_allocation_handle(va + 100)                  # good while mapped

    Fix: retain before unmapping.
    """
    return None if mapped else f"addr {addr:#x} is not mapped"


@rule(
    "MC863",
    "a handle is retained from memory that has one",
    calls=_RETAIN,
    status=Status.INVALID_VALUE,
    evidence="recorded",
    source=Transcript("access", "retain.cuMemAlloc"),
)
def retain_reserved(addr: int, origin: str) -> str | None:
    """Retain handles only of memory that was mapped with mem_map.

    Memory from mem_alloc_v2, from a pool, or of the host has no allocation handle. Clients use this as the
    test whether a buffer can be exported or bound.

        mem_retain_allocation_handle(mem_alloc_v2(size))   # refused
        mem_retain_allocation_handle(va)                   # good

    Fix: allocate with mem_create, reserve and map.
    """
    return None if origin == "cuMemCreate" else f"addr {addr:#x} is {origin}, which has no allocation handle"


@rule(
    "MC864",
    "every reference to a handle is released",
    calls=_RELEASE,
    kind="advice",
    evidence="documented",
    source=(
        Document("mem_release", "time a recipient process imports a shareable handle, it needs to pair it with"),
        Document("mem_retain_allocation_handle", "released with corresponding number of calls to ``cuMemRelease``"),
    ),
    spec=("IM4", "RT2"),
)
def references_released(handle: int, references: int, made_by: str) -> str | None:
    """Pair each create, import and retain with one mem_release before the process ends.

    Looked at when the machine is reset or the process ends. A missing release keeps the memory allocated, in
    the exporter's process, too. A known case: retain, then release once (cuda.core 1.2.2's virtual memory
    resource), where two are needed.

        mem = mem_create(…); mem_retain_allocation_handle(va); mem_release(mem)   # one is left
        … mem_release(mem); mem_release(mem)                                      # good

    Fix: release what you retained.
    """
    if references == 0:
        return None
    return f"handle {handle:#x} from {made_by} still has {references} reference(s)"


@rule(
    "MC865",
    "bound memory lives until it is unbound",
    calls=("cuMemRelease", "cuMemUnmap"),
    kind="undefined",
    evidence="assumed",
    source=(
        Note("kernel driver", "a bind does not hold the memory: it is detached when the memory dies"),
        Note("public report", "on B200 an unbind fails after the buffers are gone"),
    ),
    spec=("RL5",),
)
def memory_outlives_binds(handle: int, binds: int) -> str | None:
    """Unbind before the last handle and mapping of the bound memory go.

    No document says whether a bind keeps memory alive; in the kernel driver it does not. Until every device
    has unbound, a store through the multicast address may still be on its way to that memory.

        mem_unmap(va, size); mem_release(mem); multicast_unbind(mc, dev, 0, size)   # a finding
        multicast_unbind(mc, dev, 0, size); mem_unmap(va, size); mem_release(mem)   # good

    Fix: tear down in the opposite order of building up.
    """
    return f"memory {handle:#x} is gone while {binds} bind(s) refer to it; unbind first" if binds else None


@rule(
    "MC866",
    "a multicast object is unbound before it is released",
    calls=("cuMemRelease", "cuMemUnmap"),
    kind="undefined",
    evidence="assumed",
    source=(
        Note("settled here", "no document says what the last release does to binds; the object stays until they go"),
        Note("public report", "several clients release without unbinding"),
    ),
    spec=("RL4",),
)
def object_outlives_binds(handle: int, binds: int) -> str | None:
    """Unbind this process's memory before giving up the last reference to the object.

    Here the object then lives on without a name, and keeps its multicast slot, until its binds go with the memory
    they bind: nobody can unbind them any more. For logical endpoints, the newer sibling of multicast objects, it
    is documented that binds go with the object; for multicast objects nothing is.

        mem_release(mc)                                       # still bound: a finding
        multicast_unbind(mc, dev, 0, size); mem_release(mc)   # good

    Fix: one unbind per bind.
    """
    return f"multicast object {handle:#x} is gone with {binds} bind(s) left; unbind first" if binds else None
