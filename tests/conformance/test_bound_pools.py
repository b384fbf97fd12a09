"""Memory by address: pool memory can be bound, memory of cuMemAlloc and of the host cannot."""

import numpy as np
import pytest
from builders import STEP, Bind, Piece, accepted, mapped, piece, read, refused, team, use
from cuda.bindings._v2 import driver

from cumulticast import multimem

FORMS = pytest.mark.parametrize("form", [Bind(True, False), Bind(True, True)], ids=lambda form: form.__name__)
pytestmark = pytest.mark.usefixtures("either")


def from_pool(dev: int, size: int) -> int:
    """Allocate from a device's default pool, in the default stream."""
    use(dev)
    return driver.mem_alloc_async(size, 0)


@FORMS
def test_pool_memory_is_bound_and_used(form: Bind) -> None:
    mc = team(2, 2 * STEP)
    at = [from_pool(dev, 4 * STEP) for dev in (0, 1)]
    inside = [-ptr % STEP for ptr in at]  # pools promise no alignment of 2 MiB; begin where there is one
    for dev, (ptr, skip) in enumerate(zip(at, inside, strict=True)):
        assert accepted(form, mc, 0, Piece(0, ptr + skip, dev), 0, 2 * STEP) == ""
    multimem.store(mapped(mc, 2 * STEP, [0, 1]), np.arange(2 * STEP // 4, dtype=np.uint32))
    for dev, (ptr, skip) in enumerate(zip(at, inside, strict=True)):
        use(dev)
        assert (read(ptr + skip, 2 * STEP // 4, np.uint32) == np.arange(2 * STEP // 4)).all()


@FORMS
def test_pool_memory_keeps_to_the_rules_of_addresses(form: Bind) -> None:
    mc, ptr = team(2, 4 * STEP), from_pool(0, 4 * STEP)
    ptr += -ptr % STEP
    mem = Piece(0, ptr, 0)
    assert refused(form, mc, 0, mem, 256, STEP) == (1, "MC307")
    assert refused(form, mc, 0, mem, 0, STEP - 1) == (1, "MC304")
    assert accepted(form, mc, 0, mem, 0, STEP) == ""


@FORMS
def test_pool_memory_ends_with_the_allocation(form: Bind) -> None:
    mc, ptr = team(2, 4 * STEP), from_pool(0, 2 * STEP)
    if ptr % STEP:
        pytest.fail(f"a pool of 2 MiB chunks gave {ptr:#x}")
    assert refused(form, mc, 0, Piece(0, ptr, 0), 0, 3 * STEP) == (1, "MC311")
    assert accepted(form, mc, 0, Piece(0, ptr, 0), 0, 2 * STEP) == ""


@FORMS
def test_pool_memory_of_a_private_pool_is_not_shareable(form: Bind) -> None:
    mc, ptr = team(2, STEP, 1), from_pool(0, STEP)
    assert refused(form, mc, 0, Piece(0, ptr, 0)) == (1, "MC328")
    assert accepted(form, mc, 0, piece(0, handle_types=1)) == ""


@FORMS
def test_pool_memory_of_the_other_device(form: Bind) -> None:
    mc, ptr = team(1), from_pool(1, STEP)
    status, rule = refused(form, mc, 0, Piece(0, ptr, 0))
    assert (status, rule) == ((1, "MC324") if form.names_device else (101, "MC322"))


@FORMS
def test_freed_pool_memory_cannot_be_bound(form: Bind) -> None:
    mc, ptr = team(1), from_pool(0, STEP)
    driver.mem_free_async(ptr, 0)
    driver.stream_synchronize(0)
    assert refused(form, mc, 0, Piece(0, ptr, 0)) == (1, "MC321")


@FORMS
def test_memory_of_other_allocators(form: Bind) -> None:
    mc = team(1)
    use(0)
    plain, host = driver.mem_alloc_v2(2 * STEP), driver.mem_alloc_host_v2(2 * STEP)
    for ptr in (plain + -plain % STEP, host + -host % STEP):
        assert refused(form, mc, 0, Piece(0, ptr, 0)) == (1, "MC321")
    assert accepted(form, mc, 0, piece()) == ""
    driver.mem_free_v2(plain)
    driver.mem_free_host(host)
