"""multimem's speed as ratios to the best that numpy does with the same bytes, taken alternately in one run.

Eight replicas of 64 MiB at a padded stride, as the simulator's shadow windows lie.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np

from cumulticast.sim import native

REPLICAS = 8
NBYTES = 64 << 20
STRIDE = NBYTES + 3 * 4096  # an odd number of pages: no two replicas meet in one cache set
REPETITIONS = 7
RATIOS = [("store", "copies", "store"), ("f32", "sum", "f32"), ("bf16", "f32", "bf16"), ("f16", "f32", "f16")]
BLOCKS = [1 << shift for shift in range(13, 24)]  # bytes of numpy's partial sums


class Replicas:
    """The replicas, an operand and a result, each touched once so that no page fault is timed."""

    def __init__(self) -> None:
        self.memory = np.zeros(REPLICAS * STRIDE, dtype=np.uint8)
        self.base = self.memory.ctypes.data
        pattern = np.random.default_rng(1).standard_normal(NBYTES // 4, dtype=np.float32)
        self.operand = pattern.copy()
        self.result = np.ones_like(pattern)
        self.views = [self.memory[i * STRIDE : i * STRIDE + NBYTES].view(np.float32) for i in range(REPLICAS)]
        for view in self.views:
            view[:] = pattern

    def store(self) -> None:
        native.store(self.base, STRIDE, REPLICAS, self.operand.ctypes.data, NBYTES)

    def numpy_copies(self) -> None:
        for view in self.views:
            np.copyto(view, self.operand)

    def load_reduce(self, dtype: str) -> None:
        count = NBYTES // native.DTYPES[dtype].size
        native.load_reduce(self.result.ctypes.data, self.base, STRIDE, REPLICAS, count, dtype, "add")

    def numpy_sum(self, block: int) -> None:
        """Sum block by block, each partial sum staying in the cache while the replicas pass by."""
        step = block // 4
        for start in range(0, NBYTES // 4, step):
            part = slice(start, start + step)
            out = self.result[part]
            np.add(self.views[0][part], self.views[1][part], out=out)
            for view in self.views[2:]:
                np.add(out, view[part], out=out)


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def medians(works: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Run all works in turn, again and again, so that a slow moment of the machine meets each of them."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(REPETITIONS):
        for name, work in works.items():
            times[name].append(seconds(work))
    return {name: statistics.median(values[1:]) for name, values in times.items()}


def best_block(replicas: Replicas) -> int:
    """Return the block with which numpy is fastest on this machine."""
    return min(BLOCKS, key=lambda block: min(seconds(lambda: replicas.numpy_sum(block)) for _ in range(2)))


def result(name: str, value: float, unit: str, bound: float | None) -> dict[str, object]:
    holds = bound is None or value >= bound
    return {"name": name, "value": round(value, 3), "unit": unit, "bound": bound, "holds": holds}


def run() -> list[dict[str, object]]:
    """Return the three ratios that are promised, and the speeds they were taken from."""
    replicas = Replicas()
    block = best_block(replicas)
    took = medians(
        {
            "store": replicas.store,
            "copies": replicas.numpy_copies,
            "f32": lambda: replicas.load_reduce("f32"),
            "sum": lambda: replicas.numpy_sum(block),
            "bf16": lambda: replicas.load_reduce("bf16"),
            "f16": lambda: replicas.load_reduce("f16"),
        }
    )
    gigabytes = REPLICAS * NBYTES / 1e9
    ratio = {name: took[theirs] / took[ours] for name, theirs, ours in RATIOS}
    return [
        result("multimem.store to 8 replicas, against 8 numpy copies", ratio["store"], "x", 0.8),
        result("multimem.load_reduce f32, against the best blocked numpy sum", ratio["f32"], "x", 0.8),
        result("multimem.load_reduce bf16, against f32 by bytes", ratio["bf16"], "x", 0.25),
        result("multimem.load_reduce f16, against f32 by bytes", ratio["f16"], "x", None),
        result("multimem.store, bytes written", gigabytes / took["store"], "GB/s", None),
        result("multimem.load_reduce f32, bytes read", gigabytes / took["f32"], "GB/s", None),
        result("best block of the numpy sum", block / 1024, "KiB", None),
    ]


if __name__ == "__main__":
    for line in run():
        verdict = f"at least {line['bound']}: {'yes' if line['holds'] else 'NO'}" if line["bound"] else ""
        print(f"{line['name']:62} {line['value']:8} {line['unit']:5} {verdict}".rstrip())
