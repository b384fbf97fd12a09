"""Libraries take replicas: cuda.core by both protocols, numpy not; and their streams wait for what they have to."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager

import ml_dtypes
import numpy as np
import pytest

from cumulticast import SymmetricArray, Team, driver
from cumulticast.sim.driver import Driver
from cumulticast.team.dlpack import in_context_of
from cumulticast.testing import RunRanks

view = pytest.importorskip("cuda.core.utils").StridedMemoryView

NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
DEFAULT, NO_ORDER = 1, -1


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("dtype", ["float32", "int16", "float64", "bool", "complex64"])
@pytest.mark.parametrize("way", ["from_dlpack", "from_cuda_array_interface"])
def test_cuda_core_sees_a_replica(way: str, dtype: str) -> None:
    with Team.local([1, 2]) as team, team.empty((3, 4), dtype) as array:
        seen = getattr(view, way)(array.replica(1), stream_ptr=NO_ORDER)
        assert (seen.ptr, seen.device_id, seen.shape) == (array.peer(1), 2, (3, 4))
        assert (seen.dtype, seen.is_device_accessible, seen.readonly) == (np.dtype(dtype), True, False)
        assert seen.strides in (None, (4, 1))
        assert array.exports.alive == (way == "from_dlpack")
        del seen
        assert array.exports.alive == 0


@pytest.mark.usefixtures("machine")
def test_cuda_core_takes_bfloat16_by_dlpack() -> None:
    with Team.local([0, 1]) as team, team.empty(4, "bfloat16") as array:
        assert view.from_dlpack(array.replica(0), stream_ptr=NO_ORDER).dtype == ml_dtypes.bfloat16


@pytest.mark.usefixtures("machine")
def test_an_array_of_one_rank_is_taken_as_it_is() -> None:
    with Team.local([1], require_multicast=False) as team, team.empty(4) as array:
        assert view.from_any_interface(array, stream_ptr=NO_ORDER).ptr == array.local


@pytest.mark.usefixtures("machine")
def test_numpy_refuses_the_memory_of_a_device_in_its_own_words() -> None:
    with Team.local([0, 1]) as team, team.empty(4) as array:
        with pytest.raises((BufferError, RuntimeError), match=r"(?i)device"):
            np.from_dlpack(array.replica(0))
        assert array.exports.alive == 0


# ---- streams


@pytest.fixture
def device(machine: Driver) -> Iterator[None]:
    """Make a context of device 0 current."""
    del machine
    with in_context_of(0):
        yield


@contextmanager
def stream_waiting(array: SymmetricArray, stream: int) -> Generator[None]:
    """Keep a stream waiting for the first word of replica 0 until the end."""
    word = array.numpy(0).view(np.uint32)
    word[0] = 0
    driver.stream_wait_value32_v2(stream, array.peer(0), 1, 0)
    try:
        yield
    finally:
        word[0] = 1
    driver.stream_synchronize(stream)


def ready(stream: int) -> bool:
    try:
        driver.stream_query(stream)
    except driver.NotReadyError:
        return False
    return True


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize(("asked", "waits"), [("stream", True), (2, True), (-1, False), (None, False), (1, False)])
def test_a_stream_of_the_consumer_waits_for_the_default_stream(asked: str | int | None, waits: bool) -> None:
    """-1 asks for no order; the default stream itself, which None and 1 mean, is in order as it is."""
    with Team.local([0, 1]) as team, team.empty(4, "uint32") as array:
        stream = driver.stream_create(NON_BLOCKING)
        watched = 2 if asked == 2 else stream
        with stream_waiting(array, DEFAULT):
            capsule = array.replica(0).__dlpack__(stream=stream if asked == "stream" else asked)
            assert ready(watched) == (not waits)
        driver.stream_synchronize(watched)
        del capsule
        driver.stream_destroy_v2(stream)


@pytest.mark.usefixtures("device")
def test_a_consumer_waits_for_a_collective_that_was_called_before() -> None:
    with Team.local([0, 1]) as team, team.empty(4, "uint32") as array, team.empty(4) as result:
        stream = driver.stream_create(NON_BLOCKING)
        team.all_reduce(result)
        team.barrier()  # kernels are loaded
        with stream_waiting(array, DEFAULT):
            team.all_reduce(result)  # on the team's own streams, behind what the default stream waits for
            capsule = result.replica(0).__dlpack__(stream=stream)
            assert not ready(stream)
        driver.stream_synchronize(stream)
        del capsule
        driver.stream_destroy_v2(stream)


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("way", ["from_dlpack", "from_cuda_array_interface"])
def test_cuda_core_has_its_stream_wait_by_both_protocols(way: str) -> None:
    with Team.local([0, 1]) as team, team.empty(4, "uint32") as array:
        stream = driver.stream_create(NON_BLOCKING)
        with stream_waiting(array, DEFAULT):
            seen = getattr(view, way)(array.replica(0), stream_ptr=stream)
            assert not ready(stream)
        driver.stream_synchronize(stream)
        del seen
        driver.stream_destroy_v2(stream)


# ---- several processes


def seen_by_rank(rank: int) -> tuple[tuple[int, int], list[float], int]:
    """Answer where this rank's replica lies, and what it sees of the other rank's."""
    with Team.join() as team, team.empty(2) as array:
        array.numpy()[:] = rank + 0.5
        team.barrier()
        other = array.replica(1 - rank)
        seen = view.from_dlpack(other, stream_ptr=NO_ORDER)
        assert seen.ptr == array.peer(1 - rank)
        answer = array.__dlpack_device__(), other.numpy().tolist(), other.device
        del seen
        team.barrier()
    return answer


def test_a_rank_exports_its_own_replica_and_reaches_those_of_others(run_ranks: RunRanks) -> None:
    """Another process's memory is worked on from our device: its own may be out of sight."""
    assert run_ranks(seen_by_rank, ranks=2, timeout=30) == [((2, 0), [1.5, 1.5], 0), ((2, 1), [0.5, 0.5], 1)]
