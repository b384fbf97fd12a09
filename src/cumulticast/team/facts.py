"""What ranks tell each other before anything is set up, and what follows from it for all of them."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from cumulticast import driver

from .devices import FABRIC, FABRIC_SUPPORTED, MULTICAST_SUPPORTED, POSIX_FD, POSIX_FD_SUPPORTED

#: The version of what processes of one team tell each other.
PROTOCOL = 1
#: Set to anything, it keeps teams from making multicast objects.
FORBIDDING = "CUMULTICAST_NO_MULTICAST"


@dataclass(frozen=True, slots=True)
class Facts:
    """One rank's device and the host it is on.

    Attributes
    ----------
    protocol
        Of the team's messages.
    process
        Host and pid: ranks of one process need no shareable handles.
    host
        Where file descriptors reach: NCCL_HOSTID if that is set, as NCCL has it, else host name and boot id.
    device, uuid
        The ordinal in the rank's process, and what tells devices apart everywhere.
    forbidden
        Whether CUMULTICAST_NO_MULTICAST is set in the rank's environment: to compare, or to go round a broken fabric.
    multicast, posix_fd, fabric
        What the driver says of the device (attributes 132, 103 and 128).
    require_multicast
        Whether the caller does without.
    """

    protocol: int
    process: str
    host: str
    device: int
    uuid: str
    forbidden: bool
    multicast: bool
    posix_fd: bool
    fabric: bool
    require_multicast: bool

    @classmethod
    def of(cls, device: int, *, require_multicast: bool) -> Self:
        """Ask the driver about a device."""

        def has(attribute: int) -> bool:
            return bool(driver.device_get_attribute(attribute, device))

        host = host_id()
        return cls(
            PROTOCOL,
            f"{host}/{os.getpid()}",
            host,
            device,
            device_uuid(device),
            bool(os.environ.get(FORBIDDING)),
            has(MULTICAST_SUPPORTED),
            has(POSIX_FD_SUPPORTED),
            has(FABRIC_SUPPORTED),
            require_multicast,
        )

    def as_dict(self) -> dict[str, Any]:
        """Answer what JSON can carry."""
        return asdict(self)


def host_id() -> str:
    """Answer what processes that can pass file descriptors to each other have in common."""
    chosen = os.environ.get("NCCL_HOSTID")
    if chosen:
        return chosen
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:  # a container may hide it
        boot = ""
    return f"{socket.gethostname()}/{boot}"


def device_uuid(device: int) -> str:
    """Answer a device's UUID as hexadecimal digits."""
    return bytes(driver.device_get_uuid_v2(device).bytes).hex()


@dataclass(frozen=True, slots=True)
class Why:
    """A condition that a rank does not meet."""

    rank: int
    text: str


def why_no_multicast(ranks: Sequence[Facts]) -> Why | None:
    """Say which rank's device stands in the way of a multicast object, or None where nothing is known to."""
    for rank, facts in enumerate(ranks):
        if facts.forbidden:
            return Why(rank, f"{FORBIDDING} is set in its environment")
        if not facts.multicast:
            return Why(rank, f"device {facts.device} has no multicast (MULTICAST_SUPPORTED is 0)")
    same = _same_device(ranks)
    if same:
        return Why(same[1], f"rank {same[0]} is on the same device, and a multicast object takes each device once")
    return None


def handle_kinds(ranks: Sequence[Facts]) -> tuple[int, ...] | str:
    """Answer the kinds of handle that reach all ranks, the best first; a reason where there is none.

    Nothing has to be shared inside of one process. On one host file descriptors need no IMEX channel; a fabric handle
    is the second choice there, where descriptors turn out to be barred.
    """
    if len({facts.process for facts in ranks}) == 1:
        return (0,)
    hosts = {facts.host for facts in ranks}
    without_fd = [rank for rank, facts in enumerate(ranks) if not facts.posix_fd]
    without_fabric = [rank for rank, facts in enumerate(ranks) if not facts.fabric]
    kinds = ((POSIX_FD,) if len(hosts) == 1 and not without_fd else ()) + (() if without_fabric else (FABRIC,))
    if kinds:
        return kinds
    fabric = f"rank {without_fabric[0]}'s device has no fabric handles (HANDLE_TYPE_FABRIC_SUPPORTED is 0)"
    if len(hosts) > 1:
        return f"the ranks are on {len(hosts)} hosts, which only fabric handles cross, and {fabric}"
    return f"rank {without_fd[0]}'s device cannot export file descriptors, and {fabric}"


def disagreement(ranks: Sequence[Facts]) -> tuple[int, str] | None:
    """Answer the first rank that was asked for something else than rank 0, and what."""
    for rank, facts in enumerate(ranks):
        if facts.protocol != ranks[0].protocol:
            return rank, f"it speaks version {facts.protocol} of the team's protocol, rank 0 {ranks[0].protocol}"
        if facts.require_multicast != ranks[0].require_multicast:
            return rank, f"it says require_multicast={facts.require_multicast}, rank 0 {ranks[0].require_multicast}"
    return None


def _same_device(ranks: Sequence[Facts]) -> tuple[int, int] | None:
    seen: dict[str, int] = {}
    for rank, facts in enumerate(ranks):
        if facts.uuid in seen:
            return seen[facts.uuid], rank
        seen[facts.uuid] = rank
    return None
