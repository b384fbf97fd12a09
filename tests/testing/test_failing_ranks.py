"""What `run_ranks` says when a rank fails: how each ended, what it wrote, and what it waited for."""

from __future__ import annotations

import re

import pytest
from inner import SAMPLES, Inner, run_inner

#: What is said of a failure, line by line; regular expressions.
SAID = {
    "blocked": [
        r"blocked: 2 of 2 ranks failed \(0, 1\): the time limit of 4 s is over",
        r"rank 0 \(node 0, pid \d+\) did not end and was stopped",
        r"cuMulticastBindMem was waiting for 1 more device of multicast object \d+, for \d\.\d s",
        r"rank 0 was here",
        r'File ".*failing_ranks\.py", line \d+ in bind',
        r"rank 1 \(node 0, pid \d+\) did not end and was stopped",
        r'File ".*failing_ranks\.py", line \d+ in blocked',
    ],
    "hopeless": [
        r"hopeless: 1 of 1 ranks failed \(0\)$",
        r"rank 0 \(node 0, pid \d+\) ended with exit status 1",
        r"DriverTimeoutError: ERROR_TIMEOUT \(909\)",
        r"CUDA error log:",
        r"\[CUDA\]\[E\] MC\d+ multicast_bind_mem: multicast object \d+ ",
        r"Returning 909 \(CUDA_ERROR_TIMEOUT\) from cuMulticastBindMem",
    ],
    "raising": [
        r"raising: 1 of 3 ranks failed \(1\)$",
        r"rank 0 \(node 0, pid \d+\) did its work",
        r"rank 1 \(node 0, pid \d+\) ended with exit status 1",
        r'raise ValueError\("not this one"\)',
        r"ValueError: not this one",
        r"rank 2 \(node 0, pid \d+\) did its work",
    ],
    "grace": [
        r"stopped 1 s after rank 1 failed",
        r"rank 0 .* did not end and was stopped",
        r"rank 1 .* ended with exit status 7",
    ],
    "killed": [r"rank 0 .* did its work", r"rank 1 .* was ended by SIGKILL"],
    "strange_value": [r"strange_value returned <function .*>, which cannot be sent to another process: "],
    "leaving": [r"rank 0 .* ended with exit status 0 before the function returned"],
    "tail": [r"stdout, last 40 of 100 lines:", r"line 60$", r"line 99$", r"stderr:", r"enough"],
    "later_failure_shows_output": [r"\[rank 0\] quiet until now", r"\[rank 1\] quiet until now"],
    "open_file": [r"TypeError: file, which .*<lambda> uses, cannot be sent to another process: "],
    "wrong_parameters": [r"TypeError: .*<lambda>: missing a required argument: 'size'; it gets rank and world_size if"],
    "no_function": [
        r"TypeError: run_ranks runs a Python function or the path of a program, not <built-in function len>"
    ],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Inner:
    """Run all samples once."""
    return run_inner(SAMPLES / "failing_ranks.py", directory=tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("name", SAID)
def test_a_failure_says_what_happened(run: Inner, name: str) -> None:
    ended = run.tests[f"test_{name}"]
    assert ended.how == "failed"
    at = 0
    for pattern in SAID[name]:
        found = re.compile(pattern, re.MULTILINE).search(ended.text, at)
        assert found, f"{pattern} does not come in\n{ended.text[at:]}"
        at = found.end()


def test_our_own_lines_are_in_no_traceback(run: Inner) -> None:
    assert "rank.py" not in run.tests["test_raising"].text
    assert "runpy" not in run.tests["test_raising"].text


def test_a_tail_is_no_more(run: Inner) -> None:
    assert not re.search(r"(?m)line 59$", run.tests["test_tail"].text)


def test_what_a_rank_started_ends_with_it(run: Inner) -> None:
    assert run.tests["test_grandchild"].how == "passed", run.tests["test_grandchild"].text
