"""The C entries of libcuda.so.1 against arguments no sane program passes: no crash, no hang, no half-done refusal."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from entry_calls import ENTRIES, TIMELESS, answered, unchecked

HERE = Path(__file__).parent


def child(script: str, *arguments: object, seconds: float = 55) -> Any:
    """Run a script of this directory; answer its JSON line. It must end well and say nothing else."""
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    with tempfile.TemporaryDirectory() as place:  # some calls write files, whose names may be anything
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, cwd=place)
    said = f"{' '.join(command)}\n{done.stderr[-6000:]}"
    assert done.returncode == 0, f"ended with {done.returncode}: {said}"
    assert done.stderr == "", said
    return json.loads(done.stdout)


def fuzz(seed: int, calls: int, machine: str, seconds: float) -> None:
    found = child("fuzz_entries.py", seed, calls, machine, seconds=seconds)
    assert found["wrong"] == []
    assert found["calls"] == calls * sum(entry.plain not in unchecked() for entry in answered())
    assert found["statuses"]["0"] > found["calls"] // 50, "hardly any call succeeded: the fuzzer only knocks"
    print(f"seed {seed}, {machine}: {found['calls']} calls, {found['statuses']}")


def test_entries_survive_random_arguments() -> None:
    fuzz(20261129, 4, "hgx-h100-8", 55)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("machine", ["hgx-h100-8", "rubin-nvl72"])
def test_entries_survive_many_more_random_arguments(machine: str) -> None:
    """A seed of its own in each run; a failure names it in the command line shown."""
    fuzz(random.SystemRandom().randrange(1 << 32), 400, machine, 880)


def test_entries_left_out_are_answered_ones_with_a_function_pointer() -> None:
    handled = {entry.symbol: entry for entry in answered()}
    assert unchecked().keys() <= handled.keys()
    with_function = {e.plain for e in handled.values() if any(p.kind == "fn" for p in e.params)}
    assert unchecked().keys() == with_function


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    return child("before_and_after.py")


def test_before_init_only_timeless_entries_answer(answers: dict[str, Any]) -> None:
    handled = {entry.symbol for entry in answered()}
    for name, status in answers["before"].items():
        assert status == 801 if name not in handled else status in ({0, 1} if name in TIMELESS else {3}), (name, status)


def test_after_stop_nothing_answers(answers: dict[str, Any]) -> None:
    assert answers["stopped"] == dict.fromkeys(ENTRIES, 3)


def test_forked_child_is_not_initialised(answers: dict[str, Any]) -> None:
    assert answers["forked"] == dict.fromkeys(ENTRIES, 3)
    assert answers["parent"] == 1  # null output: the parent's driver still looks at arguments
