"""Special registers against what the launch says: where a thread is, how large everything is, what time it is."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from grid import Grid

from cumulticast.ptx.errors import PtxError

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
LANES = 32


def text(body: str, shared: str = "") -> str:
    """Write a kernel that stores %x of every thread of the grid."""
    return f"""{HEADER}
    .visible .entry k(.param .u64 out)
    {{
    {shared}
    .reg .b64 %a, %x, %y; .reg .b32 %b, %n, %t, %u, %v; .reg .pred %p;
    mov.u32 %b, %ctaid.z; mov.u32 %t, %nctaid.y; mov.u32 %u, %ctaid.y; mad.lo.u32 %b, %b, %t, %u;
    mov.u32 %t, %nctaid.x; mov.u32 %u, %ctaid.x; mad.lo.u32 %b, %b, %t, %u;
    mov.u32 %n, %tid.z; mov.u32 %t, %ntid.y; mov.u32 %u, %tid.y; mad.lo.u32 %n, %n, %t, %u;
    mov.u32 %t, %ntid.x; mov.u32 %u, %tid.x; mad.lo.u32 %n, %n, %t, %u;
    mov.u32 %u, %ntid.y; mul.lo.u32 %t, %t, %u; mov.u32 %u, %ntid.z; mul.lo.u32 %t, %t, %u;
    mad.lo.u32 %b, %b, %t, %n; ld.param.u64 %a, [out]; mad.wide.u32 %a, %b, 8, %a;
    {body}
    st.global.u64 [%a], %x;
    ret;
    }}"""


GRID, BLOCK, CLUSTER = (4, 3, 2), (5, 4, 2), (2, 1, 2)


def seen(body: str, *, grid: tuple = GRID, block: tuple = BLOCK, shared: str = "", **options: object) -> np.ndarray:
    """Run it; the axes of the answer are block z, y, x and thread z, y, x."""
    out = np.zeros((*grid[::-1], *block[::-1]), np.uint64)
    fault = Grid(text(body, shared))("k", grid, block, [out], **options)
    assert (fault.status, fault.reason) == (0, "")
    return out


def read(name: str, **options: object) -> np.ndarray:
    """Read a register of 32 bits."""
    return seen(f"mov.u32 %v, %{name}; cvt.u64.u32 %x, %v;", **options)


def places() -> itertools.product:
    return itertools.product(*map(range, (*GRID[::-1], *BLOCK[::-1])))


# ---- where a thread is


@pytest.mark.parametrize(("axis", "number"), [("x", 0), ("y", 1), ("z", 2)])
def test_numbers_and_sizes(axis: str, number: int) -> None:
    tid, ctaid = read(f"tid.{axis}"), read(f"ctaid.{axis}")
    for at in places():
        assert (ctaid[at], tid[at]) == (at[2 - number], at[5 - number])
    assert (read(f"ntid.{axis}") == BLOCK[number]).all()
    assert (read(f"nctaid.{axis}") == GRID[number]).all()


def test_lanes_and_warps() -> None:
    lane, warp = read("laneid"), read("warpid")
    for at in places():
        thread = (at[3] * BLOCK[1] + at[4]) * BLOCK[0] + at[5]
        assert (lane[at], warp[at]) == (thread % LANES, thread // LANES)
    assert (read("nwarpid") == 2).all()


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("eq", lambda lane: 1 << lane),
        ("le", lambda lane: (2 << lane) - 1),
        ("lt", lambda lane: (1 << lane) - 1),
        ("ge", lambda lane: 0xFFFFFFFF ^ (1 << lane) - 1),
        ("gt", lambda lane: 0xFFFFFFFF ^ (2 << lane) - 1),
    ],
)
def test_masks_of_lanes(name: str, model) -> None:
    found = read(f"lanemask_{name}", grid=(1, 1, 1), block=(LANES, 1, 1)).ravel()
    assert found.tolist() == [model(lane) & 0xFFFFFFFF for lane in range(LANES)]


def test_clusters() -> None:
    names = ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
    rank = read("cluster_ctarank", cluster=CLUSTER)
    for number, axis in enumerate("xyz"):
        index, count, within, size = (read(f"{name}.{axis}", cluster=CLUSTER) for name in names)
        for at in places():
            block = at[2 - number]
            assert (index[at], within[at]) == (block // CLUSTER[number], block % CLUSTER[number])
        assert (count == GRID[number] // CLUSTER[number]).all() and (size == CLUSTER[number]).all()
    for at in places():
        z, y, x = (at[2 - number] % CLUSTER[number] for number in (2, 1, 0))
        assert rank[at] == (z * CLUSTER[1] + y) * CLUSTER[0] + x
    assert (read("cluster_nctarank", cluster=CLUSTER) == 4).all()
    assert (read("cluster_nctarank") == 1).all() and (read("cluster_ctarank") == 0).all()


def test_a_block_stays_on_one_multiprocessor_of_those_there_are() -> None:
    on = read("smid")
    assert (read("nsmid") == 4).all()  # grid.py says so to every launch
    assert on.max() < 4 and len(np.unique(on)) == 4
    for at in itertools.product(*map(range, GRID[::-1])):
        assert len(np.unique(on[at])) == 1


@pytest.mark.parametrize("number", [0, 1, 2, 31])
def test_environment_registers_are_the_launch_s(number: int) -> None:
    """A cooperative launch hands over the address of its workspace in 1 and 2; the others are 0."""
    workspace = 0x0123456789ABCDEF
    halves = {1: workspace >> 32, 2: workspace & 0xFFFFFFFF}
    assert (read(f"envreg{number}") == 0).all()
    assert (read(f"envreg{number}", workspace=workspace) == halves.get(number, 0)).all()


def test_shared_memory_in_pieces() -> None:
    """As an H200's 128 bytes for 64 (data/h200_faults.json); the system's KiB counts in %aggr_smem_size."""
    one = {"grid": (1, 1, 1), "block": (1, 1, 1)}
    for static, dynamic, total in ((64, 0, 128), (128, 0, 128), (64, 100, 256), (0, 0, 0), (0, 129, 256)):
        shared = f".shared .b8 s[{static}]; .reg .b32 %s; mov.u32 %s, s;" if static else ""
        options = {**one, "shared": shared, "dynamic": dynamic}
        names = ("total_smem_size", "aggr_smem_size", "dynamic_smem_size")
        assert [int(read(name, **options)[0, 0, 0, 0, 0, 0]) for name in names] == [total, total + 1024, dynamic]


# ---- time


def test_the_clock_goes_on_in_every_lane_and_through_a_loop() -> None:
    body = """mov.u64 %y, %clock64; mov.u32 %v, 0;
    again: add.u32 %v, %v, 1; setp.lt.u32 %p, %v, 1000; @%p bra again;
    mov.u64 %x, %clock64; sub.u64 %x, %x, %y;"""
    passed = seen(body).astype(np.int64)
    assert (passed > 0).all()
    low = seen("mov.u32 %u, %clock; mov.u64 %y, %clock64; cvt.u32.u64 %v, %y; sub.u32 %v, %v, %u; cvt.u64.u32 %x, %v;")
    assert (low < 1 << 31).all()  # the low half of what is read a little later


def test_the_timer_is_the_host_s_in_nanoseconds() -> None:
    before = time.time_ns()
    found = seen("mov.u64 %x, %globaltimer;")
    after = time.time_ns()
    slack = 2_000_000_000
    assert before - slack <= int(found.min()) <= int(found.max()) <= after + slack
    high = seen("mov.u32 %v, %globaltimer_hi; cvt.u64.u32 %x, %v;")
    assert set((high - (found >> np.uint64(32))).ravel().tolist()) <= {0, 1}


@pytest.mark.parametrize("duration", ["%v", "3000000"])
def test_nanosleep_ends_and_lets_others_run(duration: str) -> None:
    """Of a register that differs between the lanes, too; at most twice as long as asked for, the ISA says: or less."""
    body = f"mov.u32 %v, %laneid; mul.lo.u32 %v, %v, 1000; nanosleep.u32 {duration}; mov.u64 %x, 9;"
    assert (seen(body) == 9).all()


def test_a_register_that_is_not_simulated_is_named() -> None:
    for name in ("pm0", "reserved_smem_offset_begin"):
        with pytest.raises(PtxError, match=name):
            Grid(text(f"mov.u32 %v, %{name}; cvt.u64.u32 %x, %v;")).code("k")
