"""What a first user gets wrong is answered with what would do."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from cumulticast import Team

WITHOUT_DRIVER = "from cumulticast import Team\nTeam.local([0], require_multicast=False).close()"


@pytest.mark.usefixtures("machine")
def test_a_number_of_devices_is_no_list_of_them() -> None:
    with pytest.raises(TypeError, match=r"devices 2: name all of them, such as range\(2\)"):
        Team.local(2)  # pyright: ignore[reportArgumentType]
    with Team.local(range(2)) as team:
        assert team.devices == (0, 1)


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(("asked", "message"), [
    ((2.5,), r"shape 2.5: an integer, or several, such as 1024 or \(4, 256\)"),
    (((2, 1.5),), r"shape \(2, 1.5\): an integer, or several"),
    (("four",), "shape 'four': an integer, or several"),
    ((4, "bfloat17"), "dtype 'bfloat17' is unknown; nearest bfloat16"),
])  # fmt: skip
def test_a_shape_or_type_that_is_none(asked: Any, message: str) -> None:
    with Team.local(range(2)) as team:
        with pytest.raises(TypeError, match=message):
            team.empty(*asked)
        assert team.empty((np.int64(2), 3), "bfloat16").shape == (2, 3)


@pytest.mark.usefixtures("machine")
def test_an_array_is_no_numpy_array_and_says_what_gives_one() -> None:
    with Team.local(range(2)) as team, team.empty(4) as array:
        array.set(1, 0)
        for make in (np.asarray, np.sum, lambda given: np.ones(4) + given):
            with pytest.raises(TypeError, match=r"get\(rank\) copies a replica"):
                make(array)
        assert np.sum(array.get(0)) == 4


@pytest.mark.usefixtures("machine")
def test_where_a_rank_is_missing_the_call_that_has_it_is_named() -> None:
    with Team.local(range(2)) as team, team.empty(4) as array:
        with pytest.raises(ValueError, match=r"use get\(rank\)"):
            array.get()
        with pytest.raises(ValueError, match=r"use set\(values, rank\)"):
            array.set(1)
        array.set(1, rank=1)
        assert array.get(rank=1).tolist() == [1, 1, 1, 1]


def test_where_there_is_no_driver_the_way_to_a_simulated_machine_is_told() -> None:
    command = [sys.executable, "-c", WITHOUT_DRIVER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    if done.returncode == 0:
        pytest.skip("this machine has a driver")
    assert done.stderr.splitlines()[-1].startswith("No NVIDIA driver is here. `cumulticast run -- PROGRAM`")
    run = [sys.executable, "-m", "cumulticast.cli", "run", "--", *command]
    assert subprocess.run(run, capture_output=True, timeout=50).returncode == 0
