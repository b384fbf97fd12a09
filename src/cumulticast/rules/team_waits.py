"""MC340 to MC359: what a bind waits for, the states it refuses, and what it uses up."""

from .book import rule
from .groups import BINDS
from .source import Document, Note
from .status import Status
from .text import listed

_WAITERS = (*BINDS, "cuMemMap")
_OWN_STATUS = Note("settled here", "909 is this simulator's own answer; no driver documents it for these calls")


@rule(
    "MC340",
    "a bind waits until all devices have been added",
    calls=BINDS,
    kind="blocks",
    evidence="documented",
    source=Document("multicast_add_device", "will block until all devices have been added"),
    spec=("B1",),
)
def bind_waits(num_devices: int, team: tuple[int, ...]) -> str | None:
    """Add all num_devices devices before, or while, anybody binds.

    The fabric lays a multicast object out for a whole team, and the last multicast_add_device starts that.
    Until then every bind sleeps; it does not fail. In one thread a bind before the last add never returns.

        multicast_add_device(mc, 0); multicast_bind_mem(mc, 0, mem, 0, size, 0)   # 1 of 2: waits
        multicast_add_device(mc, 0); multicast_add_device(mc, 1)                  # then bind: good

    Fix: have all ranks add their device and agree that they have (a barrier) before the first bind.
    """
    missing = num_devices - len(team)
    if missing <= 0:
        return None
    return f"waits for {missing} of {num_devices} devices; added so far: {listed(team)}"


@rule(
    "MC341",
    "a wait for devices can still end",
    calls=_WAITERS,
    kind="limit",
    status=Status.TIMEOUT,
    evidence="assumed",
    source=_OWN_STATUS,
)
def wait_can_end(missing: int, who_can_add: int, dead: tuple[int, ...]) -> str | None:
    """End a wait when nobody is left who could add the missing devices.

    Real hardware waits for ever. The simulator sees all processes and threads of its world; when each of
    them waits in the same circle, or has died, it answers 909 after one second instead. 909 is not a
    passing state: trying again changes nothing. `--hopeless wait` waits as hardware does.

        one thread, num_devices = 2: add_device(mc, 0); bind …    # nobody can add the second device
        one thread, num_devices = 1: add_device(mc, 0); bind …    # good

    Fix: find the rank that stopped before its multicast_add_device; its own error is the cause.
    """
    if missing == 0 or who_can_add > 0:
        return None
    died = f"; processes that ended: {listed(dead)}" if dead else ""
    return f"{missing} devices are missing and nobody is left to add them{died}"


@rule(
    "MC342",
    "a wait for devices ends within the block limit",
    calls=_WAITERS,
    kind="limit",
    status=Status.TIMEOUT,
    evidence="assumed",
    source=_OWN_STATUS,
)
def block_limit(waited: float, limit: float, missing: int) -> str | None:
    """Finish within the limit that you set (`--block-limit`, CUMULTICAST_BLOCK_LIMIT; seconds).

    Drivers have no such limit. It turns a hang into a failed call that says what was missing, which is what a
    test wants. Without the setting a wait that may still end is never cut short.

        cumulticast run --block-limit 5 -- python job.py   # 909 after 5 s instead of a hang

    Fix: look for the rank that is late or gone, or raise the limit.
    """
    if waited < limit:
        return None
    return f"waited {waited:.1f} s, the limit is {limit:g} s; {missing} devices are still missing"


@rule(
    "MC343",
    "the system software that multicast needs is running",
    calls=BINDS,
    kind="limit",
    status=Status.SYSTEM_NOT_READY,
    evidence="documented",
    source=Document("multicast_bind_mem", "if the necessary system software is not initialized"),
    spec=("B10",),
)
def system_ready(problem: str) -> str | None:
    """Have the Fabric Manager (and on multi-node machines IMEX) running before binding.

    Setting the team up is the Fabric Manager's work, so its absence or a stall shows at the first bind, not
    at multicast_create. 802 can pass: a stall of seconds hits some ranks and not others, so all ranks must
    go back and try again together.

        fm stopped: create and add_device succeed, bind answers 802
        systemctl start nvidia-fabricmanager, then bind again: good

    Fix: check `nvidia-smi -q` (Fabric State: Completed) and the service; retry in lockstep.
    """
    return f"system software not ready: {problem}" if problem else None


@rule(
    "MC344",
    "the system configuration is in a legal state",
    calls=BINDS,
    kind="limit",
    status=Status.ILLEGAL_STATE,
    evidence="documented",
    source=Document(
        "multicast_bind_mem",
        "This call may return CUDA_ERROR_ILLEGAL_STATE if the system configuration is in",
    ),
    spec=("B11",),
)
def state_legal(problem: str) -> str | None:
    """Bind only while GPUs, switches and daemons agree with each other.

    The usual cause is a Fabric Manager that was restarted while the GPUs stayed up: their registration is
    stale, although their Fabric State still reads Completed. Older drivers answer 1 in this situation, or
    hang.

        fm restarted under running GPUs: bind answers 401
        reset the GPUs (or reboot) after the restart: good

    Fix: compare the start of the service with the last GPU reset; reset the GPUs if the service is younger.
    """
    return f"illegal system state: {problem}" if problem else None


@rule(
    "MC345",
    "a multicast slot of the fabric is free",
    calls=BINDS,
    kind="limit",
    status=Status.OUT_OF_MEMORY,
    evidence="documented",
    source=(
        Document(
            "multicast_bind_mem",
            "this call will return CUDA_ERROR_OUT_OF_MEMORY if there are insufficient resources",
        ),
        Note(
            "public report",
            "128 objects on an HGX machine, 1024 in an NVL72 rack, shared by everything on it",
        ),
    ),
    spec=("B9",),
)
def slot_free(taken: int, slots: int) -> str | None:
    """Keep fewer bound multicast objects than the fabric has slots.

    The switches route a fixed number of multicast groups (128 on HGX H100/H200). An object takes its slot
    at its first bind and gives it back when its last reference, mapping and binding is gone. 2 at a bind
    with free device memory means slots, not bytes. Other processes of the machine count too.

        129 objects, each bound: the bind of the last one is refused
        several buffers in one object, at different mc_offsets: good

    Fix: share one object among buffers, release objects that are no longer used.
    """
    return f"all {slots} multicast slots of this fabric are taken ({taken})" if taken >= slots else None


@rule(
    "MC346",
    "the simulating machine has room for what the call needs",
    calls=(*BINDS, "cuMemMap", "cuMemCreate", "cuMulticastCreate"),
    kind="limit",
    status=Status.OUT_OF_MEMORY,
    evidence="assumed",
    source=Note("settled here", "the host that simulates can run out of mappings or of tmpfs before the machine does"),
)
def host_room(what: str, needed: int, left: int) -> str | None:
    """Give the simulator's own host enough mappings and shared memory.

    Simulated device memory lies in sparse files on tmpfs, and each bound piece that is mapped is one kernel
    mapping (vm.max_map_count, about 65 000). When the host has no more, the call is refused; a real machine
    would have gone on. The message names what ran out.

        thousands of mapped binds: refused with `mappings`
        sysctl vm.max_map_count=262144: good

    Fix: raise the limit, use a larger tmpfs (CUMULTICAST_WORLD), or bind larger pieces.
    """
    if needed <= left:
        return None
    return f"this host has too few {what}: {needed} needed, {left} left"
