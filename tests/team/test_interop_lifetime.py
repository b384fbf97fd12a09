"""How long tensors of others live, and what an array does about it."""

from __future__ import annotations

import gc
import threading

import pytest
from capsules import take

from cumulticast import Team
from cumulticast.testing import CudaMachine

pytestmark = pytest.mark.usefixtures("machine")
VERSIONS = pytest.mark.parametrize("version", [None, (1, 0)])


@VERSIONS
def test_a_capsule_that_nobody_takes_lets_go_by_itself(version: tuple[int, int] | None) -> None:
    with Team.local([0, 1]) as team, team.empty(4) as array:
        capsule = array.replica(0).__dlpack__(max_version=version)
        assert array.exports.alive == 1
        del capsule
        assert array.exports.alive == 0


@VERSIONS
def test_a_tensor_outlives_its_capsule_and_ends_with_its_deleter(version: tuple[int, int] | None) -> None:
    with Team.local([0, 1]) as team, team.empty(4) as array:
        taken = take(array.replica(0).__dlpack__(max_version=version))
        gc.collect()
        assert array.exports.alive == 1
        taken.let_go()
        assert array.exports.alive == 0


def test_an_array_does_not_close_under_a_tensor() -> None:
    with Team.local([0, 1]) as team:
        array = team.empty(4)
        first, second = (take(array.replica(rank).__dlpack__()) for rank in (0, 1))
        used = team.usage.used
        with pytest.raises(BufferError, match=r"by DLPack are alive \(2\)"):
            array.close()
        assert (array.closed, team.usage.used) == (False, used)
        first.let_go()
        second.let_go()
        array.close()
        assert (array.closed, team.usage.used) == (True, used - 256)


def test_a_team_closes_with_tensors_alive_and_they_can_still_be_deleted(cuda_machine: CudaMachine) -> None:
    with Team.local([0, 1]) as team:
        array = team.empty(4)
        taken = take(array.replica(0).__dlpack__(max_version=(1, 0)))
    assert array.closed
    assert not cuda_machine.leaks()
    del array, team
    gc.collect()
    taken.let_go()


def test_a_tensor_is_deleted_by_any_thread() -> None:
    with Team.local([0, 1]) as team, team.empty(4) as array:
        taken = take(array.replica(0).__dlpack__())
        thread = threading.Thread(target=taken.let_go)
        thread.start()
        thread.join(10)
        assert array.exports.alive == 0


def test_an_exception_on_its_way_survives_the_end_of_a_capsule() -> None:
    """`len` raises, and then its argument dies; a destructor in Python would lose the exception."""
    with Team.local([0, 1]) as team, team.empty(4) as array:
        with pytest.raises(TypeError, match="PyCapsule"):
            len(array.replica(0).__dlpack__())  # pyright: ignore[reportArgumentType]
        assert array.exports.alive == 0
