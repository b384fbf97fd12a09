"""Programs that are right stay right under adversarial memory, and nothing is found about them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import collectives
import numpy as np
import pytest
from adversaries import SEEDS, adversary
from collectives import OTHERS, RANKS, SIZE, Member
from cuda_programs import ptx, well
from grid import Grid

from answers import ok
from cumulticast.ptx.runtime import ffi, lib

ADVERSARIAL = [pytest.param(seed, marks=pytest.mark.cuda_machine(memory=f"adversarial:{seed}")) for seed in SEEDS]
RNG = np.random.default_rng(11)


@pytest.fixture
def members(machine: object) -> Iterator[list[Member]]:
    """Seat eight devices of this process at one object."""
    from builders import team
    from cuda.bindings import driver as cu
    from cuda.bindings._v2 import driver

    handle = team(RANKS, SIZE)
    made = [Member(device, handle, ptx("multimem", "90")) for device in range(RANKS)]
    yield made
    for member in made:
        member.close()
    driver.mem_release(handle)
    driver.ctx_set_current(0)
    for member in made:
        ok(cu.cuDevicePrimaryCtxRelease(member.rank))


@pytest.mark.parametrize("seed", ADVERSARIAL)
def test_an_all_reduce_with_its_fences(members: list[Member], cuda_machine: Any, seed: int) -> None:
    collectives.one_shot(members, lambda: None, "f32_add")
    collectives.two_shot(members, lambda: None, "f32")
    OTHERS["barriers"](members, lambda: None)
    assert cuda_machine.findings == []


@pytest.mark.parametrize(
    ("fence", "less", "code", "said"),
    [
        (b"fence.proxy.alias;", b"", "MC1301", "fence.proxy.alias is missing"),
        (b"multimem.red.release.sys", b"multimem.red.relaxed.sys", "MC1302", "fence.acq_rel.sys"),
    ],
)
def test_a_barrier_of_all_ranks_without_one_of_its_fences(fence: bytes, less: bytes, code: str, said: str) -> None:
    from builders import team
    from cuda.bindings import driver as cu

    from cumulticast import sim

    text, found = ptx("multimem", "90"), list[Any]()
    assert fence in text
    for seed in SEEDS:
        sim.start(memory=f"adversarial:{seed}")
        ok(cu.cuInit(0))
        handle = team(RANKS, SIZE)
        members = [Member(device, handle, text.replace(fence, less)) for device in range(RANKS)]
        with contextlib.suppress(AssertionError):  # what ranks have read may be wrong, or not
            OTHERS["barriers"](members, lambda: None)
        found += sim.findings()
        sim.stop()
    assert {finding.rule for finding in found} == {code}
    assert all(said in finding.message and "kernel barriers line " in finding.message for finding in found)


def nothing_found(made: Any) -> bool:
    """Tell whether nothing was found."""
    return lib.ptx_adversary_take(made, ffi.new("struct ptx_finding[]", 1), 1) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_that_add_up_and_look_back(seed: int) -> None:
    with adversary(seed) as made:
        run = Grid(ptx("parallel"), adversary=made)
        a, out = RNG.integers(0, 1000, 4096, np.int32), np.zeros(3, np.uint64)
        well(run("sum_shared", 3, 256, [a, out, np.int32(4096)], dynamic=1024))
        assert out.sum() == a.sum()
        n = 40 * 64 - 5
        a, out, state = RNG.integers(-99, 99, n, np.int32), np.zeros(n, np.int32), np.zeros(40, np.uint64)
        well(run("scan_looking_back", 40, 64, [a, out, np.int32(n), np.zeros(1, np.uint32), state]))
        assert np.array_equal(out, np.cumsum(a))
        assert nothing_found(made)
