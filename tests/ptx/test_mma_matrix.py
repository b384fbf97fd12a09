"""ldmatrix, stmatrix, movmatrix: where elements go, generic addresses, faults, and what an H200 left in memory."""

from __future__ import annotations

import matrix_model as model
import numpy as np
import pytest
import straight
from grid import Grid
from test_mma import HEADER, recording
from warps import Warp


@pytest.mark.parametrize("space", [".shared", ".shared::cta", ""])
def test_every_form_of_b16(space: str) -> None:
    memory = model.memory()
    fault = Grid(HEADER + model.kernel(space))("matrices", 1, 32, [memory])
    assert fault.status == 0, fault
    assert np.array_equal(memory, model.expected())


def test_an_h200_leaves_the_same_memory() -> None:
    assert np.array_equal(recording()["matrices"], model.expected())


@pytest.mark.parametrize("count", [1, 2])
def test_transposed_bytes_are_loaded(count: int) -> None:
    """m16n16 .b8: after CuTe's SM100_U8x8_LDSM_T (thread, value) → bit, which needs sm_100a."""
    warp, registers = Warp(), [f"%r{i}" for i in range(2 * count)]
    rows = np.random.RandomState(3).randint(0, 256, (32, 16)).astype(np.uint8)
    warp.shared[:512] = rows.ravel()
    out = straight.run(
        ".reg .b32 %at, %r<4>;",
        f"ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.b8 {{{', '.join(registers)}}}, [%at];",
        {"%at": np.arange(32) * 16},
        registers,
        target="sm_100a",
        warp=warp.address,
    )
    for r, name in enumerate(registers):
        found = out[name].view(np.uint8).reshape(32, 4)
        for lane in range(32):
            for b in range(4):
                logical = 2 * (lane % 4) + b % 2 + 8 * (r % 2)  # the layout's row; that of lane i is 8 i1 + 2 i2 + i0
                row = logical % 2 + 2 * (logical // 8) + 4 * (logical // 2 % 4)
                assert found[lane, b] == rows[16 * (r // 2) + row, lane // 4 + 8 * (b // 2)]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_transposed_bytes_are_stored(count: int) -> None:
    """m16n8 .b8: after CuTe's SM100_U8x4_STSM_T, which needs sm_100a."""
    warp, registers = Warp(), [f"%r{i}" for i in range(count)]
    random = np.random.RandomState(4)
    given = {name: random.randint(0, 1 << 32, 32, np.uint32) for name in registers}
    straight.run(
        ".reg .b32 %at, %r<4>;",
        f"stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [%at], {{{', '.join(registers)}}};",
        {"%at": np.arange(32) * 16, **given},
        [],
        target="sm_100a",
        warp=warp.address,
    )
    rows = warp.shared[: 128 * count].reshape(-1, 16)
    for r, name in enumerate(registers):
        for lane, value in enumerate(given[name].view(np.uint8).reshape(32, 4)):
            for b in range(4):
                assert rows[8 * r + 2 * (lane % 4) + b % 2, lane // 4 + 8 * (b // 2)] == value[b]
    assert not warp.shared[128 * count :].any()


# ---- faults


def reading(address: str, count: int = 1, space: str = ".shared") -> str:
    registers = ", ".join(f"%r{i}" for i in range(count))
    return (
        HEADER + ".visible .entry k(.param .u64 io) {\n.reg .b32 %lane, %r<4>; .reg .b64 %at, %out;\n"
        ".shared .align 16 .b8 room[128];\n"
        "ld.param.u64 %out, [io]; mov.u32 %lane, %tid.x; cvt.u64.u32 %at, %lane; mul.lo.u64 %at, %at, 16;\n"
        f"{address}\n"
        f"ldmatrix.sync.aligned.m8n8.x{count}{space}.b16 {{{registers}}}, [%at];\n"
        "st.global.b32 [%out], %r0;\nret;\n}\n"
    )


#: (what makes the address, matrices, space) → status, lane
FAULTS = [
    ("", 2, ".shared", 700, 8),
    ("add.u64 %at, %at, 8;", 1, ".shared", 716, 0),
    ("cvta.shared.u64 %at, %at;", 2, "", 700, 8),
    ("mov.u64 %at, %out;", 1, "", 700, 0),
]


@pytest.mark.parametrize(("address", "count", "space", "status", "lane"), FAULTS)
def test_rows_that_cannot_be_read(address: str, count: int, space: str, status: int, lane: int) -> None:
    out = np.zeros(64, np.uint32)
    aligned = out[-(out.ctypes.data // 4) % 4 :]
    fault = Grid(reading(address, count, space))("k", 1, 32, [aligned])
    assert (fault.status, fault.line, fault.thread[0]) == (status, 9, lane), fault


@pytest.mark.parametrize(("address", "space"), [("", ".shared"), ("cvta.shared.u64 %at, %at;", "")])
def test_only_the_lanes_of_rows_need_an_address(address: str, space: str) -> None:
    assert Grid(reading(address, 1, space))("k", 1, 32, [np.zeros(4, np.uint32)]).status == 0
