"""How the ranks of a job find each other: by environment variables, an address, a file, or a communicator they have."""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from cumulticast.team.comm.checks import check_timeout
from cumulticast.team.comm.communicators import Communicator, known_communicator
from cumulticast.team.comm.local import LocalComm
from cumulticast.team.comm.meeting import Place, meet
from cumulticast.team.comm.places import FilePlace, TcpPlace, as_told, told_place
from cumulticast.team.comm.protocol import Comm

FORMS = 'None, "tcp://host:port", "file:///path", an mpi4py communicator, a torch.distributed group, or a Comm'

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def open_comm(comm: Any = None, rank: int | None = None, size: int | None = None, timeout: float = 30.0) -> Comm:
    """Bring the ranks of a job together.

    Parameters
    ----------
    comm
        How they find each other. None: by the environment variables RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, that
        torchrun and ``cumulticast run --ranks`` set. ``"tcp://host:port"``: rank 0 listens there, at this port or one
        of the next seven. ``"file:///path"``: rank 0 writes there how it is reached. An mpi4py communicator or a
        torch.distributed group: it tells all ranks how rank 0 is reached, and is not used after that. A `Comm` is
        taken as it is.
    rank, size
        This rank and how many there are: needed with an address, read from the environment without one, known to a
        communicator.
    timeout
        Seconds until all ranks must have come.

    Raises
    ------
    CommError
        Ranks did not come in time, are there twice, or say other sizes. The same on all that came.
    ValueError, TypeError
        These arguments, or this environment, tell no way.
    OSError
        Rank 0 cannot listen where it is told to.
    """
    check_timeout(timeout)
    if _is_comm(comm):
        return _matching(comm, rank, size)
    if comm is None:
        return _meet(*_from_environment(os.environ, rank, size), timeout)
    if isinstance(comm, str):
        return _meet(_place(comm), *_both(comm, rank, size), timeout)
    communicator = known_communicator(comm)
    if communicator is None:
        raise TypeError(f"comm is of type {type(comm).__module__}.{type(comm).__qualname__}; it can be {FORMS}")
    _matching(communicator, rank, size)
    return _by(communicator, timeout)


def _is_comm(comm: object) -> bool:
    names = ("rank", "size", "exchange", "split", "close")
    return not isinstance(comm, type) and all(hasattr(comm, name) for name in names)


def _matching(comm: Any, rank: int | None, size: int | None) -> Any:
    """Answer a communicator if it says what the arguments say."""
    for name, asked in (("rank", rank), ("size", size)):
        if asked not in (None, getattr(comm, name)):
            raise ValueError(f"{name}={asked}, but the communicator's is {getattr(comm, name)}: leave {name} out")
    return comm


def _meet(place: Place, rank: int, size: int, timeout: float) -> Comm:
    return LocalComm() if size == 1 else meet(place, rank, size, timeout)


def _by(communicator: Communicator, timeout: float) -> Comm:
    """Have rank 0 tell where it listens, then meet there."""
    if communicator.size == 1:
        return LocalComm()
    if communicator.rank:
        told = as_told(communicator.tell("", timeout))
        return meet(told, communicator.rank, communicator.size, timeout)
    place = told_place()
    assert place.door
    try:
        communicator.tell(place.text, timeout)
    except BaseException:
        place.door.close()
        raise
    return meet(place, 0, communicator.size, timeout)


def _place(address: str) -> Place:
    """Read an address; ValueError shows the good forms."""
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme == "tcp" and parts.hostname and port:
        return TcpPlace(parts.hostname, port)
    if parts.scheme == "file" and not parts.netloc and parts.path not in ("", "/"):
        return FilePlace(Path(unquote(parts.path)))
    raise ValueError(f"comm={address!r} is no address; good ones: tcp://10.0.0.1:29500, file:///shared/job-17")


def _both(address: str, rank: int | None, size: int | None) -> tuple[int, int]:
    if rank is None or size is None:
        raise ValueError(f"comm={address!r} needs rank and size: this process's number from 0, and how many there are")
    return _valid(rank, size)


def _valid(rank: int, size: int) -> tuple[int, int]:
    try:
        rank, size = operator.index(rank), operator.index(size)
    except TypeError:
        raise TypeError(f"rank={rank!r}, size={size!r}: whole numbers, such as 0 of 4") from None
    if size < 1:
        raise ValueError(f"size={size}: at least 1")
    if not 0 <= rank < size:
        raise ValueError(f"rank={rank} of size={size}: ranks are 0 to {size - 1}")
    return rank, size


def _from_environment(environ: Mapping[str, str], rank: int | None, size: int | None) -> tuple[Place, int, int]:
    """Read what torchrun and ``cumulticast run --ranks`` set. One rank alone needs no address."""
    numbers = {"RANK": rank, "WORLD_SIZE": size}
    names = [name for name, given in numbers.items() if given is None]
    names += [] if _alone(environ, size) else ["MASTER_ADDR", "MASTER_PORT"]
    if missing := [name for name in names if not environ.get(name)]:
        there = ", ".join(f"{name}={environ[name]}" for name in VARIABLES if environ.get(name)) or "none of them"
        raise ValueError(
            f"comm=None reads the environment, where {', '.join(missing)} is missing ({there} is there). Start the "
            f"ranks with torchrun or `cumulticast run --ranks N`, set {', '.join(VARIABLES)}, or give comm: {FORMS}"
        )
    rank, size = (_integer(environ, name) if given is None else given for name, given in numbers.items())
    rank, size = _valid(rank, size)
    if size == 1:
        return TcpPlace("", 0), rank, size  # nobody to meet
    port = _integer(environ, "MASTER_PORT")
    if not 0 < port < 1 << 16:
        raise ValueError(f"MASTER_PORT={port}: a port from 1 to 65535, such as 29500")
    return TcpPlace(environ["MASTER_ADDR"], port), rank, size


def _alone(environ: Mapping[str, str], size: int | None) -> bool:
    return size == 1 or (size is None and environ.get("WORLD_SIZE") == "1")


def _integer(environ: Mapping[str, str], name: str) -> int:
    try:
        return int(environ[name])
    except ValueError:
        raise ValueError(f"{name}={environ[name]!r} in the environment is no integer") from None
