"""The places where ranks meet: a TCP port that all know, a file that all see, addresses that rank 0 has told."""

from __future__ import annotations

import json
import secrets
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cumulticast.team.comm.channel import JOIN
from cumulticast.team.comm.door import Door, only_here, open_door
from cumulticast.team.comm.greeting import Address, hello, knock
from cumulticast.team.comm.protocol import CommError

PORTS = 8  # the port of the address, and those behind it: torchrun's own store may listen at the first
ASK = 1.0  # seconds that another server gets to say whether it is a hub


@dataclass(frozen=True, slots=True)
class TcpPlace:
    """A port of rank 0's host.

    Attributes
    ----------
    host
        Name or address of the host of rank 0.
    port
        The first port to try.
    """

    host: str
    port: int

    @property
    def name(self) -> str:
        """The address."""
        return f"tcp://{self.host}:{self.port}"

    @property
    def ports(self) -> range:
        """Where the hub may be."""
        return range(self.port, min(self.port + PORTS, 1 << 16))

    def open_door(self, size: int, timeout: float) -> tuple[str, Door]:
        """Listen at the first port that is free; see `Place`."""
        for port in self.ports:
            if door := open_door(self.host, [port]):
                return self._job, door
            refuse_second(("127.0.0.1" if not only_here(self.host) else self.host, port), self._job, size, timeout)
        raise OSError(f"{self.name}: ports {self.ports.start} to {self.ports.stop - 1} are all taken; name another one")

    def look_up(self) -> tuple[str, Sequence[Address]]:
        """Answer all ports that are tried; see `Place`."""
        return self._job, [(self.host, port) for port in self.ports]

    @property
    def _job(self) -> str:
        return f"port {self.port}"  # not the host, that goes by many names


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file that all ranks see.

    Attributes
    ----------
    path
        The file; rank 0 writes it, and removes it when its last session has ended.
    """

    path: Path

    @property
    def name(self) -> str:
        """The file, however it is named."""
        return f"file://{self.path.resolve()}"

    def open_door(self, size: int, timeout: float) -> tuple[str, Door]:
        """Listen at any port and write the file; see `Place`."""
        job, addresses = self.look_up()
        for address in addresses:
            refuse_second(address, job, size, timeout)
        told = told_place()
        assert told.door
        try:
            self._write(told.text)
        except BaseException:
            told.door.close()
            raise
        told.door.at_close = lambda: self._remove(told.job)
        return told.job, told.door

    def look_up(self) -> tuple[str, Sequence[Address]]:
        """Answer what the file says; see `Place`. A file of an earlier job leads to no hub that knows its name."""
        try:
            return as_told(self.path.read_text()).look_up()
        except (OSError, ValueError):
            return "", []

    def _write(self, text: str) -> None:
        """Write the file so that nobody ever reads half of it."""
        beside = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}")
        try:
            beside.write_text(text)
            beside.replace(self.path)
        finally:
            beside.unlink(missing_ok=True)

    def _remove(self, job: str) -> None:
        """Remove the file, unless another job has written it meanwhile."""
        with suppress(OSError):
            if self.look_up()[0] == job:
                self.path.unlink()


@dataclass(frozen=True, slots=True)
class ToldPlace:
    """Addresses that rank 0 has told by other means.

    Attributes
    ----------
    job
        A random text.
    addresses
        Where the hub of the job can be reached.
    door
        Rank 0's own: open already.
    """

    job: str
    addresses: tuple[Address, ...]
    door: Door | None = None

    @property
    def name(self) -> str:
        """The job: each of them is met once."""
        return self.job

    @property
    def text(self) -> str:
        """What to tell."""
        return json.dumps({"job": self.job, "addresses": self.addresses})

    def open_door(self, size: int, timeout: float) -> tuple[str, Door]:
        """Answer the door that is open already; see `Place`."""
        assert self.door
        return self.job, self.door

    def look_up(self) -> tuple[str, Sequence[Address]]:
        """Answer what was told; see `Place`."""
        return self.job, self.addresses


def told_place() -> ToldPlace:
    """Listen at any port, on all interfaces, under a random name: for rank 0 to tell the others."""
    door = open_door("", [0])
    assert door
    hosts = dict.fromkeys([socket.gethostname(), *own_addresses(), "127.0.0.1"])
    return ToldPlace(f"job {secrets.token_hex(16)}", tuple((host, door.port) for host in hosts), door)


def as_told(text: str) -> ToldPlace:
    """Read what `ToldPlace.text` wrote; ValueError if it is something else."""
    value: Any = json.loads(text)
    try:
        return ToldPlace(str(value["job"]), tuple((str(host), int(port)) for host, port in value["addresses"]))
    except (KeyError, TypeError) as error:
        raise ValueError(f"no addresses: {text!r}") from error


def own_addresses() -> list[str]:
    """Answer the addresses of this host's interfaces that others may reach, as far as names and routes tell them."""
    found: list[str] = []
    with suppress(OSError):
        found += [
            str(place[0]) for *_, place in socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)
        ]
    for family, anywhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):  # RFC 5737, RFC 3849
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((anywhere, 9))  # sends nothing: asks which interface the route takes
            found.append(str(probe.getsockname()[0]))
    return list(dict.fromkeys(found))


def refuse_second(address: Address, job: str, size: int, timeout: float) -> None:
    """Raise CommError if a hub of the same job listens already: another process is rank 0.

    That hub tells the other ranks, too: those that it has, and for ``timeout`` seconds those that come.
    """
    frames = knock(address, hello(job, 0, size, timeout, time.monotonic() + timeout), min(ASK, timeout))
    if frames and frames[0].text("do") == "welcome" and frames[-1].text("do") == "fail":
        raise CommError(frames[-1].culprits(), JOIN)
