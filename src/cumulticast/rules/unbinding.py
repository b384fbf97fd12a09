"""MC400 to MC419: multicast_unbind."""

from .book import rule
from .source import Document, Note
from .status import Status
from .text import beyond, listed, not_multiple

_UNBIND = ("cuMulticastUnbind",)
_INEXACT = Note("kernel driver", "an attachment is looked up by its exact offset; the size is ignored")


@rule(
    "MC401",
    "the size of an unbind is a multiple of the minimum granularity",
    calls=_UNBIND,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("multicast_unbind", "The intended ``size`` of the unbind and the offset in the multicast range"),
    spec=("U2",),
)
def unbind_size_granularity(size: int, granularity: int) -> str | None:
    """Unbind with the rounded size that was bound, not with the size of the data.

    No bind ever has another size than a multiple of the granularity, so no unbind can match one either. On
    SM_107 machines the headroom of an unaligned bind is not part of the size; it is given back with the bind.

        multicast_unbind(mc, dev, 0, 3 << 20)   # refused
        multicast_unbind(mc, dev, 0, 4 << 20)   # good

    Fix: remember mc_offset and size of each bind.
    """
    return not_multiple("size", size, granularity, least=1)


@rule(
    "MC402",
    "the mc_offset of an unbind is a multiple of the minimum granularity",
    calls=_UNBIND,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Document("multicast_unbind", "``mc_offset`` ) must be a multiple of the value returned by"),
    spec=("U2",),
)
def unbind_offset_granularity(mc_offset: int, granularity: int) -> str | None:
    """Unbind at the mc_offset of the bind, which was a multiple of the granularity.

    mc_offset counts from the beginning of the multicast object, not of the memory, and is not an address.

        multicast_unbind(mc, dev, 256, 2 << 20)       # the mem_offset of the bind: refused
        multicast_unbind(mc, dev, 2 << 20, 2 << 20)   # good

    Fix: remember mc_offset and size of each bind.
    """
    return not_multiple("mc_offset", mc_offset, granularity)


@rule(
    "MC403",
    "mc_offset + size of an unbind stays within the size of the multicast object",
    calls=_UNBIND,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    held="strict",
    source=Document("multicast_unbind", "larger than the total size of the multicast object"),
    spec=("U3",),
)
def unbind_within_object(mc_offset: int, size: int, object_size: int) -> str | None:
    """Keep mc_offset + size of an unbind within the size given to multicast_create.

    Nothing documented can be bound beyond it. Where profile `hardware` accepted a bind into the rounded
    extent (MC309), it accepts the unbind, too, with a finding.

        multicast_unbind(mc, dev, 2 << 20, 4 << 20)   # object of 4 MiB: refused
        multicast_unbind(mc, dev, 2 << 20, 2 << 20)   # good

    Fix: unbind what was bound.
    """
    return beyond("mc_offset", mc_offset, size, object_size, "the multicast object")


@rule(
    "MC404",
    "mc_offset + size of an unbind stays within the object's extent on hardware",
    calls=_UNBIND,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    held="hardware",
    source=Note("settled here", "bind, map and unbind accept prop.size rounded up to 512 MiB"),
)
def unbind_within_extent(mc_offset: int, size: int, extent: int) -> str | None:
    """Keep mc_offset + size of an unbind within prop.size rounded up to 512 MiB.

    The counterpart of MC309: what lies beyond the object's fabric pages can never have been bound.

        multicast_unbind(mc, dev, 512 << 20, 2 << 20)   # object of 4 MiB: refused
        multicast_unbind(mc, dev, 0, 4 << 20)           # good

    Fix: unbind what was bound.
    """
    return beyond("mc_offset", mc_offset, size, extent, "the extent of the multicast object")


@rule(
    "MC405",
    "an unbind has the size of the bind",
    calls=_UNBIND,
    kind="undefined",
    status=Status.INVALID_VALUE,
    held="strict",
    evidence="assumed",
    source=(Document("multicast_unbind", "Any other values may result in undefined behavior"), _INEXACT),
    spec=("U4",),
)
def unbind_exact(mc_offset: int, size: int, bound_size: int) -> str | None:
    """Give an unbind exactly the mc_offset and size of one earlier bind.

    The summary says "upto a given size", the note below it that any other value is undefined behaviour. The
    kernel driver finds the bind by its offset and ignores the size, so on hardware the whole bind goes;
    profile `hardware` does that with a finding, `strict` refuses.

        multicast_bind_mem(mc, 0, mem, 0, 4 << 20, 0)
        multicast_unbind(mc, dev, 0, 2 << 20)   # half of it: undefined
        multicast_unbind(mc, dev, 0, 4 << 20)   # good

    Fix: one unbind per bind, with the same two values.
    """
    if size == bound_size:
        return None
    return f"size {size} is not the {bound_size} bound at mc_offset {mc_offset}; undefined behaviour"


@rule(
    "MC406",
    "something is bound at the mc_offset of an unbind",
    calls=_UNBIND,
    status=Status.INVALID_VALUE,
    evidence="kernel-module",
    source=(
        Document("multicast_unbind", "must match the corresponding values specified during the bind call"),
        _INEXACT,
    ),
    spec=("U1", "U5"),
)
def bound_here(dev: int, mc_offset: int, bound_offsets: tuple[int, ...]) -> str | None:
    """Unbind at an mc_offset where a bind of that device begins.

    A place in the middle of a bind, or one that another device has bound, does not count. A failed unbind
    changes nothing.

        multicast_bind_mem(mc, 0, memory_of_device_0, 0, 4 << 20, 0)
        multicast_unbind(mc, 0, 2 << 20, 2 << 20)   # no bind begins there: refused
        multicast_unbind(mc, 0, 0, 4 << 20)         # good

    Fix: use the mc_offset of the bind and the device that owns the memory.
    """
    if mc_offset in bound_offsets:
        return None
    return f"device {dev} has no bind at mc_offset {mc_offset}; its binds begin at: {listed(bound_offsets)}"


@rule(
    "MC407",
    "the device of an unbind is in the team",
    calls=_UNBIND,
    status=Status.INVALID_DEVICE,
    evidence="kernel-module",
    source=Note("kernel driver", "detaching from a GPU that is not attached to the object: invalid device"),
    spec=("U5",),
)
def unbind_device_in_team(dev: int, team: tuple[int, ...]) -> str | None:
    """Unbind for a device that was added to the object.

    dev is a device ordinal of this process (CUDA_VISIBLE_DEVICES renumbers them), not a rank.

        multicast_unbind(mc, rank, 0, size)     # one GPU per process, rank 3: refused
        multicast_unbind(mc, device, 0, size)   # good

    Fix: pass the device that was given to multicast_add_device.
    """
    return None if dev in team else f"dev {dev} is not in the team; the team is {listed(team)}"


@rule(
    "MC408",
    "the size of an unbind is not 0",
    calls=_UNBIND,
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Note("settled here", "recorded calls answer a size of 0 with 1, and no bind has that size"),
)
def unbind_size_positive(size: int) -> str | None:
    """Unbind at least one granule.

    0 does not mean "all of it": the call needs the size of the bind.

        multicast_unbind(mc, dev, 0, 0)         # refused
        multicast_unbind(mc, dev, 0, 2 << 20)   # good

    Fix: remember mc_offset and size of each bind.
    """
    return None if size > 0 else "size is 0; it must be the size of the bind"


@rule(
    "MC409",
    "memory is unbound before it is freed",
    calls=_UNBIND,
    kind="undefined",
    status=Status.INVALID_VALUE,
    held="strict",
    evidence="assumed",
    source=(
        Note("kernel driver", "when bound memory dies, it is detached from the object by itself"),
        Note("public report", "an unbind after the buffer is gone can fail; on B200 the order matters"),
    ),
    spec=("U7",),
)
def unbound_before_freed(dev: int, mc_offset: int, memory_alive: bool) -> str | None:
    """Unbind while the bound memory still exists.

    A bind holds no reference to the memory. When the last handle and mapping of the memory go, the bind goes
    with it, and a later unbind has nothing to do: real drivers answer that differently. `strict` refuses,
    `hardware` succeeds with a finding.

        mem_release(mem); multicast_unbind(mc, dev, 0, size)   # undescribed
        multicast_unbind(mc, dev, 0, size); mem_release(mem)   # good

    Fix: unbind, then unmap and release the memory.
    """
    if memory_alive:
        return None
    return f"device {dev}'s memory at mc_offset {mc_offset} is already gone; unbind before freeing it"
