"""What `cuda_machine` gives, what its marker may say, and what is said of a machine that cannot be had."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from inner import SAMPLES, Inner, run_inner

LEGAL = "machine, devices, nodes, profile, faults, block_limit, kernel_limit, hopeless, memory, leaks"
WRONG = {
    "test_unknown_keyword": f"cuda_machine: the marker knows no device; it takes {LEGAL}",
    "test_positional": f"cuda_machine: the marker takes keywords only, not ('hgx-h100-8',): {LEGAL}",
    "test_unknown_machine": "hgx-h100-8",
    "test_too_many": "9 is not between 1 and 8; nearest 8",
    "test_unknown_fault": "'slot' is none of",
    "test_faults_string": "faults='slots=1' is a string; give a list: faults=['slots=1']",
    "test_unknown_leaks": "leaks='maybe' is none of fail, ignore",
    "test_second_machine": "a simulated machine runs in this process already",
}
RIGHT = ["module", "class", "function", "faults_set_and_cleared", "findings"]


@pytest.fixture(scope="module", params=[(), ("-n", "2")], ids=["alone", "xdist"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Inner:
    """Run the samples once, in one process and spread over two."""
    return run_inner(SAMPLES / "choosing.py", *request.param, directory=tmp_path_factory.mktemp("choices"))


@pytest.mark.parametrize("name", RIGHT)
def test_the_machine_is_as_chosen(run: Inner, name: str) -> None:
    ended = run.tests[f"test_{name}"]
    assert ended.how == "passed", ended.text


@pytest.mark.parametrize("name", WRONG)
def test_an_impossible_choice_is_an_error_that_says_what_is_possible(run: Inner, name: str) -> None:
    ended = run.tests[name]
    assert ended.how == "error"
    assert WRONG[name] in ended.text
    assert "Traceback" not in ended.text
    assert "During handling" not in ended.text


FOREIGN = """
import ctypes, sys
ctypes.CDLL({library!r})
def test_it(cuda_machine): ...
"""


def test_another_libcuda_is_an_error_and_no_crash(tmp_path: Path) -> None:
    library, source = tmp_path / "libcuda.so.1", tmp_path / "test_foreign.py"
    compile_ = ["gcc", "-shared", "-x", "c", "/dev/null", "-Wl,-soname,libcuda.so.1", "-o", str(library)]
    subprocess.run(compile_, check=True, timeout=50)
    source.write_text(FOREIGN.format(library=str(library)))
    ended = run_inner(source, directory=tmp_path).tests["test_it"]
    assert ended.how == "error"
    assert f"another libcuda is loaded in this process ({library})" in ended.text


def test_the_marker_and_the_fixtures_are_listed(tmp_path: Path) -> None:
    assert "@pytest.mark.cuda_machine(machine=" in run_inner("--markers", directory=tmp_path).printed
    printed = run_inner("--fixtures", directory=tmp_path).printed
    assert "cuda_machine -- " in printed
    assert "run_ranks -- " in printed


def test_the_plugin_loads_nothing_heavy() -> None:
    heavy = "{'numpy', 'cuda', 'cffi', 'sqlite3', 'cumulticast.sim', 'cumulticast.libcuda'}"
    program = f"import sys, cumulticast.testing.plugin; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=True)
    assert done.stdout.strip() == ""
