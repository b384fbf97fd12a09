"""MC1301 to MC1309: the order in which kernels see each other's memory; found where memory is adversarial."""

from .book import rule
from .source import Note

_LAUNCH = ("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel")
SCOPES = ("none", "warp", "cta", "gpu", "sys")  # as PTX_SCOPE_… in ptx/native/adversary.h
_ADVERSARY = Note("settled here", "found by `--memory adversarial`: what the memory model allows is carried out")


def _reaches(had: str, wanted: str) -> bool:
    return SCOPES.index(had) >= SCOPES.index(wanted)


def _released(had: str) -> str:
    if had == "none":
        return "nothing releases it"
    return "it was released to its warp only" if had == "warp" else f"it was released to .{had} only"


def _release(wanted: str) -> str:
    return "bar.warp.sync" if wanted == "warp" else f"fence.acq_rel.{wanted}, st.release.{wanted}"


@rule(
    "MC1301",
    "fence.proxy.alias stands between accesses through a multicast address and through the memory's own",
    calls=_LAUNCH,
    kind="undefined",
    evidence="assumed",
    source=(
        Note(
            "PTX ISA",
            "membar, fence: .alias refers to memory accesses performed using virtually aliased addresses to the same "
            "memory location",
        ),
        Note(
            "programming guide",
            "virtual aliasing support: a write through one address is incoherent with the other until the writing "
            "device operation completes, or fence.proxy.alias",
        ),
        _ADVERSARY,
    ),
    spec=("MP13",),
)
def aliases_fenced(reader: str, writer: str, read_at: int, written_at: int, fenced: bool) -> str | None:
    """Execute fence.proxy.alias between a write through one kind of address and a read through the other.

    Memory bound to a multicast object has two: its own and the multicast address. Inside one kernel the two are
    not coherent: the read may give what was there before the write, however long ago that was.

        multimem.st.release.sys.global.u32 [mc], 1;  ld.acquire.sys.global.u32 %r, [uc];    # a finding
        multimem.st.release.sys.global.u32 [mc], 1;  fence.proxy.alias;  ld.acquire …       # good

    Fix: `asm volatile("fence.proxy.alias;" ::: "memory")` after the write (and its release), or end the kernel.
    """
    if fenced:
        return None
    return (
        f"{reader} reads at {read_at:#x} what {writer} has written through another address of the same memory, "
        f"{written_at:#x}; fence.proxy.alias is missing between them"
    )


@rule(
    "MC1302",
    "what is written before a flag is released before the flag",
    calls=_LAUNCH,
    kind="undefined",
    evidence="assumed",
    source=(
        Note("PTX ISA", "memory consistency model, release and acquire patterns; scope"),
        _ADVERSARY,
    ),
)
def released_before_seen(reader: str, writer: str, later: str, address: int, had: str, wanted: str) -> str | None:
    """Put a release between data and the flag that announces it, of a scope that holds writer and reader.

    Without one, writes become visible in any order: the flag is seen and the data is not. A release to the
    block (.cta, bar.sync) says nothing to another block, one to the device (.gpu) nothing to another device.

        st.global.u32 [data], 42;  st.relaxed.sys.global.u32 [flag], 1;                         # a finding
        st.global.u32 [data], 42;  st.release.sys.global.u32 [flag], 1;                         # good
        st.global.u32 [data], 42;  fence.acq_rel.sys;  st.relaxed.sys.global.u32 [flag], 1;     # good

    Fix: __threadfence_system() (.sys), __threadfence() (.gpu), or a release of that scope, in the writing thread.
    """
    if _reaches(had, wanted):
        return None
    return (
        f"{reader} reads at {address:#x} without seeing {writer}, though it may have seen the later {later}; "
        f"{_released(had)}: between the two writes a release is missing ({_release(wanted)})"
    )


@rule(
    "MC1303",
    "a read that is not atomic is ordered with the writes to its memory",
    calls=_LAUNCH,
    kind="undefined",
    evidence="assumed",
    source=(
        Note(
            "PTX ISA",
            "memory consistency model, data races: conflicting weak operations are ordered by causality",
        ),
        _ADVERSARY,
    ),
)
def reads_are_ordered(reader: str, writer: str, address: int, had: str, wanted: str) -> str | None:
    """Let a barrier, or a release and an acquire, come between a plain write and another thread's plain read.

    Two threads that touch the same memory, one of them writing, without anything that orders them, have a data
    race, whose outcome is undefined.

        st.shared.u32 [a], 1;              ld.shared.u32 %r, [a];    # in another thread: a finding
        st.shared.u32 [a], 1;  bar.sync 0; ld.shared.u32 %r, [a];    # in another thread: good

    Fix: __syncthreads() within a block, __syncwarp() within a warp; between blocks a flag, with release and acquire; or
    relaxed accesses (cuda::atomic_ref) where any value will do.
    """
    if _reaches(had, wanted):
        return None
    return (
        f"{reader} reads at {address:#x} what {writer} writes, and nothing orders the two: {_released(had)}; a barrier "
        f"or a release ({_release(wanted)}) is missing"
    )
