"""multimem by kernels, as on a driver that is not ours: the same bits as the arithmetic in C, in every replica."""

from __future__ import annotations

import numpy as np
import pytest
from builders import STEP, accepted, use
from cuda.bindings._v2 import driver
from test_multimem import BF16, LEGAL, TYPES, Team, names, numbers

from cumulticast import multimem
from cumulticast.libcuda import serve

COUNT = 700
#: Bytes from the beginning of a word: every kind of beginning and end that an element can have.
OFFSETS = [0, 2, 4, 8, 14]
#: A wide range for each operation, and for types that are smaller than a word all its ends.
PLACES = [(dtype, op, 8, COUNT) for dtype, op in LEGAL]
PLACES += [(d, op, offset, count) for d, op in LEGAL if d.itemsize == 2 for offset in (0, 2) for count in (1, COUNT)]
WHOLE = np.dtype(np.uint8)


@pytest.fixture
def teams(start) -> tuple[Team, Team]:
    """Make two objects with the same four devices."""
    start(devices=4, profile="strict")
    return Team(), Team()


@pytest.fixture
def kernels(monkeypatch):
    """Answer a context that lets multimem launch kernels."""

    def by_kernels(call, *arguments):
        with monkeypatch.context() as patch:
            patch.setattr(multimem, "_by_kernels", lambda: True)
            return call(*arguments)

    return by_kernels


def contents(team: Team) -> list[bytes]:
    """Read the first bytes of all replicas."""
    found = [replica.tobytes() for replica in team.replicas(WHOLE, 16384)]
    use(0)
    return found


def background(*teams: Team) -> None:
    """Fill all replicas with the same random bytes that are no NaN of any type."""
    for team in teams:
        multimem.store(team.ptr, numbers(np.dtype(np.float16), 8192, seed=3))
    use(0)


@pytest.mark.parametrize("dtype", TYPES, **names)
@pytest.mark.parametrize("offset", OFFSETS)
def test_a_store(teams, kernels, dtype, offset) -> None:
    background(*teams)
    data = numbers(dtype, COUNT)
    multimem.store(teams[0].ptr + offset, data)
    kernels(multimem.store, teams[1].ptr + offset, data)
    assert contents(teams[0]) == contents(teams[1])


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 7, 8, 9])
def test_a_store_of_single_bytes_leaves_their_neighbours(teams, kernels, size) -> None:
    background(*teams)
    data = np.arange(250 - size, 250, dtype=np.uint8)
    for offset in range(5):
        multimem.store(teams[0].ptr + 32 * offset + offset, data)
        kernels(multimem.store, teams[1].ptr + 32 * offset + offset, data)
    assert contents(teams[0]) == contents(teams[1])


@pytest.mark.parametrize(("dtype", "op", "offset", "count"), PLACES, **names)
def test_a_load(teams, kernels, dtype, op, offset, count) -> None:
    teams[0].fill(dtype)
    use(0)
    expected = multimem.load_reduce(teams[0].ptr + offset, (1, count), dtype, op)
    found = kernels(multimem.load_reduce, teams[0].ptr + offset, (1, count), dtype, op)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("dtype", "op", "offset", "count"), PLACES, **names)
def test_a_reduction(teams, kernels, dtype, op, offset, count) -> None:
    for team in teams:
        team.fill(dtype)
    mine = numbers(dtype, count, seed=9)
    use(0)
    multimem.reduce(teams[0].ptr + offset, mine, op)
    kernels(multimem.reduce, teams[1].ptr + offset, mine, op)
    assert contents(teams[0]) == contents(teams[1])


def test_nothing_is_launched_for_nothing(teams, kernels) -> None:
    kernels(multimem.reduce, teams[0].ptr, np.empty(0, BF16))
    assert kernels(multimem.load_reduce, teams[0].ptr, (0, 3), BF16).shape == (0, 3)
    kernels(multimem.store, teams[0].ptr, np.empty(0))


def test_what_is_used_is_given_back(teams, kernels) -> None:
    use(0)
    kernels(multimem.store, teams[0].ptr, np.ones(8, np.float32))
    free = driver.mem_get_info_v2()[0]
    kernels(multimem.store, teams[0].ptr, np.ones(STEP // 8, np.float32))
    assert driver.mem_get_info_v2()[0] == free


def test_checks_come_before_any_launch(teams, kernels) -> None:
    use(0)
    with pytest.raises(ValueError, match="has no 'sum'"):
        kernels(multimem.load_reduce, teams[0].ptr, 4, "float32", "sum")
    with pytest.raises(ValueError, match="not aligned to 4 bytes"):
        kernels(multimem.reduce, teams[0].ptr + 2, np.ones(4, np.float32))
    assert accepted(driver.ctx_synchronize) == ""


def test_a_wrong_address_is_a_fault_of_the_kernel(teams, kernels) -> None:
    use(0)
    with pytest.raises(driver.IllegalAddressError) as caught:
        kernels(multimem.store, teams[0].pieces[0].ptr, np.ones(4, np.float32))
    assert any("multimem needs a multicast address" in note for note in caught.value.__notes__)
    driver.device_primary_ctx_reset_v2(0)


@pytest.mark.parametrize(("loaded", "kernels_wanted"), [(None, False), ("ours", False), ("/bin/sh", True)])
def test_another_driver_is_asked_by_kernels(monkeypatch, loaded, kernels_wanted) -> None:
    path = str(serve.library_path()) if loaded == "ours" else loaded
    monkeypatch.setattr(serve, "loaded_libcuda", lambda: path)
    assert multimem._by_kernels() is kernels_wanted
