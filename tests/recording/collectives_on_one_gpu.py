"""Collectives over peer memory on one real GPU: several ranks with their replicas, streams and kernels on device 0.

``python tests/recording/collectives_on_one_gpu.py [RANKS] [DEVICE...]`` prints one JSON document; exit 1 when a result
has other bits than numpy's. It needs the package, cuda-bindings, NVRTC, numpy and ml_dtypes. It creates no multicast
object. With several devices named, rank i is on the i-th: `… 4 0 1 0 1`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "team" / "collectives"))  # the models

from collective_models import DTYPES, OPS, bits, reduced, values

from cumulticast import Team, driver
from cumulticast.team import collectives
from cumulticast.team.collectives import CollectiveTimeout
from cumulticast.team.collectives.engine import engine_of

COUNTS = (1, 3, 17, 1001, 2 * 8192 + 4099, 1_000_000)
ALGORITHMS = ("one_shot", "two_shot")
LARGE = 16 << 20


class Part:
    """A part of the team, as a process sees it that drives some of the ranks."""

    def __init__(self, team: Any, *ranks: int, timeout: float) -> None:
        self.team, self.mine, self.timeout = team, ranks, timeout
        self.devices = tuple(team.devices[rank] for rank in ranks)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.team, name)


def synchronize(seats: Any) -> None:
    for stream in engine_of(seats).streams():
        driver.stream_synchronize(stream)


def put(array: Any, rank: int, given: np.ndarray) -> None:
    driver.memcpy_htod_v2(array.peer(rank), given.ctypes.data, given.nbytes)
    driver.ctx_synchronize()  # pageable memory: the call may end before the copy, and other devices do not wait for it


def get(array: Any, rank: int) -> np.ndarray:
    found = np.empty(array.shape, array.dtype)
    driver.memcpy_dtoh_v2(found.ctypes.data, array.peer(rank), found.nbytes)
    return found


# ---- results

Act = Callable[[Any], None]
Want = Callable[[list[np.ndarray], int], np.ndarray]


def differs(team: Any, count: int, dtype: Any, act: Act, want: Want) -> list[int]:
    """Answer the ranks whose replica is not what it has to be."""
    given = [values(rank, count, dtype) for rank in range(team.size)]
    with team.empty(count, dtype) as array:
        for rank in range(team.size):
            put(array, rank, given[rank])
        act(array)
        synchronize(team)
        collectives.check(team)
        return [
            rank for rank in range(team.size) if not np.array_equal(bits(get(array, rank)), bits(want(given, rank)))
        ]


def scattered(op: str, given: list[np.ndarray], rank: int) -> np.ndarray:
    result, chunk = given[rank].copy(), len(given[rank]) // len(given)
    mine = slice(rank * chunk, (rank + 1) * chunk)
    result[mine] = reduced(op, given)[mine]
    return result


def gathered(given: list[np.ndarray], rank: int) -> np.ndarray:
    return np.concatenate([np.split(one, len(given))[k] for k, one in enumerate(given)])


def cases(team: Any, dtype: Any, algorithm: Any, count: int) -> Iterator[tuple[str, int, Act, Want]]:
    """List what is played: name, elements, the call, the model."""
    chunks, root = team.size * (count // team.size + 1), team.size - 1
    for op in OPS:
        yield (
            f"all_reduce {op}",
            count,
            lambda a, op=op: collectives.all_reduce(team, a, op, algorithm=algorithm),
            lambda given, rank, op=op: reduced(op, given),
        )
        yield (
            f"reduce_scatter {op}",
            chunks,
            lambda a, op=op: collectives.reduce_scatter(team, a, op, algorithm=algorithm),
            lambda given, rank, op=op: scattered(op, given, rank),
        )
    yield "all_gather", chunks, lambda a: collectives.all_gather(team, a, algorithm=algorithm), gathered
    yield (
        "broadcast",
        count,
        lambda a: collectives.broadcast(team, a, root, algorithm=algorithm),
        lambda given, rank: given[root],
    )


def results(team: Any) -> dict[str, Any]:
    """Compare everything with numpy."""
    played, wrong = 0, []
    for dtype in DTYPES:
        for algorithm in ALGORITHMS:
            for count in COUNTS:
                if algorithm == "one_shot" and (count + team.size) * dtype.itemsize > collectives.SCRATCH_BYTES // 2:
                    continue
                for name, elements, act, want in cases(team, dtype, algorithm, count):
                    played += 1
                    if ranks := differs(team, elements, dtype, act, want):
                        wrong.append([name, dtype.name, algorithm, elements, ranks])
    return {"played": played, "wrong": wrong}


# ---- order, graphs, failures


def in_a_row(team: Any, times: int = 200) -> bool:
    """Sum over and over with nothing between: integers wrap, so no step can be lost."""
    given = [values(rank, 1000, np.dtype(np.uint32)) for rank in range(team.size)]
    with team.empty(1000, "uint32") as array:
        for rank in range(team.size):
            put(array, rank, given[rank])
        want = given
        for step in range(times):
            collectives.all_reduce(team, array, algorithm=ALGORITHMS[step % 3 == 2])
            want = [reduced("sum", want)] * team.size
        synchronize(team)
        return all(np.array_equal(get(array, rank), want[rank]) for rank in range(team.size))


def captured(team: Any) -> bool:
    """Capture an all_reduce on each stream; launch the graphs three times."""
    streams = engine_of(team).streams()
    with team.empty(1000, "int32") as array:
        for rank in range(team.size):
            put(array, rank, np.full(1000, rank + 1, np.int32))
        for stream in streams:
            driver.stream_begin_capture_v2(stream, 1)
        collectives.all_reduce(team, array, stream=streams)
        graphs = [driver.stream_end_capture(stream) for stream in streams]
        ready = [driver.graph_instantiate_with_flags(graph, 0) for graph in graphs]
        for graph in ready:  # before the first waits for the others
            driver.graph_upload(graph, streams[0])
        for _ in range(3):
            for graph, stream in zip(ready, streams, strict=True):
                driver.graph_launch(graph, stream)
        synchronize(team)
        want = sum(range(1, team.size + 1)) * team.size**2
        found = all((get(array, rank) == want).all() for rank in range(team.size))
        for one in ready:
            driver.graph_exec_destroy(one)
        for graph in graphs:
            driver.graph_destroy(graph)
        return found


def missing(team: Any) -> dict[str, Any]:
    """Leave the last rank out, and have it come too late. The team is of no use any more after that."""
    last = team.size - 1
    here, late = Part(team, *range(last), timeout=1.0), Part(team, last, timeout=1.0)
    said: dict[str, Any] = {}
    try:
        with team.empty(1000, "float32") as array:
            begin = time.perf_counter()
            collectives.all_reduce(here, array)
            synchronize(here)
            said["seconds"] = time.perf_counter() - begin
            for name, part in (("here", here), ("late", late)):
                collectives.barrier(late) if part is late else None
                synchronize(part)
                try:
                    collectives.check(part)
                    said[name] = "nothing"
                except CollectiveTimeout as error:
                    said[name] = str(error)
            said["good"] = said["here"] == said["late"] != "nothing" and f"rank {last} " in said["here"]
    finally:
        collectives.close(here), collectives.close(late)
    return said


# ---- figures


def kernels(team: Any) -> dict[str, list[int]]:
    """Answer registers and local bytes of each kernel: local memory would make a first launch wait for the device."""
    asked, found = driver.FunctionAttribute, {}
    for (_, reduction), known in engine_of(team)._kernels.items():
        for name, kernel in known.items():
            if name:
                attributes = [driver.func_get_attribute(a, kernel) for a in (asked.NUM_REGS, asked.LOCAL_SIZE_BYTES)]
                found[
                    f"{reduction.kind if reduction else 'bytes'} {reduction.operation if reduction else ''} {name}"
                ] = attributes
    return found


def seconds(team: Any, name: str, count: int, algorithm: str, rounds: int = 20) -> float:
    """Answer the time of one of several in a row."""
    act = getattr(collectives, name)
    with team.empty(count, "float32") as array:
        act(team, array, algorithm=algorithm)
        synchronize(team)
        begin = time.perf_counter()
        for _ in range(rounds):
            act(team, array, algorithm=algorithm)
        synchronize(team)
        return (time.perf_counter() - begin) / rounds


def figures(team: Any) -> list[list[Any]]:
    """Time sizes from 1 KiB on: [collective, algorithm, bytes, microseconds]."""
    found = []
    for name in ("all_reduce", "reduce_scatter", "all_gather", "broadcast"):
        for size in (*(1 << power for power in range(10, 20)), LARGE):
            for algorithm in ALGORITHMS:
                if algorithm == "two_shot" or size <= collectives.SCRATCH_BYTES // 2:
                    found.append([name, algorithm, size, round(seconds(team, name, size // 4, algorithm) * 1e6, 1)])
    return found


@contextmanager
def current(device: int) -> Iterator[None]:
    """Make a device's context current."""
    driver.ctx_push_current_v2(driver.device_primary_ctx_retain(device))
    try:
        yield
    finally:
        driver.ctx_pop_current_v2()
        driver.device_primary_ctx_release_v2(device)


def main(ranks: int = 4, *devices: int) -> int:
    """Play everything, and print what came of it."""
    driver.init(0)
    on = [(devices or (0,))[rank % len(devices or (0,))] for rank in range(ranks)]
    said: dict[str, Any] = {"schema": 1, "device": driver.device_get_name(64, on[0]).split(b"\0")[0].decode()}
    said |= {"driver": driver.driver_get_version(), "ranks": ranks, "devices": on}
    with current(on[0]), Team.local(on, require_multicast=False, timeout=20.0) as team:
        said["why_not"] = str(team.why_not)
        said["results"] = results(team)
        said["in_a_row"], said["captured"] = in_a_row(team), captured(team)
        said["kernels"], said["figures"] = kernels(team), figures(team)
        said["missing"] = missing(team)
    said["good"] = not said["results"]["wrong"] and said["in_a_row"] and said["captured"] and said["missing"]["good"]
    print(json.dumps(said))
    return 0 if said["good"] else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
