"""Whole programs without multimem whose every output bit is fixed: what runs on a real GPU and on this package alike.

One table, `PROGRAMS`, which both tests/recording/program_probe.py (on the GPU) and
test_gpu_programs.py (on this package) carry out. No result depends on the order that threads run in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gpu_inputs import BF16, F16, F32, F64, Stream

u8, u32, u64, i64, f32, f64 = np.uint8, np.uint32, np.uint64, np.int64, np.float32, np.float64
#: Module → file of programs/, and NVRTC's options besides --fmad=false: no contraction but what is written.
MODULES: dict[str, tuple[str, ...]] = {
    "integers": ("integers", "--device-int128"),
    "warps": ("warps",),
    "floats": ("floats",),
    "floats_ftz": ("floats", "--ftz=true"),
    "parallel": ("parallel",),
    "calls": ("calls",),
    "divergence": ("divergence",),
    "groups": ("groups",),
    "barriers": ("barriers",),
}
#: These hold .approx as a first estimate that IEEE steps refine: remainders come out exact whatever it is, and log,
#: atan and pow (from rcp.approx.ftz.f64) of the library as if it were.
ESTIMATES = {"modular_powers", "roundings", "library"}
#: Bytes of local memory for a thread's calls: recursion goes deeper than a GPU's 1 KiB.
STACK = 8192
#: The first 256th root of 1 in the plane of complex numbers, a double2 that a kernel takes by value.
ROOT = np.array([(0.9996988186962042, -0.024541228522912288)], "f8, f8")[0]


@dataclass(frozen=True)
class Program:
    """One launch.

    Attributes
    ----------
    arguments
        Stream → the kernel's arguments: an array is handed over as its address, anything else as its bytes.
    dynamic
        Bytes of dynamic shared memory.
    cooperative
        Whether all blocks wait for all.
    """

    module: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Callable[[Stream], list[Any]]
    dynamic: int = 0
    cluster: tuple[int, ...] = (1, 1, 1)
    cooperative: bool = False

    @property
    def name(self) -> str:
        """Name the program; a module's options are part of it."""
        return f"{self.module}.{self.kernel}"

    def inputs(self) -> list[Any]:
        """Make the arguments anew."""
        return self.arguments(Stream(self.kernel))


def zeros(n: int, kind: type = np.int32) -> np.ndarray:
    return np.zeros(n, kind)


def i32(value: int) -> np.int32:
    return np.int32(value)


def _halves(special: tuple[int, ...]) -> Callable[[Stream], list[Any]]:
    return lambda s: [s.edges(2048, np.uint16, special), s.edges(2048, np.uint16, special), zeros(10240), i32(1024)]


def _squares(n: int, kind: type) -> Callable[[Stream], list[Any]]:
    return lambda s: [s.floats(n * n, 2, kind), s.floats(n * n, 2, kind), zeros(n * n, kind), i32(n)]


def _brains(s: Stream) -> list[Any]:
    a, b = ((s.floats(2048, 2).view(np.uint32) >> 16).astype(np.uint16) for _ in "ab")
    return [a, b, zeros(1024), i32(32)]


def _halved(s: Stream) -> list[Any]:
    a, b = (s.floats(2048, 2, np.float16) for _ in "ab")
    return [a, b, zeros(1024), i32(32)]


def _graph(s: Stream) -> list[Any]:
    n, each = 700, 3
    level = np.full(n, -1, np.int32)
    level[0] = 0
    return [np.arange(n + 1, dtype=np.int32) * each, s.ints(n * each, 0, n), level, zeros(64), i32(n)]


def _structures(s: Stream) -> list[Any]:
    kind = np.dtype([("a", "i4"), ("b", "5f4"), ("c", "u8")])
    found = np.zeros(64, kind)
    found["a"], found["b"] = s.ints(64, -99, 99), s.floats(320, 9).reshape(64, 5)
    return [found]


def _floats(module: str) -> list[Program]:
    """Answer the programs whose results depend on what becomes of subnormal numbers."""
    return [
        Program(module, "softmax_rows", (6,), (96,), lambda s: [s.floats(6 * 333, 50), zeros(6 * 333, f32), i32(333)]),
        Program(module, "layer_norm", (6,), (128,), lambda s: [s.floats(6 * 300, 3), zeros(6 * 300, f32), i32(300)]),
        Program(module, "product_f32", (3, 3), (16, 16), _squares(48, f32)),
        Program(module, "bodies", (1,), (64,), lambda s: [s.floats(256, 1), s.floats(256, 0.1), i32(20)]),
        Program(module, "exact_sums", (2,), (64,), lambda s: [s.floats(12800, 1e-37), zeros(512, f32), i32(100)]),
        Program(
            module,
            "roundings",
            (8,),
            (128,),
            lambda s: [
                *(s.edges(1024, f32, F32), s.edges(1024, f32, F32), zeros(28 * 1024, f32)),
                *(s.edges(1024, f64, F64), s.edges(1024, f64, F64), zeros(18 * 1024, f64), i32(1024)),
            ],
        ),
        Program(
            module,
            "conversions",
            (8,),
            (128,),
            lambda s: [s.edges(1024, np.uint64, F64 + F32), zeros(36 * 1024, np.uint64), i32(1024)],
        ),
    ]


INTEGERS = [
    ("sha256", 2, 48, lambda s: [s.ints(96 * 160, 0, 256, u8), zeros(768, u32), i32(160), i32(40)]),
    ("crc32", 1, 96, lambda s: [s.ints(96 * 50, 0, 256, u8), zeros(96, u32), i32(50)]),
    ("random_streams", 2, 64, lambda s: [s.bits(128), zeros(128, u64), i32(50)]),
    (
        "divisions",
        8,
        64,
        lambda s: [s.bits(512), s.bits(512) >> (s.bits(512) % u64(60)), zeros(12 * 512, u64), i32(512)],
    ),
    ("modular_powers", 2, 32, lambda s: [s.bits(64), zeros(128, u64), u64((1 << 61) - 1), u64(0x123456789ABC)]),
    ("wide_products", 1, 64, lambda s: [s.ints(512, 0, 1 << 32, u32), s.ints(512, 0, 1 << 32, u32), zeros(1024, u32)]),
    (
        "packed",
        4,
        64,
        lambda s: [s.ints(256, 0, 1 << 32, u32), s.ints(256, 0, 1 << 32, u32), zeros(3072, u32), i32(256)],
    ),
    ("queens", 1, 64, lambda s: [zeros(64, u32), i32(8)]),
    ("collatz_records", 2, 48, lambda s: [zeros(192, u64), u32(30)]),
    ("base64", 3, 64, lambda s: [s.ints(576, 0, 256, u8), zeros(768, u8), zeros(576, u8)]),
    ("decimal", 2, 64, lambda s: [s.bits(128).astype(u32) >> (s.bits(128) % u64(32)).astype(u32), zeros(1536, u8)]),
    ("runs", 2, 48, lambda s: [s.ints(96 * 60, 0, 3, u8), zeros(96 * 120, u8), zeros(96 * 60, u8), zeros(96), i32(60)]),
    ("distances", 2, 33, lambda s: [s.ints(66 * 40, 0, 256, u8), zeros(66), i32(40)]),
    ("life", 1, 64, lambda s: [s.ints(64, 0, 1 << 32, u32), i32(40)]),
]
WARPS = [
    ("shuffles", 1, 128, lambda s: [s.ints(128, 0, 1 << 32, u32), zeros(25 * 128, u32)]),
    ("votes_and_matches", 1, 128, lambda s: [s.ints(128, 0, 1 << 32, u32), zeros(7 * 128, u32)]),
    ("compact", 1, 512, lambda s: [s.ints(512, -999, 999), zeros(512), zeros(1)]),
    (
        "atomics",
        3,
        96,
        lambda s: [
            s.ints(2000, -(1 << 31), 1 << 31),
            np.ones(16, u32),
            np.full(8, 9, u64),
            zeros(4, f32),
            zeros(2, f64),
            i32(2000),
        ],
    ),
    (
        "last_block_sums",
        20,
        64,
        lambda s: [s.ints(2000, -(1 << 30), 1 << 30), zeros(20), zeros(1, u32), zeros(1, i64), i32(100)],
    ),
]
FLOATS = [
    ("product_f64", (2, 2), (16, 16), _squares(32, f64)),
    ("product_f16", (2, 2), (16, 16), _halved),
    ("product_bf16", (2, 2), (16, 16), _brains),
    ("solve", 5, 16, lambda s: [s.floats(5 * 16 * 17, 4, f64), i32(16)]),
    ("halves", 8, 128, _halves(F16)),
    ("brains", 8, 128, _halves(BF16)),
    ("mandelbrot", 16, 64, lambda s: [zeros(1024), zeros(1024, f64), i32(32), i32(300)]),
    ("fourier", 3, 256, lambda s: [s.floats(3 * 512, 8, f64), ROOT]),
    (
        "library",
        8,
        64,
        lambda s: [np.concatenate([s.floats(448, 30, f64), s.edges(64, f64, F64)]), zeros(7 * 512, f64), i32(512)],
    ),
]
PARALLEL = [
    ("saxpy", 3, 96, lambda s: [f32(2.7), s.floats(4000, 9), s.floats(4000, 9), i32(1000)]),
    ("sum_shuffled", 1, 256, lambda s: [s.floats(5000, 9), zeros(1, f32), i32(5000)]),
    (
        "scan_looking_back",
        60,
        64,
        lambda s: [s.ints(3835, -99, 99), zeros(3835), i32(3835), zeros(1, u32), zeros(60, u64)],
    ),
    ("transpose", (3, 2), (32, 8), lambda s: [s.floats(90 * 60, 9), zeros(90 * 60, f32), i32(90), i32(60)]),
    ("histogram", 3, 100, lambda s: [s.ints(6000, 0, 256, u8), zeros(256, u32), i32(6000)]),
    (
        "multiply",
        (3, 3),
        (16, 16),
        lambda s: [s.floats(1517, 1), s.floats(1394, 1), zeros(1258, f32), i32(37), i32(34), i32(41)],
    ),
    ("sort_radix", 1, 256, lambda s: [s.ints(1000, 0, 1 << 32, u32), zeros(1000, u32), i32(1000)]),
    (
        "conjugate_gradients",
        1,
        128,
        lambda s: [s.floats(196, 1, f64), *(zeros(196, f64) for _ in "xrpq"), i32(14), zeros(1)],
    ),
]
CALLS = [
    ("recursion", 1, 70, lambda s: [zeros(210)]),
    ("sort_each", 2, 48, lambda s: [s.ints(96 * 40, -99, 99), zeros(96 * 40), i32(40), zeros(96)]),
    ("pointers", 1, 64, lambda s: [zeros(64), zeros(64, f64), s.ints(64, -9, 9)]),
    ("pointers_into_recursion", 1, 50, lambda s: [zeros(50)]),
    ("virtual_calls", 1, 64, lambda s: [zeros(64, f32)]),
    ("structures", 1, 64, _structures),
    ("barriers_in_functions", 1, 128, lambda s: [zeros(128)]),
]
DIVERGENCE = [
    ("nested", 2, 96, lambda s: [zeros(192)]),
    ("switches", 1, 64, lambda s: [zeros(64)]),
    ("spin_lock", 4, 64, lambda s: [zeros(1, u32), zeros(1, u32)]),
    ("lanes_in_turn", 1, 32, lambda s: [zeros(1, u32), zeros(32, u32)]),
    ("blocks_in_reverse", 30, 32, lambda s: [zeros(30, u32), zeros(30, u32)]),
    ("grid_barrier_by_hand", 6, 64, lambda s: [zeros(1, u32), zeros(384, u32), zeros(384, u32)]),
    ("partial_masks", 1, 32, lambda s: [zeros(32, u32)]),
]
BARRIERS = [
    ("counting", 1, 99, lambda s: [zeros(99, u32)]),
    ("makers_and_users", 1, 128, lambda s: [zeros(96), i32(9)]),
    ("pairs_apart", 1, 256, lambda s: [zeros(256, u32), i32(20)]),
    ("pipeline", 1, 64, lambda s: [s.floats(7 * 256, 9), zeros(7 * 256, f32), i32(7)]),
    ("phases", 1, 128, lambda s: [zeros(64), i32(5)]),
]


def _simple(module: str, rows: list[Any]) -> list[Program]:
    def three(value: int | tuple[int, ...]) -> tuple[int, ...]:
        return (value,) if isinstance(value, int) else value

    return [Program(module, kernel, three(grid), three(block), inputs) for kernel, grid, block, inputs in rows]


PROGRAMS: list[Program] = [
    *_simple("integers", INTEGERS),
    *_simple("warps", WARPS),
    Program(
        "warps",
        "jacobi",
        (5,),
        (96,),
        lambda s: [s.floats(900, 9), zeros(900, f32), zeros(900, f32), i32(30), i32(10)],
        cooperative=True,
    ),
    Program("warps", "levels", (4,), (64,), _graph, cooperative=True),
    *_simple("floats", FLOATS),
    *_floats("floats"),
    *_floats("floats_ftz"),
    *_simple("parallel", PARALLEL),
    Program(
        "parallel",
        "sum_shared",
        (3,),
        (97,),
        lambda s: [s.ints(5000, 0, 1000), zeros(3, u64), i32(5000)],
        dynamic=4 * 97,
    ),
    Program(
        "parallel", "stencil", (16,), (64,), lambda s: [s.floats(1000, 9), zeros(1000, f32), i32(1000)], dynamic=280
    ),
    Program("parallel", "sort_bitonic", (1,), (512,), lambda s: [s.ints(512, -999, 999)], dynamic=2048),
    *_simple("calls", CALLS),
    *_simple("divergence", DIVERGENCE),
    *_simple("groups", [("tiles", 1, 64, lambda s: [zeros(256)]), ("labelled", 1, 64, lambda s: [zeros(128)])]),
    Program(
        "groups",
        "whole_grid",
        (5,),
        (64,),
        lambda s: [zeros(320, u32), zeros(320, u32), i32(4)],
        cooperative=True,
    ),
    Program("groups", "cluster_ring", (8,), (32,), lambda s: [zeros(256, u32)], cluster=(4, 1, 1)),
    Program(
        "groups",
        "cluster_histogram",
        (8,),
        (96,),
        lambda s: [s.ints(3000, 0, 64), zeros(64), i32(3000)],
        dynamic=256,
        cluster=(2, 1, 1),
    ),
    *_simple("barriers", BARRIERS),
]
