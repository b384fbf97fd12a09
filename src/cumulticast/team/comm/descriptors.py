"""How file descriptors travel between processes of one host.

Two ways, tried in turn: SCM_RIGHTS over a Unix socket (rights.py), which needs nothing but a socket that both can see,
and pidfd_getfd (pidfd.py), which needs the right to trace the other process. Containers and seccomp filters bar one or
the other, so a failure says of each what barred it.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from cumulticast.team.comm import pidfd
from cumulticast.team.comm.checks import check_timeout
from cumulticast.team.comm.rights import RightsServer, ask
from cumulticast.team.comm.who import boot_id, start_time

Address = Mapping[str, Any]
WAYS = ("scm_rights", "pidfd_getfd")
REMEDIES = {
    ("scm_rights", errno.ECONNREFUSED): "its process has ended, or is in another network namespace",
    ("scm_rights", errno.ENOENT): "its process has ended, offers no such descriptor, or has another file system",
    ("pidfd_getfd", errno.ENOSYS): "the kernel is older than 5.6, or a seccomp filter bars it",
    ("pidfd_getfd", errno.ESRCH): "its process has ended",
    ("pidfd_getfd", errno.EBADF): "it has closed it",
}
DENIED = "a seccomp filter, or no right to trace the process: another user's, or CAP_SYS_PTRACE is missing"


class DescriptorError(RuntimeError):
    """No way led to the descriptor.

    Attributes
    ----------
    reasons
        Way → what barred it.
    """

    def __init__(self, reasons: Mapping[str, str]) -> None:
        self.reasons = dict(reasons)
        super().__init__(self.reasons)

    def __str__(self) -> str:
        """Name each way that was tried."""
        return "; ".join(f"{way}: {why}" for way, why in self.reasons.items())


class DescriptorServer:
    """Offers descriptors of this process to others of the same user, until it is closed.

    Parameters
    ----------
    offers
        Key → descriptor. Each is duplicated: the caller may close its own.
    traceable
        Let all processes of this user trace this one, for as long as it lives: pidfd_getfd needs that where
        ptrace_scope is 1, and SCM_RIGHTS is barred as well.

    Raises
    ------
    OSError
        A descriptor is not open, or there is no room for a copy.
    """

    def __init__(self, offers: Mapping[int, int], *, traceable: bool = False) -> None:
        self._offers: dict[int, int] = {}
        self._server: RightsServer | None = None
        try:
            for key, descriptor in offers.items():
                self.offer(key, descriptor)
            self._server = RightsServer(self._offers)
            if traceable and pidfd.scope():
                pidfd.allow_all()
        except BaseException:
            self.close()
            raise

    def offer(self, key: int, descriptor: int) -> None:
        """Offer one more. An address taken before does not know it by pidfd_getfd.

        Raises
        ------
        ValueError
            The key is taken.
        """
        if key in self._offers:
            raise ValueError(f"a descriptor is offered under {key} already; free is {max(self._offers) + 1}")
        self._offers[key] = os.dup(descriptor)

    @property
    def address(self) -> dict[str, Any]:
        """What others need for `fetch`: texts and numbers only, so it can be sent as JSON."""
        assert self._server
        return {
            "host": boot_id(),
            "socket": self._server.name,
            "pid": os.getpid(),
            "started": start_time(os.getpid()),
            "namespace": _pid_namespace(),
            "descriptors": {str(key): [descriptor, *file_of(descriptor)] for key, descriptor in self._offers.items()},
        }

    def close(self) -> None:
        """Offer nothing any more, and close the copies."""
        if self._server:
            self._server.close()
        while self._offers:
            os.close(self._offers.popitem()[1])

    def __enter__(self) -> DescriptorServer:
        """Answer itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """Close."""
        self.close()


def fetch(address: Address, key: int, timeout: float, ways: Sequence[str] = WAYS) -> int:
    """Answer a new descriptor for what a process of this host offers. The caller closes it; it is not inherited.

    Parameters
    ----------
    address
        `DescriptorServer.address` of that process.
    key
        What to fetch.
    timeout
        Seconds for all ways together.
    ways
        Which to try, in this order.

    Raises
    ------
    DescriptorError
        Every way is barred.
    ValueError
        There is no such way.
    """
    check_timeout(timeout)
    if unknown := [way for way in ways if way not in WAYS]:
        raise ValueError(f"ways={tuple(ways)}: {unknown[0]!r} is none; there are {WAYS}")
    if address["host"] != boot_id():
        raise DescriptorError(dict.fromkeys(ways, "it is on another host; use fabric handles there"))
    deadline, reasons = time.monotonic() + timeout, dict[str, str]()
    for way in ways:
        try:
            return _FETCH[way](address, key, max(0.001, deadline - time.monotonic()))
        except OSError as error:
            reasons[way] = _told(way, error)
    raise DescriptorError(reasons)


def probe(*, of_others: bool = True) -> dict[str, str | None]:
    """Answer for each way None if this process can use it, or what bars it.

    Parameters
    ----------
    of_others
        It is tried within this process. What bars tracing other processes alone (Yama) is read from the kernel as well.
    """
    reasons: dict[str, str | None] = {}
    read, write = os.pipe()
    try:
        with DescriptorServer({0: read}) as server:
            for way in WAYS:
                reasons[way] = _try(server.address, way)
    finally:
        os.close(read)
        os.close(write)
    if of_others:
        reasons["pidfd_getfd"] = reasons["pidfd_getfd"] or pidfd.barred_by_scope()
    return reasons


def _try(address: Address, way: str) -> str | None:
    try:
        os.close(fetch(address, 0, 5.0, [way]))
    except DescriptorError as error:
        return error.reasons[way]
    return None


def _by_rights(address: Address, key: int, timeout: float) -> int:
    return ask(str(address["socket"]), key, timeout)


def _by_pidfd(address: Address, key: int, timeout: float) -> int:
    descriptor, *file = address["descriptors"].get(str(key), [None])
    if descriptor is None:
        raise OSError(errno.ENOENT, f"nothing is offered under {key}")
    if address["namespace"] != _pid_namespace():
        raise OSError(errno.ESRCH, "it is in another pid namespace")
    taken = pidfd.take(int(address["pid"]), int(address["started"]), int(descriptor))
    if file_of(taken) == file:
        return taken
    os.close(taken)
    raise OSError(errno.EBADF, "the number is another file's by now")


_FETCH: Mapping[str, Callable[[Address, int, float], int]] = {"scm_rights": _by_rights, "pidfd_getfd": _by_pidfd}


def file_of(descriptor: int) -> list[int]:
    """Answer what tells most files from each other: a descriptor's number is used again once it is closed."""
    about = os.fstat(descriptor)
    return [about.st_dev, about.st_ino, about.st_rdev]


def _pid_namespace() -> str:
    return os.readlink("/proc/self/ns/pid")


def _told(way: str, error: OSError) -> str:
    """Say what barred a way: the kernel's word for it, and what that means here."""
    number = error.errno or 0
    means = DENIED if number in (errno.EPERM, errno.EACCES) else REMEDIES.get((way, number), "")
    if way == "pidfd_getfd" and number == errno.EPERM:
        means = pidfd.barred_by_scope() or means
    name = errno.errorcode.get(number, type(error).__name__)
    return f"{name}: {error.strerror or error}" + (f" ({means})" if means else "")
