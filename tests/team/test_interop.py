"""Capsules and array interfaces: every field, every type, every refusal."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from capsules import take

from cumulticast import Team
from cumulticast.testing import CudaMachine

CODES = {  # of DLDataTypeCode, dlpack.h 1.1
    "int8": 0, "int64": 0, "uint16": 1, "float16": 2, "float32": 2, "float64": 2, "bfloat16": 4, "complex64": 5,
    "bool": 6, "float8_e3m4": 7, "float8_e4m3": 8, "float8_e4m3b11fnuz": 9, "float8_e4m3fn": 10, "float8_e4m3fnuz": 11,
    "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14,
}  # fmt: skip
KDLCUDA = 2
pytestmark = pytest.mark.usefixtures("machine")


@pytest.mark.parametrize(("asked", "name"), [
    (None, b"dltensor"), ((0, 8), b"dltensor"), ((1, 0), b"dltensor_versioned"), ((2, 0), b"dltensor_versioned"),
])  # fmt: skip
def test_every_field_of_a_capsule(asked: tuple[int, int] | None, name: bytes) -> None:
    with Team.local([2, 3]) as team, team.empty((2, 3, 4), "float32") as array:
        taken = take(array.replica(1).__dlpack__(max_version=asked))
        tensor = taken.tensor
        assert taken.name == name
        assert (tensor.data, tensor.byte_offset) == (array.peer(1), 0)
        assert (tensor.device_type, tensor.device_id) == (KDLCUDA, 3) == array.replica(1).__dlpack_device__()
        assert (taken.shape, taken.strides) == ([2, 3, 4], [12, 4, 1])
        assert (tensor.code, tensor.bits, tensor.lanes) == (2, 32, 1)
        if name == b"dltensor_versioned":
            assert (taken.managed.major, taken.managed.minor, taken.managed.flags) == (1, 1, 0)
        taken.let_go()


@pytest.mark.parametrize("dtype", CODES)
def test_every_type_has_its_code(dtype: str) -> None:
    with Team.local([0, 1]) as team, team.empty(3, dtype) as array:
        taken = take(array.replica(0).__dlpack__())
        assert (taken.tensor.code, taken.tensor.bits) == (CODES[dtype], array.dtype.itemsize * 8)
        taken.let_go()


@pytest.mark.parametrize("dtype", ["int4", "float4_e2m1fn", "S3", ">f4"])
def test_a_type_without_a_code_is_refused(dtype: str) -> None:
    with Team.local([0, 1]) as team, team.empty(3, dtype) as array, pytest.raises(BufferError, match="no code for"):
        array.replica(0).__dlpack__()


def test_addresses_of_data_are_aligned_as_dlpack_demands() -> None:
    with Team.local([0, 1]) as team:
        assert [team.empty(3, "int8").replica(0).ptr % 256 for _ in range(3)] == [0, 0, 0]


def test_a_process_that_drives_several_ranks_has_to_say_which() -> None:
    with Team.local([0, 1]) as team, team.empty(4) as array:
        with pytest.raises(BufferError, match=r"use replica\(rank\)"):
            array.__dlpack__()
        with pytest.raises(BufferError, match=r"use replica\(rank\)"):
            array.__dlpack_device__()
        with pytest.raises(AttributeError, match=r"use replica\(rank\)"):
            _ = array.__cuda_array_interface__
        with pytest.raises(ValueError, match=r"use replica\(rank\)"):
            array.replica()
        with pytest.raises(ValueError, match="rank 2: the team has ranks 0 to 1"):
            array.replica(2)
        assert array.replica(1).__cuda_array_interface__["data"] == (array.peer(1), False)


def test_an_array_of_one_rank_stands_for_its_replica() -> None:
    with Team.local([3], require_multicast=False) as team, team.empty(4) as array:
        assert array.__dlpack_device__() == (KDLCUDA, 3)
        taken = take(array.__dlpack__(max_version=(1, 0)))
        assert taken.tensor.data == array.local == array.__cuda_array_interface__["data"][0]
        taken.let_go()


def test_the_array_interface_has_the_fields_of_version_3() -> None:
    with Team.local([0, 1]) as team, team.empty((5, 2), "int16") as array:
        assert array.replica(1).__cuda_array_interface__ == {
            "shape": (5, 2), "typestr": "<i2", "data": (array.peer(1), False), "strides": None, "stream": 1,
            "version": 3,
        }  # fmt: skip


def test_the_array_interface_has_no_bfloat16_and_dlpack_has() -> None:
    with Team.local([0, 1]) as team, team.empty(4, "bfloat16") as array:
        assert not hasattr(array.replica(0), "__cuda_array_interface__")
        with pytest.raises(AttributeError, match="no name for bfloat16: use DLPack"):
            _ = array.replica(0).__cuda_array_interface__


@pytest.mark.parametrize(("asked", "message"), [
    ({"copy": True}, "copy=True"),
    ({"dl_device": (1, 0)}, r"dl_device \(1, 0\): the memory lies on \(2, 1\)"),
    ({"dl_device": (KDLCUDA, 0)}, r"dl_device \(2, 0\): the memory lies on \(2, 1\)"),
])  # fmt: skip
def test_what_needs_a_copy_is_refused(asked: dict[str, Any], message: str) -> None:
    with Team.local([0, 1]) as team, team.empty(4) as array:
        with pytest.raises(BufferError, match=message):
            array.replica(1).__dlpack__(**asked)
        taken = take(array.replica(1).__dlpack__(copy=False, dl_device=(KDLCUDA, 1)))
        taken.let_go()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e5m2", "bool", "complex64", "uint8"])
def test_what_is_set_is_what_others_see_and_get(dtype: str) -> None:
    with Team.local([0, 1]) as team, team.empty((2, 2), dtype) as array:
        array.set([[0, 1], [1, 0]], 1)
        assert array.numpy(1).tolist() == [[0, 1], [1, 0]]
        array.numpy(1)[0] = 1
        found = array.get(1)
        assert (found.dtype, found.tolist()) == (array.dtype, [[1, 1], [1, 0]])
        array.numpy(1)[:] = 0
        assert found.tolist() == [[1, 1], [1, 0]]


def test_values_are_spread_and_converted_as_in_an_assignment() -> None:
    with Team.local([0, 1]) as team, team.empty((2, 3), "int32") as array:
        array.set([1.5, 2, -3], 0)
        assert array.get(0).tolist() == [[1, 2, -3]] * 2
        with pytest.raises(ValueError, match=r"values of shape \(.*\) cannot be spread to \("):
            array.set([1, 2], 0)


def test_a_copy_comes_after_the_collective() -> None:
    with Team.local([0, 1]) as team, team.empty(1 << 18, "float32") as array:
        for rank in (0, 1):
            array.set(np.arange(1 << 18), rank)
        team.all_reduce(array)
        assert np.array_equal(array.get(1), 2 * np.arange(1 << 18))


def test_bytes_of_bfloat16_are_seen_by_numpy_and_by_others() -> None:
    with Team.local([0, 1]) as team, team.empty(4, "bfloat16") as array:
        array.replica(1).numpy()[:] = [1, 2, 3, 0.5]
        assert array.numpy(1).dtype == ml_dtypes.bfloat16
        assert array.numpy(1).view(np.uint16).tolist() == [0x3F80, 0x4000, 0x4040, 0x3F00]
        assert array.numpy(1).ctypes.data == array.peer(1)


def test_numpy_is_refused_on_a_driver_whose_memory_is_not_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    from cumulticast.team import host_view

    with Team.local([0, 1]) as team, team.empty(4) as array:
        monkeypatch.setattr(host_view, "memory_is_host_memory", lambda: False)
        with pytest.raises(BufferError, match=r"numpy cannot see a device's memory: copy it with get"):
            array.numpy(0)
        array.set(7, 0)
        assert array.get(0).tolist() == [7, 7, 7, 7]
        monkeypatch.undo()
        assert array.numpy(0).tolist() == [7, 7, 7, 7]


def test_a_library_that_is_not_ours_is_told_from_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real libcuda does not export ``cumulticast_version``; nor does libc."""
    import ctypes

    from cumulticast.team import host_view

    original = ctypes.CDLL
    monkeypatch.setattr(host_view.ctypes, "CDLL", lambda name, **how: original("libc.so.6"))
    host_view.memory_is_host_memory.cache_clear()
    assert not host_view.memory_is_host_memory()
    monkeypatch.undo()
    host_view.memory_is_host_memory.cache_clear()
    assert host_view.memory_is_host_memory()


@pytest.mark.parametrize("stream", [0])
def test_the_ambiguous_stream_is_refused(stream: int) -> None:
    with Team.local([0, 1]) as team, team.empty(4) as array, pytest.raises(ValueError, match="ambiguous"):
        array.replica(0).__dlpack__(stream=stream)


@pytest.mark.cuda_machine(machine="hgx-h100-8", devices=2)
def test_a_closed_array_is_not_exported(cuda_machine: CudaMachine) -> None:
    with Team.local([0, 1]) as team:
        array = team.empty(4)
        replica = array.replica(0)
        array.close()
        for export in (replica.__dlpack__, replica.__dlpack_device__, lambda: replica.__cuda_array_interface__):
            with pytest.raises(ValueError, match="is closed"):
                export()
    assert not cuda_machine.leaks()
