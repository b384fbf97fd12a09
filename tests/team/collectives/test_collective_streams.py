"""Streams of the user's, graphs, and what is given back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from collective_seats import LocalSeats, Part, Seated

from cumulticast import driver
from cumulticast.team import collectives
from cumulticast.team.collectives.streams import stream_handle, stream_handles

RANKS = 3


@pytest.fixture
def seats(seated: Seated) -> LocalSeats:
    return seated(RANKS)


@pytest.fixture
def streams(seats: LocalSeats) -> Iterator[list[int]]:
    """Make a stream on each device, which does not order with the default stream."""
    with ExitStack() as held:
        made = []
        for device in seats.devices:
            driver.ctx_push_current_v2(driver.device_primary_ctx_retain(device))
            held.callback(driver.device_primary_ctx_release_v2, device)
            made.append(driver.stream_create(1))
            held.callback(driver.stream_destroy_v2, made[-1])
            driver.ctx_pop_current_v2()
        yield made


def filled(seats: LocalSeats, count: int = 1000) -> Part:
    array = seats.array(count, np.int32)
    for rank in range(RANKS):
        array.put(rank, np.full(count, rank + 1, np.int32))
    return array


def all_are(array: Part, value: int) -> bool:
    return all((array.get(rank) == value).all() for rank in range(RANKS))


def test_work_of_a_stream_is_in_order(seats: LocalSeats, streams: list[int]) -> None:
    array = seats.array(100_000, np.int32)
    for rank, stream in enumerate(streams):
        driver.memset_d32_async(array.peer(rank), rank + 1, 100_000, stream)
    collectives.all_reduce(seats, array, stream=streams)
    for stream in streams:
        driver.stream_synchronize(stream)
    assert all_are(array, 6)


def test_the_teams_own_streams_order_with_the_default_stream(seats: LocalSeats) -> None:
    array = filled(seats, 100_000)
    collectives.all_reduce(seats, array)
    assert (array.get(0) == 6).all()  # a plain copy, on the device whose context is current
    seats.synchronize()
    assert all_are(array, 6)


@pytest.mark.parametrize("algorithm", ["one_shot", "two_shot"])
@pytest.mark.parametrize("mode", [0, 1, 2], ids=["global", "thread-local", "relaxed"])
def test_a_captured_collective_can_be_launched_again(
    seats: LocalSeats, streams: list[int], mode: int, algorithm: Any
) -> None:
    """Kernels are compiled and loaded during the capture, if need be."""
    array = filled(seats)
    for stream in streams:
        driver.stream_begin_capture_v2(stream, mode)
    collectives.all_reduce(seats, array, stream=streams, algorithm=algorithm)
    graphs = [driver.stream_end_capture(stream) for stream in streams]
    assert all((array.get(rank) == rank + 1).all() for rank in range(RANKS))
    ready = [driver.graph_instantiate_with_flags(graph, 0) for graph in graphs]
    for turn in range(3):
        for graph, stream in zip(ready, streams, strict=True):
            driver.graph_launch(graph, stream)
        collectives.barrier(seats, streams)
        for stream in streams:
            driver.stream_synchronize(stream)
        assert all_are(array, 6 * 3**turn)
    collectives.check(seats)
    for one in ready:
        driver.graph_exec_destroy(one)
    for graph in graphs:
        driver.graph_destroy(graph)


# ---- what may be given for a stream


class Torchlike:
    cuda_stream = 17


class Corelike:
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 18


@pytest.mark.parametrize(
    ("given", "handle"),
    [(5, 5), (np.uint64(6), 6), (SimpleNamespace(handle=7), 7), (Torchlike(), 17), (Corelike(), 18)],
    ids=["int", "numpy", "handle", "cuda_stream", "__cuda_stream__"],
)
def test_streams_of_every_kind(given: Any, handle: int) -> None:
    assert stream_handle(given) == handle
    assert stream_handles(given, 1) == [handle]
    assert stream_handles([given, 3], 2) == [handle, 3]


def test_what_is_no_stream() -> None:
    with pytest.raises(TypeError, match="'left' is no stream: give a handle"):
        stream_handle("left")
    with pytest.raises(ValueError, match="1 streams for 3 ranks in this process: give one for each"):
        stream_handles(5, 3)


def test_a_stream_of_cuda_core(machine: Any) -> None:
    core = pytest.importorskip("cuda.core")
    seats = LocalSeats((3, 6, 7), True)  # cuda.core keeps their contexts: no other test has them
    made, array = [], filled(seats)
    for device in seats.devices:
        core.Device(device).set_current()
        made.append(core.Device(device).create_stream())
    collectives.all_reduce(seats, array, stream=made)
    for stream in made:
        stream.sync()
        stream.close()
    driver.ctx_set_current(driver.device_primary_ctx_retain(3))
    driver.device_primary_ctx_release_v2(3)
    assert all_are(array, 6)
    seats.close()


def test_closing_twice_and_using_again(seats: LocalSeats) -> None:
    """A closed team of collectives is made anew when it is asked for."""
    for _ in range(2):
        array = filled(seats)
        collectives.all_reduce(seats, array)
        seats.synchronize()
        assert all_are(array, 6)
        collectives.close(seats)
        collectives.close(seats)


def test_the_current_context_stays(seats: LocalSeats) -> None:
    before = driver.ctx_get_current()
    collectives.all_reduce(seats, filled(seats))
    assert driver.ctx_get_current() == before


def test_collectives_of_several_streams_come_one_after_the_other(seats: LocalSeats, streams: list[int]) -> None:
    """No two kernels of a rank run at once, though nothing but the team orders the streams."""
    array = filled(seats, 50_000)
    for turn in range(12):
        collectives.all_reduce(seats, array, stream=streams if turn % 2 else None)
    for stream in streams + seats.streams():
        driver.stream_synchronize(stream)
    collectives.check(seats)
    assert all_are(array, 6 * 3**11)
