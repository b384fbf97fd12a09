"""What ranks of the matrix are told to do; see ``team_matrix.py``."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from driver_calls import noted

from cumulticast import SymmetricArray, Team, TeamError, multimem
from cumulticast.sim import injection
from cumulticast.team.comm.link import Link
from cumulticast.testing.leaks import descriptors_into

KEPT: list[Team] = []
ARRAYS: list[SymmetricArray] = []


@dataclass(frozen=True, slots=True)
class Told:
    """A TeamError, as its rank was told: all that it says."""

    rank: int
    stage: str
    call: str | None
    status: int | None
    rule: str | None
    reason: str
    ranks: tuple[tuple[int, tuple[str, str | None, int | None]], ...]
    text: str

    @classmethod
    def of(cls, error: TeamError) -> Told:
        ranks = tuple(sorted((rank, tuple(state)) for rank, state in error.ranks.items()))
        return cls(error.rank, error.stage, error.call, error.status, error.rule, error.reason, ranks, str(error))  # type: ignore[arg-type]


def number() -> int:
    return int(os.environ["RANK"])


def told(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do something and answer what came of it, or what the TeamError said."""
    try:
        return work(*arguments)
    except TeamError as error:
        return Told.of(error)


def join(place: str, size: int, timeout: float, **options: Any) -> Team:
    """Join a team on the device of our number."""
    options = {"retries": 0, "device": number(), **options}
    return Team.join(place, rank=number(), size=size, timeout=timeout, **options)


def used(team: Team) -> tuple[float, ...]:
    """Let the last rank store to all, and answer what all ranks then read."""
    array = team.empty(64)
    if team.rank == team.size - 1:
        multimem.store(array.multicast_ptr, np.full(64, team.size, np.float32))
    team.barrier()
    found = sorted(set(np.concatenate([array.numpy(rank) for rank in range(team.size)]).tolist()))
    team.barrier()
    return tuple(found)


def attempt(place: str, size: int, timeout: float) -> Any:
    """Join, use and close a team; answer what was read, or what the TeamError said."""

    def work() -> tuple[float, ...]:
        with join(place, size, timeout) as team:
            return used(team)

    return told(work)


def calls_of_a_join(place: str, size: int, timeout: float) -> list[str]:
    """Answer the driver calls of a join that goes well."""
    with noted() as made:
        team = join(place, size, timeout)
        calls = list(made)
    team.close()
    return calls


def keep(place: str, size: int, timeout: float, options: dict[str, Any] | None = None) -> Any:
    """Join and keep the team."""

    def work() -> None:
        KEPT.append(join(place, size, timeout, **(options or {})))

    return told(work)


def with_team(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do something with the newest team."""
    return told(work, KEPT[-1], *arguments)


def let_go() -> Any:
    """Close all teams, the newest first."""
    ARRAYS.clear()
    while KEPT:
        KEPT.pop().close()


def left_here() -> tuple[int, int, int]:
    """Count this process's descriptors: all, and those of objects of the world; and its threads."""
    everything = len(os.listdir("/proc/self/fd"))
    return everything, len(descriptors_into(os.environ["CUMULTICAST_WORLD"])), threading.active_count()


def again_and_again(place: str, size: int, timeout: float, turns: int) -> Any:
    """Join a team at one place, use, grow, split and close it, turn by turn; answer what the first error said."""

    def work() -> None:
        for _ in range(turns):
            with join(place, size, timeout) as team:
                sum_of_ranks(team)
                with team.split(range(size)) as part:
                    sum_of_ranks(part)
                with team.empty(3 << 20) as array:
                    team.broadcast(array)
                    team.barrier()

    return told(work)


# ---- with a team that is kept


def sum_of_ranks(team: Team) -> tuple[float, ...]:
    """Add up, over all ranks, an array of each rank's number plus one."""
    with team.empty(100) as array:
        array.numpy()[:] = number() + 1
        team.barrier()
        team.all_reduce(array)
        team.barrier()
        found = sorted(set(array.numpy().tolist()))
        team.barrier()
    return tuple(found)


def grow(team: Team, nbytes: int = 8 << 20) -> int:
    """Make an array that no block has room for; answer how many blocks there are."""
    ARRAYS.append(team.empty(nbytes, "uint8"))
    return team.usage.blocks


def empties(team: Team, sizes: list[int]) -> None:
    """Make arrays of these sizes, close one for each 0, and meet."""
    for size in sizes:
        if size:
            ARRAYS.append(team.empty(size, "uint8"))
        else:
            ARRAYS.pop().close()
    team.barrier()


def barrier(team: Team) -> None:
    team.barrier()


def reduce_and_meet(team: Team) -> None:
    """Take part in a collective, and wait for its end."""
    array = team.empty(1000)
    ARRAYS.append(array)
    team.all_reduce(array)
    team.barrier()


def kind_of_handle(team: Team) -> int:
    return team._foundation.heap.kind


def in_parts(team: Team) -> list[Any]:
    """Split into even and odd ranks, use both at the same time, and share an array of the whole."""
    whole = team.empty(10)
    whole.numpy()[:] = 1
    with team.split([rank for rank in reversed(range(team.size)) if rank % 2 == number() % 2]) as part:
        found = [part.rank, part.devices, used(part)]
        team.barrier()
        with part.share(whole) as shared:
            part.barrier()
            found.append(multimem.load_reduce(shared.multicast_ptr, 10).tolist()[0])
            part.barrier()
    team.barrier()
    return found


def keep_part(team: Team) -> None:
    """Keep a team of the ranks that are even, or odd, like ours."""
    KEPT.append(team.split([rank for rank in range(team.size) if rank % 2 == number() % 2]))


class UsersError(Exception):
    """What a user's code raises."""


def fail_inside(place: str, size: int, timeout: float, who: int) -> Any:
    """Join; one rank raises in the body, the others wait for it."""

    def work() -> None:
        with join(place, size, timeout) as team:
            if number() == who:
                raise UsersError
            team.barrier()

    try:
        return told(work)
    except UsersError:
        return "UsersError"


def join_with(place: str, size: int, timeout: float, one: int, options: dict[str, Any]) -> Any:
    """Join, one rank with other options; what is no TeamError is answered as text."""
    try:
        return keep(place, size, timeout, options if number() == one else None)
    except (ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def mark_delays(mark: str) -> None:
    """Leave a file when a delay begins: who wants to strike in it need not guess when."""

    def sleep(seconds: float) -> None:
        Path(mark).touch()
        time.sleep(seconds)

    injection.time = SimpleNamespace(sleep=sleep, monotonic=time.monotonic)  # type: ignore[assignment]


def interrupted_wait(team: Team) -> Any:
    """Grow, and be struck by Ctrl-C while we wait for the others."""
    main = threading.main_thread().ident
    assert main

    def strike() -> None:
        while sys._current_frames()[main].f_code is not Link._read.__code__:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=strike).start()
    return grow(team)


def bar_descriptors() -> None:
    """Let no descriptor reach this process any more."""
    from cumulticast.team import steps
    from cumulticast.team.comm import DescriptorError

    def barred(*_: Any, **__: Any) -> int:
        raise DescriptorError({"scm_rights": "EPERM: barred by the test", "pidfd_getfd": "EPERM: barred by the test"})

    steps.fetch = barred


def calls_of_growth(team: Team) -> list[str]:
    """Answer the driver calls of a growth that goes well; its block stays, for the next arrays."""
    with noted() as made:
        grow(team)
        return list(made)


def try_to_grow(team: Team) -> Any:
    """Try to grow; answer what was told, and whether the team is as before."""
    before = team.usage
    answer = told(grow, team)
    return answer, team.usage == before


def let_go_of_newest() -> None:
    """Close the newest team."""
    KEPT.pop().close()
    ARRAYS.clear()


def split_all(team: Team) -> tuple[float, ...]:
    """Split all ranks off, in another order, and use that team."""
    with team.split(range(team.size)[::-1]) as part:
        return used(part)


def share_all(team: Team) -> tuple[float, ...]:
    """Share an array with a team of all ranks, and add up through its object."""
    with team.empty(8) as array, team.split(range(team.size)) as part:
        array.numpy()[:] = 1
        team.barrier()
        with part.share(array) as shared:
            found = multimem.load_reduce(shared.multicast_ptr, 8).tolist()
            part.barrier()
        return tuple(sorted(set(found)))
