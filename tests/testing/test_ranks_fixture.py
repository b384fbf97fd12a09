"""`run_ranks`: what each rank gets, what comes back, on which machine it runs."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cumulticast.testing import RanksFailed

Run = Callable[..., list[Any]]
VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "CUMULTICAST_NODE")


def numbers(rank: int, world_size: int) -> tuple[int, ...]:
    assert os.environ["MASTER_ADDR"] == "127.0.0.1"
    assert 0 < int(os.environ["MASTER_PORT"]) < 1 << 16
    assert (rank, world_size) == (int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    return tuple(int(os.environ[name]) for name in VARIABLES)


def test_ranks_get_their_numbers_and_their_values_come_back_in_order(run_ranks: Run) -> None:
    assert run_ranks(numbers, ranks=3) == [(rank, 3, rank, 3, 0) for rank in range(3)]


@pytest.mark.parametrize(
    ("ranks", "choices", "nodes"),
    [
        (4, {}, [0, 0, 0, 0]),
        (5, {}, [0, 0, 0, 0, 1]),
        (4, {"nodes": 2}, [0, 0, 1, 1]),
        (3, {"nodes": 2}, [0, 0, 1]),
        (3, {"devices": 1}, [0, 1, 2]),
    ],
)
def test_ranks_sit_on_nodes(run_ranks: Run, ranks: int, choices: dict[str, int], nodes: list[int]) -> None:
    answers = run_ranks(numbers, ranks=ranks, machine="gb200-nvl72", **choices)
    assert [answer[4] for answer in answers] == nodes
    assert [answer[2] for answer in answers] == [nodes[:rank].count(node) for rank, node in enumerate(nodes)]
    assert [answer[3] for answer in answers] == [nodes.count(node) for node in nodes]


def seen() -> tuple[int, str, str]:
    from cuda.bindings._v2 import driver

    driver.init(0)
    try:
        state = str(driver.multicast_create(driver.MulticastObjectProp_v1()))
    except driver.DriverError as error:
        state = str(error.status)
    return driver.device_get_count(), state, os.environ["COLOUR"]


def test_the_machine_its_faults_and_the_environment_are_as_chosen(run_ranks: Run) -> None:
    choices = {"devices": 3, "faults": ["fail:cuMulticastCreate:rank=1:status=802"], "env": {"COLOUR": "red"}}
    assert run_ranks(seen, ranks=2, **choices) == [(3, "1", "red"), (3, "802", "red")]


def meet(rank: int, directory: str, fabric: int) -> int:
    """Share a multicast object by a fabric handle, add a device each, bind, and count the devices."""
    import ctypes
    import time

    from cuda.bindings._v2 import driver

    driver.init(0)
    file, prop = Path(directory, "handle"), driver.MulticastObjectProp_v1()
    if rank == 0:
        prop.num_devices, prop.size_, prop.handle_types = 2, 2 << 20, fabric
        team = driver.multicast_create(prop)
        handle = driver.mem_export_to_shareable_handle(team, fabric, 0)
        file.with_suffix(".new").write_bytes(ctypes.string_at(handle.ptr, 64))
        file.with_suffix(".new").rename(file)
    else:
        while not file.exists():
            time.sleep(0.01)
        handle = ctypes.create_string_buffer(file.read_bytes(), 64)
        team = driver.mem_import_from_shareable_handle(ctypes.addressof(handle), fabric)
    driver.multicast_add_device(team, rank)
    memory = driver.MemAllocationProp_v1()
    memory.type, memory.location.type, memory.location.id, memory.requested_handle_types = 1, 1, rank, fabric
    driver.multicast_bind_mem(team, 0, driver.mem_create(2 << 20, memory, 0), 0, 2 << 20, 0)
    return rank


def test_ranks_share_one_machine(run_ranks: Run, tmp_path: Path) -> None:
    assert run_ranks(meet, ranks=2, arguments={"directory": str(tmp_path), "fabric": 8}) == [0, 1]


def test_a_nested_function_travels_with_what_it_uses(run_ranks: Run) -> None:
    step = 10

    def nested(rank: int, *, start: int = 5, factor: int = 1) -> tuple[int, int]:
        return start + step * rank * factor, len(VARIABLES)

    assert run_ranks(nested, ranks=2, arguments={"factor": 3}) == [(5, 5), (35, 5)]


def test_a_lambda_without_parameters(run_ranks: Run) -> None:
    assert run_ranks(lambda: "here", ranks=2) == ["here", "here"]


def test_a_python_file_answers_what_it_prints(run_ranks: Run, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os, sys\nprint(os.environ['RANK'], __name__, *sys.argv[1:])")
    assert run_ranks(script, ranks=2, arguments=["a", "b"]) == ["0 __main__ a b\n", "1 __main__ a b\n"]


def test_a_program_of_any_kind(run_ranks: Run) -> None:
    assert run_ranks("/bin/sh", ranks=2, arguments=["-c", "echo $LOCAL_RANK"]) == ["0\n", "1\n"]


def test_a_program_that_is_missing(run_ranks: Run) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        run_ranks("/no-such-program", ranks=2)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"ranks": 0}, "at least 1 is needed"),
        ({"machine": "hgx"}, "hgx-h100-8"),
        ({"devices": 9}, "nearest 8"),
        ({"faults": ["slot=1"]}, "'slot' is none of"),
    ],
)
def test_impossible_choices(run_ranks: Run, choices: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        run_ranks(numbers, **choices)


def one_fails(rank: int) -> str:
    if rank:
        sys.exit(3)
    return "well"


def test_a_failure_carries_the_outcomes(run_ranks: Run) -> None:
    with pytest.raises(RanksFailed) as failure:
        run_ranks(one_fails, ranks=2)
    assert [(one.rank, one.returncode, one.value, one.failed) for one in failure.value.ranks] == [
        (0, 0, "well", False),
        (1, 3, None, True),
    ]


@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_functions_of_a_test_module_are_found_however_pytest_imported_it(tmp_path: Path, mode: str) -> None:
    from inner import run_inner

    source = """
        from near import factor
        def job(rank): return rank * factor
        def test_it(run_ranks): assert run_ranks(job, ranks=2) == [0, 7]
    """
    (tmp_path / "inside").mkdir()
    (tmp_path / "near.py").write_text("factor = 7")
    (tmp_path / "inside" / "test_it.py").write_text(textwrap.dedent(source))
    run = run_inner(f"--import-mode={mode}", "-o", "pythonpath=.", "inside/test_it.py", directory=tmp_path)
    assert run.tests["test_it"].how == "passed", run.tests["test_it"].text
