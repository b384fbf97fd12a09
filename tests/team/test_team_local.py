"""Teams of one process: arrays, their memory, sub-teams, two teams over one memory, and bad arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cuda.core import Device

from cumulticast import Team, TeamError, multimem, sim
from cumulticast.testing import CudaMachine

MIB = 1 << 20
MACHINES = [("hgx-h100-8", 8), ("hgx-h200-8", 8), ("hgx-b200-8", 8), ("gb200-nvl72", 4), ("rubin-nvl72", 4)]
WITHOUT = [("pcie-h100-2", 2), ("hgx-a100-8", 8)]

pytestmark = pytest.mark.usefixtures("cuda_machine")


def on(machines: list[tuple[str, int]]) -> pytest.MarkDecorator:
    """Run on each of these machines."""
    marked = [pytest.param(*one, marks=pytest.mark.cuda_machine(machine=one[0]), id=one[0]) for one in machines]
    return pytest.mark.parametrize(("machine", "devices"), marked)


@on(MACHINES)
def test_a_store_reaches_all_and_a_load_sums_all(machine: str, devices: int, cuda_machine: CudaMachine) -> None:
    assert cuda_machine.machine == machine
    with Team.local(range(devices)) as team:
        assert (team.size, team.mine, team.devices) == (devices, tuple(range(devices)), tuple(range(devices)))
        assert team.has_multicast and team.why_not is None and team.rank is None
        array = team.empty((2, 3), "int32")
        for rank in range(devices):
            array.numpy(rank)[:] = rank + np.arange(6).reshape(2, 3)
        total = sum(rank + np.arange(6) for rank in range(devices))
        assert multimem.load_reduce(array.multicast_ptr, 6, np.dtype("int32")).tolist() == total.tolist()
        multimem.store(array.multicast_ptr, np.full(6, 9, np.int32))
        assert all((array.numpy(rank) == 9).all() for rank in range(devices))
    assert cuda_machine.findings == [] and sim.world().multicast == ()


@on(WITHOUT)
def test_machines_without_multicast_say_why_not(machine: str, devices: int) -> None:
    why = "device 0 has no multicast (MULTICAST_SUPPORTED is 0)"
    with pytest.raises(TeamError) as caught:
        Team.local(range(devices))
    error = caught.value
    assert (error.rank, error.stage, error.call, error.status, error.reason) == (0, "agree", None, None, why)
    with Team.local(range(devices), require_multicast=False) as team:
        assert not team.has_multicast and team.why_not == f"rank 0: {why}"
        array = team.empty(16)
        for rank in range(devices):
            array.numpy(rank)[:] = rank + 1
        team.all_reduce(array)
        team.barrier()
        assert array.multicast_ptr == 0
        assert all((array.numpy(rank) == devices * (devices + 1) / 2).all() for rank in range(devices))


@pytest.mark.parametrize("devices", [[0], [5], [3, 1], [2, 7, 0], list(range(8))])
@pytest.mark.parametrize("kind", [int, Device])
def test_devices_are_taken_in_the_order_given(devices: list[int], kind: Any) -> None:
    with Team.local([kind(one) for one in devices]) as team:
        assert (team.size, team.devices) == (len(devices), tuple(devices))
        (mc,) = sim.world().multicast
        assert mc.devices == tuple(sorted(devices)) and mc.missing == 0


def test_a_device_twice_makes_a_team_over_peer_memory_only() -> None:
    with pytest.raises(TeamError, match="rank 0 is on the same device"):
        Team.local([4, 4])
    with Team.local([4, 4, 5], require_multicast=False) as team, team.empty(3) as array:
        assert len({array.peer(rank) for rank in range(3)}) == 3 and team.why_not and "rank 1" in team.why_not


# ---- arrays


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float8_e4m3fn", "uint64", "complex64", "bool"])
def test_types_of_numpy_and_ml_dtypes(dtype: str) -> None:
    with Team.local(range(2)) as team, team.empty(5, dtype) as array:
        expected = np.dtype(getattr(ml_dtypes, dtype, dtype))
        array.numpy(1)[:] = np.ones(5, expected)
        assert (array.dtype, array.nbytes, array.numpy(1).dtype) == (expected, 5 * expected.itemsize, expected)


def test_places_are_symmetric_aligned_and_apart() -> None:
    with Team.local(range(3)) as team:
        arrays = [team.empty(size, "uint8") for size in (1, 255, 256, 257, 100_000)]
        places = [(array.multicast_ptr, *(array.peer(rank) for rank in range(3))) for array in arrays]
        for number, array in enumerate(arrays):
            assert all(address % 256 == 0 for address in places[number])
            assert len({here - first for here, first in zip(places[number], places[0], strict=True)}) == 1
            for rank in range(3):
                array.numpy(rank)[:] = 10 * number + rank
        for number, array in enumerate(arrays):
            assert [set(array.numpy(rank).tolist()) for rank in range(3)] == [{10 * number + rank} for rank in range(3)]


def test_memory_grows_by_blocks_and_what_is_closed_is_used_again() -> None:
    with Team.local(range(2)) as team:
        first = team.usage
        assert (first.blocks, first.reserved, first.used + first.free) == (1, 2 * MIB, 2 * MIB)
        big = team.empty(3 * MIB, "uint8")
        assert team.usage.blocks == 2 and team.usage.reserved == 6 * MIB
        place = big.multicast_ptr
        big.close()
        assert team.usage.blocks == 2 and team.usage.used == first.used
        with team.empty(2 * MIB, "uint8") as again:
            assert again.multicast_ptr == place and team.usage.blocks == 2
    assert sim.world().allocations == ()


def test_a_view_of_numpy_is_the_memory_itself() -> None:
    with Team.local(range(2)) as team, team.empty((2, 2), "float64") as array:
        view = array.numpy(0)
        view[1, 1] = 7
        assert array.numpy(0)[1, 1] == 7 and view.ctypes.data == array.peer(0)


def test_a_team_of_one_rank_has_a_local_array() -> None:
    with Team.local([6]) as team, team.empty(4) as array:
        assert team.mine == (0,) and array.local == array.peer(0)
        array.numpy()[:] = 2
        assert multimem.load_reduce(array.multicast_ptr, 4).tolist() == [2] * 4


@pytest.mark.parametrize("policy", ["minimum", "recommended"])
def test_granularity_policies(policy: Any) -> None:
    with Team.local(range(2), granularity=policy) as team, team.empty(3 * MIB, "uint8"):
        assert team.usage.reserved % (2 * MIB) == 0


# ---- bad arguments


def bad_calls(team: Team) -> list[tuple[Callable[[], Any], type[Exception], str]]:
    other = team.split([0, 1])
    array, foreign = team.empty(8), other.empty(8)
    closed = team.empty(1)
    closed.close()
    return [
        (lambda: team.empty(0), ValueError, r"shape \(0,\): every extent is at least 1"),
        (lambda: team.empty(1, "bf16"), TypeError, "dtype 'bf16' is unknown; nearest bfloat16"),
        (lambda: team.empty((2, -1)), ValueError, r"shape \(2, -1\): every extent"),
        (lambda: team.empty(2.5), TypeError, "shape 2.5: an integer"),  # type: ignore[arg-type]
        (lambda: team.empty(1, "float33"), TypeError, "float33"),
        (lambda: team.empty(1, object), TypeError, "Python objects"),
        (lambda: array.peer(3), ValueError, "rank 3: the team has ranks 0 to 2"),
        (lambda: array.peer(-1), ValueError, "rank -1: the team has ranks 0 to 2"),
        (lambda: array.local, ValueError, "drives all 3 ranks of the team: use peer"),
        (lambda: array.numpy(), ValueError, "drives all 3 ranks of the team"),
        (lambda: team.broadcast(array, 3), ValueError, "rank 3: the team has ranks 0 to 2"),
        (lambda: team.all_reduce(foreign), ValueError, "belongs to another team"),
        (lambda: team.all_reduce(closed), ValueError, "is closed"),
        (lambda: closed.multicast_ptr, ValueError, "is closed"),
        (lambda: closed.numpy(0), ValueError, "is closed"),
        (lambda: other.share(closed), ValueError, "is closed"),
        (lambda: team.split([]), ValueError, "name at least one"),
        (lambda: team.split([0, 0]), ValueError, "each once"),
        (lambda: team.split([0, 3]), ValueError, "rank 3: the team has ranks 0 to 2"),
        (lambda: team.share(foreign), TeamError, "no replica on device 2"),
        (lambda: team.all_reduce(np.zeros(3)), TypeError, "a ndarray is no symmetric array: team.empty"),
        (lambda: team.share(3), TypeError, "a int is no symmetric array: team.empty"),
        (lambda: team.broadcast(team.empty(4), 1.5), TypeError, "rank 1.5: a whole number is needed"),
        (lambda: team.empty(1 << 62), ValueError, r"18446744073709551616 bytes; an array has at most"),
        (lambda: other.close() or other.empty(1), ValueError, "is closed"),
        (lambda: other.split([0]), ValueError, "is closed"),
        (lambda: other.barrier(), ValueError, "is closed"),
        (lambda: foreign.peer(0), ValueError, "is closed"),
    ]


def test_bad_calls_are_named_and_change_nothing() -> None:
    with Team.local(range(3)) as team:
        for call, kind, text in bad_calls(team):
            with pytest.raises(kind, match=text):
                call()
        with team.empty(8) as array:
            team.all_reduce(array)
            team.barrier()


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"devices": []}, ValueError, "at least one rank"),
    ({"devices": [0, 8]}, ValueError, "device 8: this process sees 8 devices, 0 to 7"),
    ({"devices": ["cuda:0"]}, TypeError, "'cuda:0' is no device"),
    ({"timeout": 0}, ValueError, "timeout 0: more than 0 seconds"),
    ({"timeout": float("nan")}, ValueError, "timeout nan: more than 0 seconds"),
    ({"timeout": float("inf")}, ValueError, "timeout inf: more than 0 seconds, less than 1e[+]09"),
    ({"retries": -1}, ValueError, "retries -1: 0 or more"),
    ({"retries": 1.5}, TypeError, "retries 1.5: a whole number is needed"),
    ({"backoff": float("nan")}, ValueError, "backoff nan: 0 seconds or more, less than 1e[+]09"),
    ({"backoff": -0.5}, ValueError, "backoff -0.5: 0 seconds or more"),
    ({"granularity": "best"}, ValueError, "granularity 'best': 'minimum' or 'recommended'"),
]


@pytest.mark.parametrize(("options", "kind", "text"), BAD, ids=[row[2] for row in BAD])
def test_bad_options_are_named(options: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        Team.local(**{"devices": [0, 1], **options})


# ---- several teams


def test_teams_of_a_team() -> None:
    with Team.local(range(8)) as team, team.split([6, 1, 3]) as part, part.split([2, 0]) as pair:
        assert (part.devices, pair.devices) == ((6, 1, 3), (3, 6))
        arrays = [one.empty(4) for one in (team, part, pair)]
        for number, array in enumerate(arrays):
            multimem.store(array.multicast_ptr, np.full(4, number, np.float32))
        assert [array.numpy(0)[0] for array in arrays] == [0, 1, 2]
        assert [len(mc.devices) for mc in sim.world().multicast] == [8, 3, 2]
        team.close()  # the others do not need it
        multimem.store(arrays[1].multicast_ptr, np.full(4, 5, np.float32))
        assert arrays[1].numpy(2)[0] == 5


def test_two_teams_over_one_memory() -> None:
    with Team.local(range(4)) as team, team.split([3, 1]) as part:
        array = team.empty(100_000)
        filler = team.empty(900_000)
        far = team.empty(50)  # in the middle of a block
        for original in (array, far, filler):
            with part.share(original) as shared:
                multimem.store(shared.multicast_ptr, np.full(50, 4, np.float32))
                assert [original.numpy(rank)[0] == 4 for rank in range(4)] == [False, True, False, True]
                assert (shared.peer(0), shared.peer(1)) == (original.peer(3), original.peer(1))
                original.numpy(3)[:] = 1
                assert multimem.load_reduce(shared.multicast_ptr, 2).tolist() == [5, 5]
        assert part.usage.blocks == 1


def test_a_shared_array_outlives_no_close_of_its_memory() -> None:
    """The other team's end takes the memory, and unbinds it first from every object that shows it."""
    with Team.local(range(2)) as team, team.split([0, 1]) as part:
        shared = part.share(team.empty(8))
        assert len(sim.world().multicast) == 3
        team.close()
        shared.close()
    assert sim.world().multicast == () and sim.world().allocations == ()


def test_a_team_is_closed_once_and_closes_its_arrays() -> None:
    team = Team.local(range(2))
    array = team.empty(3)
    team.close()
    team.close()
    array.close()
    assert team.closed and array.closed


def test_an_exception_of_the_user_closes_the_team_and_arrives() -> None:
    with pytest.raises(ZeroDivisionError), Team.local(range(2)) as team:
        raise ZeroDivisionError
    assert team.closed and sim.world().allocations == ()


def test_errors_survive_pickling_and_read_well() -> None:
    import pickle

    ranks = dict.fromkeys((0, 1, 4), ("bind", None, None)) | {2: ("bind", "cuMulticastBindMem", 802)}
    error = TeamError(2, "bind", "cuMulticastBindMem", 802, "MC343", "MC343 …", ranks)
    again = pickle.loads(pickle.dumps(error))
    assert vars(again) == vars(error) and str(again) == str(error)
    assert str(error) == "rank 2 failed at bind: cuMulticastBindMem answered 802: MC343 … (ranks 0-1, 4: good at bind)"
    nobody = TeamError(-1, "barrier", reason="its process ended")
    assert str(nobody) == "the process of rank 0 of the whole job failed at barrier: its process ended"


def test_the_class_is_not_called() -> None:
    with pytest.raises(TypeError, match=r"Team\.local\(devices\), or Team\.join\(\)"):
        Team([0, 1])  # pyright: ignore[reportArgumentType]
    with Team.local([0, 1]) as team:
        assert team.size == 2
