"""Whole kernels that touch memory: what ends them, and where; variables of every space; blocks that share memory."""

from __future__ import annotations

import numpy as np
import pytest
from grid import Fault, Grid
from multicasts import ADDRESS, Multicast
from warps import GRANULE, Warp

from cumulticast.ptx import layout

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
NOTHING = 0x7654 * GRANULE


def kernel(body: str, *, parameters: str = ".param .u64 p", variables: str = "") -> Grid:
    """Compile kernel ``k``: %a is its parameter, %t the thread's number."""
    return Grid(
        f"""{HEADER}{variables}
        .visible .entry k({parameters})
        {{
        .reg .b64 %a, %b, %o; .reg .b32 %t, %x, %y, %z, %s; .reg .b16 %h; .reg .pred %p, %q;
        mov.u32 %t, %tid.x; ld.param.u64 %a, [p];
        {body}
        ret;
        }}
        """
    )


def fault_of(body: str, argument: int | np.ndarray, *, block: int = 32, **options: object) -> Fault:
    """Run a kernel with one argument."""
    value = argument if isinstance(argument, np.ndarray) else np.uint64(argument)
    return kernel(body)("k", 1, block, [value], **options)


# ---- global memory


ONE_LANE = "setp.ne.u32 %p, %t, 5; @%p bra done; {} done:"
ACCESSES = {
    "load": "ld.global.u32 %x, [%a];",
    "store": "st.global.u32 [%a], %t;",
    "load of one lane": ONE_LANE.format("add.u64 %b, %a, 0; ld.global.u32 %x, [%b];"),
    "row": "mul.wide.u32 %o, %t, 4; add.u64 %b, %a, %o; ld.global.u32 %x, [%b];",
    "generic": "mul.wide.u32 %o, %t, 4; add.u64 %b, %a, %o; st.u32 [%b], %t;",
    "volatile": "ld.volatile.global.u32 %x, [%a];",
    "atom": "atom.global.add.u32 %x, [%a], 1;",
    "red": "red.global.add.u32 [%a], 1;",
    "cas of 64 bits": "atom.global.cas.b64 %b, [%a], 1, 2;",
}


@pytest.mark.parametrize("what", ACCESSES)
def test_nothing_is_mapped(what: str) -> None:
    room = np.zeros(64, np.uint64)
    assert fault_of(ACCESSES[what], room).status == 0
    fault = fault_of(ACCESSES[what], NOTHING)
    assert fault.status == 700 and "nothing is mapped" in fault.reason
    assert fault.address == NOTHING
    assert fault.line == 9
    assert fault.thread == ((5 if what == "load of one lane" else 0), 0, 0)


def test_null_is_called_by_its_name() -> None:
    fault = fault_of("ld.global.u32 %x, [%a+16];", 0)
    assert (fault.status, fault.address) == (700, 16) and "null pointer" in fault.reason


@pytest.mark.parametrize("address", [1 << layout.ADDRESS_BITS, 1 << 63, (1 << 64) - 4])
@pytest.mark.parametrize("what", ["load", "row", "atom"])
def test_addresses_beyond_all_memory(address: int, what: str) -> None:
    assert fault_of(ACCESSES[what], address).status == 700


@pytest.mark.parametrize(("what", "size"), [("load", 4), ("row", 4), ("atom", 4), ("cas of 64 bits", 8)])
def test_misaligned(what: str, size: int) -> None:
    room = np.zeros(64, np.uint64)
    body = f"add.u64 %a, %a, {{}}; {ACCESSES[what]}"
    assert fault_of(body.format(size), room).status == 0
    fault = fault_of(body.format(size // 2), room)
    assert fault.status == 716 and f"no multiple of {size}" in fault.reason
    assert fault.address == room.ctypes.data + size // 2


@pytest.mark.parametrize("words", ["v2.u32", "v4.u32", "v2.u64"])
def test_vectors_are_aligned_as_a_whole(words: str) -> None:
    room = np.zeros(128, np.uint64)
    start = -room.ctypes.data % 16
    bits, count = int(words[-2:]), int(words[1])
    registers = "{" + ", ".join(("%x, %y, %z, %s" if bits == 32 else "%b, %o").split(", ")[:count]) + "}"
    body = f"add.u64 %a, %a, OFFSET; ld.global.{words} {registers}, [%a];"
    assert fault_of(body.replace("OFFSET", str(start)), room).status == 0
    assert fault_of(body.replace("OFFSET", str(start + bits // 8)), room).status == 716


def test_rights_are_the_devices_own() -> None:
    room = np.zeros(2 * GRANULE, np.uint8)
    at = room.ctypes.data + -room.ctypes.data % GRANULE
    for right, load, store in (
        (layout.RIGHT_READ, 0, 700),
        (layout.RIGHT_READ | layout.RIGHT_WRITE, 0, 0),
        (0, 700, 700),
    ):
        for body, status in ((ACCESSES["row"], load), (ACCESSES["store"], store), (ACCESSES["atom"], store)):
            grid = kernel(body)
            grid.rights.allow(at, 1, right)
            assert grid("k", 1, 32, [np.uint64(at)]).status == status
    grid = kernel(ACCESSES["store"])
    grid.rights.allow(at, 1, layout.RIGHT_READ)
    assert "may only read" in grid("k", 1, 32, [np.uint64(at)]).reason


def test_mixed_granules_are_left_to_the_host() -> None:
    room = np.zeros(2 * GRANULE, np.uint8)
    at = room.ctypes.data + -room.ctypes.data % GRANULE
    grid = kernel(ACCESSES["generic"])
    grid.rights.allow(at, 1, layout.RIGHT_MIXED)
    assert grid("k", 1, 32, [np.uint64(at)]).status == 0
    assert room[-room.ctypes.data % GRANULE :][:128].view(np.uint32).tolist() == list(range(32))


def test_a_row_may_cross_into_a_granule_without_rights() -> None:
    room = np.zeros(3 * GRANULE, np.uint8)
    at = room.ctypes.data + -room.ctypes.data % GRANULE
    grid = kernel(ACCESSES["row"])
    grid.rights.allow(at, 1)
    assert grid("k", 1, 32, [np.uint64(at + GRANULE - 128)]).status == 0
    fault = grid("k", 1, 32, [np.uint64(at + GRANULE - 64)])
    assert (fault.status, fault.thread[0], fault.address) == (700, 16, at + GRANULE)


# ---- multicast addresses


def test_multicast_addresses() -> None:
    warp = Warp(granules=1)
    multicast = Multicast(warp, 4, 2 * GRANULE)
    multicast.bind([(0, GRANULE)], [(GRANULE, 2 * GRANULE, 3)])

    def run(body: str, address: int) -> Fault:
        grid = kernel(body)
        grid.rights.allow(ADDRESS, 2 * GRANULE, layout.RIGHT_MULTICAST)
        grid.rights.allow(warp.base, 1)
        return grid("k", 1, 32, [np.uint64(address)], multicast=multicast.pointer)

    for body in (
        "multimem.ld_reduce.global.add.u32 %x, [%a];",
        "multimem.st.global.u32 [%a], 7;",
        "multimem.red.global.add.u32 [%a], 1;",
    ):
        assert run(body, ADDRESS).status == 0
        fault = run(body, ADDRESS + GRANULE)
        assert (
            fault.status == 700
            and "device 3 has no memory bound" in fault.reason
            and fault.address == ADDRESS + GRANULE
        )
        fault = run(body, warp.base)
        assert fault.status == 700 and "needs a multicast address" in fault.reason
        assert run(body, ADDRESS + 2).status == 716
    fault = run(ACCESSES["load"], ADDRESS)
    assert fault.status == 700 and "ordinary accesses are undefined" in fault.reason
    assert [row[:4].view(np.uint32)[0] for row in multicast.rows] == [7 + 32] * 4


def test_a_misaligned_access_is_called_so_only_where_there_is_memory() -> None:
    room = np.zeros(64, np.uint64)
    for body in ("ld.global.u32 %x, [%a+2];", "st.u32 [%a+2], %t;", "atom.global.add.u32 %x, [%a+2], 1;"):
        assert fault_of(body, room).status == 716
        assert fault_of(body, NOTHING).status == 700


def test_a_barrier_takes_whole_warps_only() -> None:
    body = "mov.u32 %y, {}; bar.sync 1, %y;"
    assert fault_of(body.format("%ntid.x"), 0, block=64).status == 0
    fault = fault_of("add.u32 %y, %t, 0; sub.u32 %y, %y, %t; add.u32 %y, %y, 33; bar.sync 1, %y;", 0, block=64)
    assert fault.status == 715 and "33 threads" in fault.reason and fault.line


def test_more_arrivals_than_an_mbarrier_waits_for() -> None:
    body = ".shared .b64 m; mov.u32 %s, m; {} setp.ne.u32 %p, %t, 0; @%p bra done; {} done:"
    init = "mbarrier.init.shared.b64 [%s], 2; bar.sync 0;"
    assert fault_of(body.format(init, "mbarrier.arrive.shared.b64 %b, [%s], 2;"), 0).status == 0
    fault = fault_of(body.format(init, "mbarrier.arrive.shared.b64 %b, [%s], 3;"), 0)
    assert fault.status == 719 and "3 arrivals" in fault.reason and "2 are pending" in fault.reason
    fault = fault_of(body.format("st.shared.u64 [%s], 0; bar.sync 0;", "mbarrier.arrive.shared.b64 %b, [%s];"), 0)
    assert fault.status == 719 and "not initialised" in fault.reason


# ---- shared, local, parameters


@pytest.mark.parametrize(("offset", "status"), [(124, 0), (128, 700), (-4, 715), (126, 716)])
@pytest.mark.parametrize("register", ["%s", "%b"])
def test_bounds_of_shared_memory(offset: int, status: int, register: str) -> None:
    kind = "u32" if register == "%s" else "u64"
    body = f".shared .b8 v[128]; mov.{kind} {register}, v; add.{kind} {register}, {register}, {offset};"
    fault = fault_of(f"{body} ld.shared.u32 %x, [{register}];", 0)
    assert fault.status == status
    if status in (700, 715):
        assert "shared memory, which has 128 bytes" in fault.reason


def test_dynamic_shared_memory_has_the_launch_s_size() -> None:
    grid = kernel("mul.lo.u32 %s, %t, 4; st.shared.u32 [%s], %t;")
    assert grid("k", 1, 64, [np.uint64(0)], dynamic=256).status == 0
    assert grid("k", 1, 64, [np.uint64(0)], dynamic=128).status == 700


def test_bounds_of_local_memory() -> None:
    body = ".local .b8 v[16]; mov.u64 %b, v; add.u64 %b, %b, {}; st.local.u32 [%b], %t;"
    assert fault_of(body.format(12), 0).status == 0
    fault = fault_of(body.format(16), 0)
    assert fault.status == 700 and "local memory" in fault.reason


def test_another_lanes_local_memory_is_out_of_reach() -> None:
    body = """.local .b8 v[16]; mov.u64 %b, v; cvta.local.u64 %b, %b; cvt.u64.u32 %o, %t;
              shl.b64 %o, %o, {}; xor.b64 %o, %o, %o; add.u64 %b, %b, {}; ld.u32 %x, [%b];"""
    assert fault_of(body.format(1, 0), 0).status == 0
    assert fault_of(body.format(1, 16), 0).status == 700


def test_parameters_through_registers() -> None:
    room = np.zeros(4, np.uint32)
    body = "mov.b64 %b, p; {} ld.param.u32 %x, [%b+8]; st.global.u32 [%a], %x;"
    text = ".param .u64 p, .param .u32 q"
    fault = kernel(body.format(""), parameters=text)("k", 1, 32, [room, np.uint32(77)])
    assert fault.status == 0 and room[0] == 77
    fault = kernel(body.format("add.u64 %b, %b, 4;"), parameters=text)("k", 1, 32, [room, np.uint32(77)])
    assert fault.status == 700 and "param memory" in fault.reason


def test_variables_of_every_space() -> None:
    room = np.zeros(4, np.uint32)
    variables = ".global .u32 g[2] = {5, 6}; .const .u32 c[2] = {7, 8};"
    body = """.shared .u32 s[2]; .local .u32 l[2];
              st.shared.u32 [s+4], 9; ld.shared.u32 %y, [s+4]; st.local.u32 [l+4], %t; ld.local.u32 %z, [l+4];
              ld.global.u32 %x, [g+4]; st.global.u32 [%a], %x; ld.const.u32 %x, [c+4]; st.global.u32 [%a+4], %x;
              st.global.u32 [%a+8], %y; setp.eq.u32 %p, %t, 31; @%p st.global.u32 [%a+12], %z;"""
    fault = kernel(body, variables=variables)("k", 1, 32, [room])
    assert (fault.status, room.tolist()) == (0, [6, 8, 9, 31])


def test_generic_addresses_of_variables() -> None:
    room = np.zeros(32, np.uint32)
    body = """.shared .u32 s[32]; mul.wide.u32 %o, %t, 4; mov.u64 %b, s; cvta.shared.u64 %b, %b; add.u64 %b, %b, %o;
              st.u32 [%b], %t; add.u64 %a, %a, %o; ld.u32 %x, [%b]; st.u32 [%a], %x;"""
    assert fault_of(body, room).status == 0
    assert room.tolist() == list(range(32))


# ---- together


def test_a_warp_waits_for_a_copy_and_others() -> None:
    """A producer fills shared memory by a bulk copy; three consumer warps wait for its barrier."""
    room = np.zeros(64 + 96, np.uint32)
    start = -room.ctypes.data % 16 // 4
    room[start : start + 32] = np.arange(32) + 100
    body = f"""add.u64 %a, %a, {start * 4};
        .shared .align 16 .b8 data[128]; .shared .align 8 .b64 bar;
        setp.ne.u32 %p, %t, 0; @%p bra ready; mbarrier.init.shared::cta.b64 [bar], 1; ready: bar.sync 0;
        @%p bra wait; mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [data], [%a], 128, [bar];
        wait: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra wait;
        and.b32 %x, %t, 31; shl.b32 %x, %x, 2; mov.u32 %s, data; add.u32 %s, %s, %x; ld.shared.u32 %y, [%s];
        mul.wide.u32 %o, %t, 4; add.u64 %b, %a, %o; st.global.u32 [%b+128], %y;"""
    assert fault_of(body, room, block=96).status == 0
    assert room[start + 32 : start + 128].tolist() == [100 + i % 32 for i in range(96)]


def test_blocks_of_a_cluster_write_into_each_other() -> None:
    room = np.zeros(4, np.uint32)
    body = """.shared .u32 s[2]; mov.u32 %x, %cluster_ctarank; xor.b32 %y, %x, 1;
        mapa.shared::cluster.u32 %s, s, %y; add.u32 %z, %x, 50; st.shared::cluster.u32 [%s], %z;
        mov.u64 %b, s; cvta.shared.u64 %b, %b; mapa.u64 %b, %b, %y; add.u32 %z, %x, 60; st.u32 [%b+4], %z;
        barrier.cluster.arrive; barrier.cluster.wait;
        ld.shared.u32 %y, [s]; ld.shared.u32 %z, [s+4]; mul.wide.u32 %o, %x, 8; add.u64 %b, %a, %o;
        st.global.v2.u32 [%b], {%y, %z};"""
    fault = kernel(body)("k", 2, 32, [room], cluster=(2, 1, 1))
    assert (fault.status, fault.reason) == (0, "")
    assert room.tolist() == [51, 61, 50, 60]


def test_ranks_meet_at_a_barrier_in_multicast_memory() -> None:
    """Each block adds 1 to every replica and spins until the sum over the replicas says that all have come."""
    warp, room = Warp(granules=1), np.zeros(8, np.uint32)
    multicast = Multicast(warp, 4)
    body = f"""mov.u64 %b, {ADDRESS}; setp.ne.u32 %p, %t, 0; @%p bra done;
        multimem.red.release.sys.global.add.u32 [%b], 1;
        spin: multimem.ld_reduce.acquire.sys.global.add.u32 %x, [%b]; setp.lt.u32 %q, %x, 32; @%q bra spin;
        mov.u32 %y, %ctaid.x; mul.wide.u32 %o, %y, 4; add.u64 %a, %a, %o; st.global.u32 [%a], %x; done:"""
    grid = kernel(body)
    grid.rights.allow(ADDRESS, 1, layout.RIGHT_MULTICAST)
    assert grid("k", 8, 64, [room], multicast=multicast.pointer).status == 0
    assert room.tolist() == [32] * 8
