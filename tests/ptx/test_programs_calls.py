"""Functions that call themselves and each other, function pointers, virtual functions, and the stack's end."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from cuda_programs import on_one_at_least, program, well

RNG = np.random.default_rng(7)
I32 = np.int32


def fibonacci(n: int) -> int:
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m: int, n: int) -> int:
    if not m:
        return n + 1
    return ackermann(m - 1, ackermann(m, n - 1) if n else 1)


@on_one_at_least
def test_recursion(architecture: str) -> None:
    out = np.zeros((70, 3), I32)
    well(program("calls", architecture, stack=8192)("recursion", 1, 70, [out]))
    assert out.tolist() == [[fibonacci(i % 13), ackermann(i % 3, i % 5), 1 - i % 2] for i in range(70)]


@on_one_at_least
def test_quicksort_with_pointers_to_locals(architecture: str) -> None:
    a = RNG.integers(-99, 99, (96, 40), I32)
    out, depth = np.zeros_like(a), np.zeros(96, I32)
    well(program("calls", architecture, stack=8192)("sort_each", 2, 48, [a, out, I32(40), depth]))
    assert np.array_equal(out, np.sort(a, 1))
    assert (depth >= 6).all() and (depth < 40).all()


def unary(which: int, x: int) -> int:
    return [x * 3, x + 7, (x + 1) // 2][which]


@on_one_at_least
def test_pointers_to_functions_of_two_types(architecture: str) -> None:
    out, wide, p = np.zeros(64, I32), np.zeros(64), RNG.integers(-9, 9, 64, I32)
    well(program("calls", architecture, stack=8192)("pointers", 1, 64, [out, wide, p]))
    chosen = [unary(0 if i & 4 else 1, 1000 * i) for i in range(64)]
    assert out.tolist() == [unary(i % 3, i) + chosen[i] for i in range(64)]
    assert wide.tolist() == [i * 0.5 + p[i] - (i - 40) if i & 1 else i * 0.5 * p[i] + i - 40 for i in range(64)]


@on_one_at_least
def test_a_pointer_goes_down_a_recursion(architecture: str) -> None:
    out = np.zeros(50, I32)
    well(program("calls", architecture, stack=8192)("pointers_into_recursion", 1, 50, [out]))

    def apply(i: int) -> int:
        x = i
        for _ in range(i % 6):
            x = unary(i & 1, x)
        return x

    assert out.tolist() == [apply(i) for i in range(50)]


@on_one_at_least
@pytest.mark.parametrize("address", [0, 0x105, 1 << 40])
def test_a_pointer_to_no_function_ends_the_kernel(address: int, architecture: str) -> None:
    out = np.zeros(32, I32)
    fault = program("calls", architecture, stack=8192)("wild_pointer", 1, 32, [np.uint64(address), out])
    assert fault.status in (700, 719) and fault.line > 0 and not out.any()


@on_one_at_least
def test_virtual_functions(architecture: str) -> None:
    out = np.zeros(48, np.float32)
    well(program("calls", architecture, stack=8192)("virtual_calls", 1, 48, [out]))

    def model(t: int) -> float:
        area = [t * t, 1 + t * t, 2 + t * t, 1]
        corners = [lambda m: 4 + m, lambda m: 6 + m, lambda m: 9 + m, lambda m: m]
        return sum(area[(i + t) % 4] + 100 * corners[(i + t) % 4](i) for i in range(1 + t % 4))

    assert out.tolist() == [model(t) for t in range(48)]


@on_one_at_least
def test_structures_by_value(architecture: str) -> None:
    kind = np.dtype([("a", I32), ("b", np.float32, 5), ("c", np.uint64)], align=True)
    s = np.zeros(40, kind)
    s["a"], s["b"], s["c"] = np.arange(40), np.arange(200).reshape(40, 5), np.arange(40)
    want = s.copy()
    for t in range(40):
        for k in (t, 3):
            want["a"][t] += k
            want["b"][t, k % 5] *= 2
            want["c"][t] ^= np.uint64(k << 40)
    well(program("calls", architecture, stack=8192)("structures", 1, 40, [s]))
    assert np.array_equal(s, want)


@on_one_at_least
def test_barriers_and_shuffles_in_functions(architecture: str) -> None:
    out = np.zeros(96, I32)
    well(program("calls", architecture, stack=8192)("barriers_in_functions", 1, 96, [out]))
    a = 96 * 95 // 2
    assert out.tolist() == [a if t % 2 else 97 * a for t in range(96)]


@on_one_at_least
def test_the_stack_has_an_end(architecture: str) -> None:
    run, out, p = program("calls", architecture, stack=8192), np.zeros(32, I32), np.ones(1, I32)
    well(run("stack", 1, 32, [out, I32(30), p]))
    assert out.tolist() == [1 + sum(range(31))] * 32
    fault = run("stack", 1, 32, [out, I32(100_000), p])
    assert fault.status in (700, 719), fault


def test_models_are_deep_enough() -> None:
    assert sys.getrecursionlimit() > 500 and ackermann(2, 4) == 11
