"""Collectives of programs/multimem.cu over eight devices, of one process or of eight: the same steps and checks.

A `Member` is one device's seat at a multicast object. A function here is given the members that live in its process,
lets all of them begin before it waits for any, and checks what each has got.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "conformance"))  # the builders

from builders import mapped, memory, read, unmapped, use, write
from cuda.bindings import driver as cu
from cuda.bindings._v2 import driver

RANKS = 8
SIZE = 4 << 20
OUT, FLAGS, SCRATCH = 1 << 20, 2 << 20, 3 << 20  # offsets; what is to be reduced lies at 0
N = 2048
TYPES = {int: ctypes.c_int, np.uint32: ctypes.c_uint}
BFLOAT16 = ml_dtypes.bfloat16


class Member:
    """A device's replica, bound and mapped, and the kernels loaded there."""

    def __init__(self, device: int, team: int, text: bytes, handle_types: int = 0) -> None:
        self.rank = device
        self.context = use(device)
        self.memory = memory(device, SIZE, handle_types)
        driver.multicast_bind_mem(team, 0, self.memory, 0, SIZE, 0)
        self.local = mapped(self.memory, SIZE, [device])
        self.mc = mapped(team, SIZE, [device])
        self.module = _ok(cu.cuModuleLoadData(text))
        self.stream = _ok(cu.cuStreamCreate(1))
        self.team = team

    def put(self, array: np.ndarray, offset: int = 0) -> None:
        """Write to the replica."""
        use(self.rank)
        write(self.local + offset, array)

    def get(self, count: int, kind: Any, offset: int = 0) -> np.ndarray:
        """Read the replica."""
        use(self.rank)
        return read(self.local + offset, count, kind)

    def launch(self, name: str, *arguments: int, grid: int = 4, block: int = 64) -> None:
        """Launch a kernel; addresses are Python integers above 2³², other arguments 32 bits."""
        use(self.rank)
        function = _ok(cu.cuModuleGetFunction(self.module, name.encode()))
        kinds = tuple(ctypes.c_void_p if value >> 32 else ctypes.c_int for value in arguments)
        _ok(cu.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, self.stream, (arguments, kinds), 0))

    def wait(self) -> None:
        """Wait for all kernels."""
        use(self.rank)
        _ok(cu.cuStreamSynchronize(self.stream))

    def close(self) -> None:
        """Give everything back."""
        use(self.rank)
        _ok(cu.cuStreamDestroy(self.stream))
        _ok(cu.cuModuleUnload(self.module))
        unmapped(self.mc, SIZE)
        unmapped(self.local, SIZE)
        driver.multicast_unbind(self.team, self.rank, 0, SIZE)
        driver.mem_release(self.memory)


def _ok(answer: tuple[Any, ...]) -> Any:
    assert int(answer[0]) == 0, answer
    return answer[1] if len(answer) == 2 else None


Together = Callable[[], None]


def run(members: Sequence[Member], name: str, arguments: Callable[[Member], tuple[int, ...]], **shape: int) -> None:
    """Launch on all members, then wait for all."""
    for member in members:
        member.launch(name, *arguments(member), **shape)
    for member in members:
        member.wait()


# ---- data that every process knows of every rank


def bits(rank: int, kind: Any, count: int = N) -> np.ndarray:
    """Make a rank's integers: all bits random."""
    random = np.random.default_rng([rank, 1])
    return random.integers(0, 256, count * np.dtype(kind).itemsize, np.uint8).view(kind)


def floats(rank: int, kind: Any, count: int = N) -> np.ndarray:
    """Make a rank's numbers, of very different sizes, so that the order of a sum shows."""
    random = np.random.default_rng([rank, 2])
    return (random.standard_normal(count) * 2.0 ** random.integers(-9, 9, count)).astype(kind)


def in_order(operation: Callable[[Any, Any], Any], values: Sequence[np.ndarray]) -> np.ndarray:
    """Combine in ascending order of ranks."""
    found = values[0]
    for value in values[1:]:
        found = operation(found, value).astype(value.dtype)
    return found


def wide_sum(values: Sequence[np.ndarray]) -> np.ndarray:
    """Add up in single precision, and round once."""
    return in_order(np.add, [value.astype(np.float32) for value in values]).astype(values[0].dtype)


SUM = {"add": np.add, "min": np.minimum, "max": np.maximum}
INTEGERS = {"u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64}
ONE_SHOT: dict[str, tuple[Any, Callable[[Sequence[np.ndarray]], np.ndarray]]] = {
    "f32_add": (np.float32, lambda v: in_order(np.add, v)),
    "f64_add": (np.float64, lambda v: in_order(np.add, v)),
    **{
        f"{name}_{op}": (kind, lambda v, op=op: in_order(SUM[op], v))
        for name, kind in INTEGERS.items()
        for op in SUM
        if (name, op) != ("s64", "add")
    },
    **{
        f"b{8 * np.dtype(kind).itemsize}_{op}": (kind, lambda v, op=op: in_order(getattr(np, f"bitwise_{op}"), v))
        for kind in (np.uint32, np.uint64)
        for op in ("and", "or", "xor")
    },
    **{
        f"{name}_{op}": (kind, lambda v, op=op: in_order(SUM[op], v))
        for name, kind in {"f16x2": np.float16, "bf16x2": BFLOAT16}.items()
        for op in ("min", "max")
    },
    # With and without .acc::f32: PTX leaves a plain sum as exact as the simulator likes, and both are the same there.
    **{f"f16x2_{op}": (np.float16, wide_sum) for op in ("add", "wide")},
    **{f"bf16x2_{op}": (BFLOAT16, wide_sum) for op in ("add", "wide")},
}


def data(rank: int, kind: Any) -> np.ndarray:
    whole = np.dtype(kind).kind in "iu"
    return bits(rank, kind) if whole else floats(rank, kind)


# ---- the collectives; `meet` lets all processes come together


def one_shot(members: Sequence[Member], meet: Together, name: str) -> None:
    kind, model = ONE_SHOT[name]
    for member in members:
        member.put(data(member.rank, kind))
    meet()
    words = N * np.dtype(kind).itemsize // (8 if np.dtype(kind).itemsize == 8 else 4)
    run(members, f"one_shot_{name}", lambda m: (m.mc, m.local + OUT, words))
    want = model([data(rank, kind) for rank in range(RANKS)])
    for member in members:
        assert member.get(N, kind, OUT).tobytes() == want.tobytes(), f"{name} of rank {member.rank}"
    meet()


TWO_SHOT = {"f32": "f32_add", "f16x2": "f16x2_add", "bf16x2": "bf16x2_wide"}


def two_shot(members: Sequence[Member], meet: Together, name: str) -> None:
    kind, model = ONE_SHOT[TWO_SHOT[name]]
    words = N * np.dtype(kind).itemsize // 4
    want = model([data(rank, kind) for rank in range(RANKS)])
    for member in members:
        member.put(np.zeros(64, np.uint32), FLAGS)
    for epoch in range(2):
        for member in members:
            member.put(data(member.rank, kind))
        meet()
        run(
            members,
            f"two_shot_{name}",
            lambda m, epoch=epoch: (m.mc, m.mc + FLAGS, m.local + FLAGS, words, m.rank, RANKS, epoch),
            grid=2,
        )
        for member in members:
            assert member.get(N, kind).tobytes() == want.tobytes(), f"{name} of rank {member.rank}"
        meet()


def barriers(members: Sequence[Member], meet: Together) -> None:
    for member in members:
        member.put(np.zeros(64, np.uint32), FLAGS)
    meet()
    arguments = lambda m: (m.mc + FLAGS, m.local + FLAGS, m.mc, m.local, m.local + OUT, m.rank, RANKS, 20)  # noqa: E731
    run(members, "barriers", arguments, grid=3, block=40)
    for member in members:
        assert not member.get(96, np.uint32, OUT).reshape(3, 32)[:, :RANKS].any()
    meet()


def gathered(members: Sequence[Member], meet: Together) -> None:
    for member in members:
        member.put(floats(member.rank, np.float32), SCRATCH)
    meet()
    run(members, "all_gather", lambda m: (m.local + SCRATCH, m.mc, N // 4, m.rank))
    meet()
    want = np.concatenate([floats(rank, np.float32) for rank in range(RANKS)])
    for member in members:
        assert np.array_equal(member.get(RANKS * N, np.float32), want)
    meet()


def scattered(members: Sequence[Member], meet: Together) -> None:
    values = [
        np.concatenate([floats(RANKS * rank + part, np.float32) for part in range(RANKS)]) for rank in range(RANKS)
    ]
    for member in members:
        member.put(values[member.rank])
    meet()
    run(members, "reduce_scatter", lambda m: (m.mc, m.local + OUT, N, m.rank))
    want = in_order(np.add, values).reshape(RANKS, N)
    for member in members:
        assert np.array_equal(member.get(N, np.float32, OUT), want[member.rank])
    meet()


def pushed(members: Sequence[Member], meet: Together) -> None:
    for member in members:
        member.put(np.zeros(N, np.uint32))
        member.put(bits(member.rank, np.uint32), SCRATCH)
    meet()
    run(members, "push_sums", lambda m: (m.local + SCRATCH, m.mc, N))
    meet()
    want = in_order(np.add, [bits(rank, np.uint32) for rank in range(RANKS)])
    for member in members:
        assert np.array_equal(member.get(N, np.uint32), want)
    meet()


def lamport(members: Sequence[Member], meet: Together) -> None:
    n, rounds = 256, 7
    for member in members:
        member.put(np.full(3 * RANKS * n, -0.0, np.float32))
        member.put(floats(member.rank, np.float32, n), SCRATCH)
    meet()
    arguments = lambda m: (m.local + SCRATCH, m.mc, m.local, m.local + OUT, n, m.rank, RANKS, rounds)  # noqa: E731
    run(members, "lamport", arguments)
    values = [floats(rank, np.float32, n) for rank in range(RANKS)]
    zero = np.zeros(n, np.float32)
    want = [in_order(np.add, [zero, *(v * np.float32(turn + 1) for v in values)]) for turn in range(rounds)]
    for member in members:
        assert np.array_equal(member.get(rounds * n, np.float32, OUT), np.concatenate(want))
    meet()


OTHERS = {"barriers": barriers, "all_gather": gathered, "reduce_scatter": scattered, "push": pushed, "lamport": lamport}
