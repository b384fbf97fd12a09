"""A joined team on real GPUs, over peer memory: bring-up by descriptors, collectives, a rank that dies. Prints JSON.

``python tests/recording/team_on_two_gpus.py [RANKS]``: one process for each GPU. It needs the package, cuda-bindings,
NVRTC, numpy and ml_dtypes. It creates no multicast object: CUMULTICAST_NO_MULTICAST is set, and the call is taken away.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

COUNT, LARGE, ROUNDS = 100_003, 64 << 20, 20


def forbidden(*_: Any) -> None:
    raise AssertionError("no multicast object is made here")


def rank_main(place: str, rank: int, ranks: int) -> None:
    """Be one rank."""
    from cumulticast import Team, TeamError, driver

    driver.multicast_create = forbidden
    said: dict[str, Any] = {"rank": rank}
    began = time.perf_counter()
    team = Team.join(f"file://{place}/meeting", rank, rank=rank, size=ranks, require_multicast=False)
    said.update(seconds=time.perf_counter() - began, why_not=team.why_not, multicast=team.has_multicast)
    with team:
        context = driver.device_primary_ctx_retain(rank)
        driver.ctx_set_current(context)
        said["name"] = driver.device_get_name(96, rank).split(b"\0")[0].decode()
        said["driver"] = driver.driver_get_version()
        said["wrong"] = [name for name, good in results(team, driver).items() if not good]
        said["all_reduce_64MiB_us"] = timed(team, driver)
        sub = team.split(list(range(ranks))[::-1])
        x = sub.empty(7)
        put(driver, x.local, np.full(7, sub.rank, np.float32))
        sub.barrier()
        sub.all_reduce(x)
        sub.barrier()
        said["split"] = get(driver, x.local, 7, np.float32).tolist()
        sub.close()
        team.barrier()
        if rank == ranks - 1:
            print(json.dumps(said), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        said["after"] = [told(work, TeamError) for work in (lambda: team.all_reduce(team.empty(COUNT)), team.barrier)]
        driver.device_primary_ctx_release_v2(rank)
    print(json.dumps(said), flush=True)


def results(team: Any, driver: Any) -> dict[str, bool]:
    """Answer for each collective whether its bits are numpy's."""
    given = [
        np.random.default_rng(rank).standard_normal(COUNT * team.size).astype(np.float32) for rank in range(team.size)
    ]
    total = given[0].copy()
    for other in given[1:]:
        total += other
    mine, part = slice(COUNT * team.rank, COUNT * (team.rank + 1)), COUNT
    gathered = np.concatenate([given[rank][part * rank : part * (rank + 1)] for rank in range(team.size)])
    array = team.empty(COUNT * team.size)

    def after(work: Callable[[], None]) -> np.ndarray:
        put(driver, array.local, given[team.rank])
        team.barrier()
        work()
        team.barrier()
        return get(driver, array.local, array.shape[0], np.float32)

    written = team.empty(team.size, "int64")
    for rank in range(team.size):  # through the addresses of peers
        put(driver, written.peer(rank) + 8 * team.rank, np.int64([100 * team.rank + rank]))
    team.barrier()
    mailed = get(driver, written.local, team.size, np.int64)
    return {
        "peer": mailed.tolist() == [100 * rank + team.rank for rank in range(team.size)],
        "all_reduce": same(after(lambda: team.all_reduce(array)), total),
        "reduce_scatter": same(after(lambda: team.reduce_scatter(array))[mine], total[mine]),
        "all_gather": same(after(lambda: team.all_gather(array)), gathered),
        "broadcast": same(after(lambda: team.broadcast(array, team.size - 1)), given[-1]),
    }


def timed(team: Any, driver: Any) -> float:
    """Answer the microseconds of an all_reduce of 64 MiB."""
    array = team.empty(LARGE // 4)
    team.all_reduce(array)
    team.barrier()
    began = time.perf_counter()
    for _ in range(ROUNDS):
        team.all_reduce(array)
    driver.ctx_synchronize()
    return (time.perf_counter() - began) / ROUNDS * 1e6


def told(work: Callable[[], Any], kind: type[Exception]) -> list[Any] | None:
    try:
        work()
    except kind as error:
        return [error.rank, error.stage, error.reason]  # pyright: ignore[reportAttributeAccessIssue]
    return None


def same(found: np.ndarray, wanted: np.ndarray) -> bool:
    return found.tobytes() == wanted.tobytes()


def put(driver: Any, at: int, given: np.ndarray) -> None:
    driver.memcpy_htod_v2(at, given.ctypes.data, given.nbytes)


def get(driver: Any, at: int, count: int, dtype: Any) -> np.ndarray:
    found = np.empty(count, dtype)
    driver.memcpy_dtoh_v2(found.ctypes.data, at, found.nbytes)
    return found


def main() -> int:
    """Start the ranks and print what they say."""
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, str(Path(__file__).resolve()), "--rank", place]
        env = {**os.environ, "CUMULTICAST_NO_MULTICAST": "1"}
        jobs = [
            subprocess.Popen([*command, str(rank), str(ranks)], stdout=subprocess.PIPE, text=True, env=env)
            for rank in range(ranks)
        ]
        said = [json.loads(job.communicate(timeout=300)[0] or "null") for job in jobs]
    print(json.dumps({"ranks": said, "codes": [job.returncode for job in jobs]}, indent=1))
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        rank_main(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        sys.exit(main())
