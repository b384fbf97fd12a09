"""Profile hardware: an object's extent is its size rounded up to 512 MiB, and using more than the size is a finding."""

import numpy as np
import pytest
from builders import PAGE, STEP, Bind, accepted, access, ask, mapped, memory, piece, read, reserve, team, use
from cuda.bindings._v2 import driver

from cumulticast import multimem

pytestmark = pytest.mark.usefixtures("hardware")


def test_a_bind_beyond_the_size_is_a_finding(bind: Bind) -> None:
    mc, mem = team(size=STEP), piece(size=2 * STEP)
    assert accepted(bind, mc, 0, mem, 0, 2 * STEP) == "MC308"


def test_a_bind_beyond_the_extent_is_refused(bind: Bind) -> None:
    mc, mem = team(size=STEP), piece(size=2 * STEP)
    driver.multicast_bind_mem(mc, PAGE - STEP, mem.handle, 0, STEP, 0)
    other = piece(1, size=2 * STEP)
    # Beyond the extent is beyond the size, too: the one is the refusal, the other a finding before it.
    answer = refused_with_findings(bind, mc, PAGE - STEP, other, 0, 2 * STEP)
    assert answer == (1, ("MC309",), ("MC308",))


def refused_with_findings(call, *args):
    answer = ask(call, *args)
    return answer.status, answer.refused, answer.found


def test_the_extent_can_be_mapped_and_used() -> None:
    mc = team(size=STEP)
    memories = [memory(dev, 2 * STEP) for dev in (0, 1)]
    for mem in memories:
        assert accepted(driver.multicast_bind_mem, mc, 0, mem, 0, 2 * STEP, 0) == "MC308"
    ptr = reserve(2 * STEP)
    assert accepted(driver.mem_map, ptr, 2 * STEP, 0, mc, 0) == "MC505"
    driver.mem_set_access(ptr, 2 * STEP, access(0, 1), 2)
    multimem.store(ptr + 2 * STEP - 8, np.arange(8, dtype=np.uint8))
    for dev, mem in enumerate(memories):
        use(dev)
        assert (read(mapped(mem, 2 * STEP, [dev]) + 2 * STEP - 8, 8) == np.arange(8)).all()


def test_a_mapping_beyond_the_extent_is_refused() -> None:
    mc, ptr = team(size=STEP), reserve(PAGE + STEP)
    assert refused_with_findings(driver.mem_map, ptr, PAGE + STEP, 0, mc, 0) == (1, ("MC506",), ("MC505",))
    assert accepted(driver.mem_map, ptr, PAGE, 0, mc, 0) == "MC505"


def test_an_unbind_beyond_the_size_is_a_finding() -> None:
    mc, mem = team(size=STEP), memory()
    driver.multicast_bind_mem(mc, PAGE - STEP, mem, 0, STEP, 0)
    answer = refused_with_findings(driver.multicast_unbind, mc, 0, PAGE, STEP)
    assert answer == (1, ("MC404",), ("MC403",))
    assert accepted(driver.multicast_unbind, mc, 0, PAGE - STEP, STEP) == "MC403"


def test_the_same_memory_twice_in_one_object_is_a_finding(bind: Bind) -> None:
    mc, mem = team(size=2 * STEP), piece()
    assert accepted(bind, mc, 0, mem) == ""
    assert accepted(bind, mc, STEP, mem) == "MC329"
