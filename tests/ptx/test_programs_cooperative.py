"""Barriers of a whole grid, through cooperative launches of the driver."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from cuda.bindings import driver as cu
from cuda_programs import ptx

from answers import ok, status

TOO_LARGE = 720
B200 = pytest.mark.cuda_machine(machine="hgx-b200-8")


@pytest.mark.parametrize("architecture", ["90", pytest.param("100", marks=B200)])
@pytest.mark.parametrize(("grid", "block"), [(1, 33), (40, 64), (132, 96)])
def test_all_blocks_meet(context: int, grid: int, block: int, architecture: str) -> None:
    n, rounds = grid * block, 3
    module = ok(cu.cuModuleLoadData(ptx("groups", architecture)))
    function = ok(cu.cuModuleGetFunction(module, b"whole_grid"))
    data, out = (int(ok(cu.cuMemAlloc(4 * n))) for _ in range(2))
    ok(cu.cuMemsetD32(out, 0, n))
    kinds = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    ok(cu.cuLaunchCooperativeKernel(function, grid, 1, 1, block, 1, 1, 0, 0, ((data, out, rounds), kinds)))
    ok(cu.cuCtxSynchronize())
    found = np.empty(n, np.uint32)
    ok(cu.cuMemcpyDtoH(found.ctypes.data, out, 4 * n))
    i = np.arange(n)
    assert np.array_equal(found, sum((i + n // 2 + turn) % n * turn for turn in range(1, rounds + 1)))
    for address in (data, out):
        ok(cu.cuMemFree(address))
    ok(cu.cuModuleUnload(module))


def test_more_blocks_than_fit_cannot_meet(context: int) -> None:
    module = ok(cu.cuModuleLoadData(ptx("groups", "90")))
    function = ok(cu.cuModuleGetFunction(module, b"whole_grid"))
    given = ((0, 0, 0), (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int))
    most = 132 * int(ok(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, 1024, 0)))
    ok(cu.cuLaunchCooperativeKernel(function, most, 1, 1, 1024, 1, 1, 0, 0, given))
    ok(cu.cuCtxSynchronize())
    assert status(cu.cuLaunchCooperativeKernel(function, most + 1, 1, 1, 1024, 1, 1, 0, 0, given)) == TOO_LARGE
    ok(cu.cuModuleUnload(module))
