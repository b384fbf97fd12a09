"""MC530 to MC549: who may touch a multicast address, and how."""

from .book import rule
from .groups import TRANSFERS
from .source import Document, Note
from .status import Status

_LAUNCH = ("cuLaunchKernel", "cuLaunchKernelEx")


@rule(
    "MC530",
    "only multimem instructions touch a multicast address",
    calls=_LAUNCH,
    kind="undefined",
    status=Status.ILLEGAL_ADDRESS,
    evidence="assumed",
    source=(
        Note("PTX ISA", "8.2.3: accessing a multimem address with other than multimem operations is undefined"),
        Note("settled here", "700, so that the slip is seen"),
    ),
    spec=("MP11",),
)
def multimem_only(ptr: int, instruction: str) -> str | None:
    """Use multimem.st, multimem.red and multimem.ld_reduce (or their bulk forms) on a multicast address.

    One such address stands for many places. What an ordinary load, store, atomic or cp.async does there is
    undefined; the simulator stops the kernel with 700, as for any wrong address.

        st.global.f32 [mc_ptr], %f1;            // undefined; stopped here
        multimem.st.global.f32 [mc_ptr], %f1;   // good

    Fix: use the device's own (unicast) address of its replica for ordinary accesses.
    """
    if instruction.startswith("multimem."):
        return None
    return f"{instruction} on multicast address {ptr:#x} is undefined; only multimem.* may touch it"


@rule(
    "MC531",
    "a multicast address is not copied to, from, or set",
    calls=TRANSFERS,
    kind="undefined",
    status=Status.INVALID_VALUE,
    evidence="assumed",
    source=Note("settled here", "no document says what a copy of a multicast address does; it is refused"),
    spec=("MP12",),
)
def no_plain_transfer(ptr: int, is_multicast: bool) -> str | None:
    """Copy and set memory through the address of one replica, not through the multicast address.

    A copy engine issues ordinary loads and stores. NVSHMEM says plainly that its multicast buffers support no
    copies; the driver's documents are silent.

        memcpy_htod_v2(mc_va, host, n)   # refused
        memcpy_htod_v2(uc_va, host, n)   # good: this device's replica

    Fix: for all replicas, use a kernel with multimem.st, or `cumulticast.multimem.store`.
    """
    return (
        f"{ptr:#x} is a multicast address; copies and memsets need the address of a replica" if is_multicast else None
    )


@rule(
    "MC532",
    "a multimem access lies in what is bound on every device",
    calls=_LAUNCH,
    kind="undefined",
    status=Status.ILLEGAL_ADDRESS,
    evidence="assumed",
    source=(
        Document(
            "CUmulticastObjectProp",
            "The maximum amount of memory that can be bound to this multicast object per device",
        ),
        Note(
            "settled here",
            "a device may bind less; touching a hole ends as an illegal address, as the MMU sees it",
        ),
    ),
    spec=("B18",),
)
def bound_everywhere(ptr: int, dev: int, hole_start: int, hole_end: int) -> str | None:
    """Touch, through a multicast address, only bytes that every device of the team has bound.

    Each device binds by itself, and may bind less than the object's size or not yet. A load that reduces over
    eight replicas has no value when one of them is missing. The hole is given as offsets into the object; an
    empty one (start == end) means that there is none.

        device 3 has not bound [2 MiB, 4 MiB): multimem.st there is undefined
        all devices have bound it, and agreed that they have: good

    Fix: wait for all ranks after the bind; bind the same ranges on all devices.
    """
    if hole_start >= hole_end:
        return None
    return f"{ptr:#x}: device {dev} has nothing bound at bytes [{hole_start}, {hole_end}) of the object"


@rule(
    "MC533",
    "the device has access to the multicast range",
    calls=_LAUNCH,
    status=Status.ILLEGAL_ADDRESS,
    evidence="assumed",
    source=(
        Document("mem_map", "Please note calling ``cuMemMap`` does not make the address accessible"),
        Document(
            "CUresult.CUDA_ERROR_ILLEGAL_ADDRESS",
            "the device encountered a load or store instruction on an invalid memory address",
        ),
    ),
    spec=("MP7",),
)
def multicast_access(ptr: int, dev: int, granted: int, wanted: int) -> str | None:
    """Call mem_set_access on the multicast range for each device before its kernels use it.

    A fresh mapping is closed to everybody. Access flags: 1 read (multimem.ld_reduce), 3 read and write
    (multimem.st, red). They belong to a device and a mapping, and go when it is unmapped.

        mem_map(va, size, 0, mc, 0); launch …                                        # 700, and it sticks
        mem_map(va, size, 0, mc, 0); mem_set_access(va, size, desc, 1); launch …     # good

    Fix: set READWRITE for the devices whose kernels run here.
    """
    if granted & wanted == wanted:
        return None
    return f"device {dev} has access {granted} to {ptr:#x}, needs {wanted} (0 none, 1 read, 3 read and write)"
