"""What README.md and its neighbours say is true: the example runs as printed, links lead somewhere, commands exist."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cumulticast.cli import COMMANDS
from cumulticast.libcuda.table import entries

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks(language: str, text: str = README) -> list[str]:
    """Return the code blocks of a language."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", text)


def run(program: str) -> str:
    """Run a program in an interpreter of its own, warnings being errors, and return what it prints."""
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


TEAM, EXAMPLE = blocks("python")


def test_a_team_takes_ten_lines_and_prints_what_they_say(tmp_path: Path) -> None:
    promised = re.search(r"print.*# (\[.*\])$", TEAM, re.MULTILINE)
    assert promised and len(TEAM.splitlines()) <= 10
    assert "`cumulticast run -- python team.py`" in README
    (tmp_path / "team.py").write_text(TEAM)
    command = [sys.executable, "-m", "cumulticast.cli", "run", "--", sys.executable, "-W", "error", "team.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{promised[1]}\n", "")


def test_the_example_runs_as_printed_and_prints_what_it_says() -> None:
    promised = re.search(r"their sum: (.*)$", EXAMPLE, re.MULTILINE)
    assert promised is not None
    assert run(EXAMPLE).splitlines() == [promised[1]]


def test_the_job_of_the_example_has_twelve_lines() -> None:
    job = EXAMPLE.split("\n\n")[1].splitlines()
    assert "these twelve lines" in job[0]
    assert len(job) == 12


def test_the_explained_error_is_what_is_printed() -> None:
    session = blocks("pycon")[0].splitlines()
    typed = [line.removeprefix(">>> ") for line in session if line.startswith(">>> ")]
    printed = [line for line in session if not line.startswith(">>> ")]
    *before, last = typed
    shown = "import traceback; print(*traceback.format_exception_only(error), sep='', end='')"
    program = "\n".join([EXAMPLE, *before, f"try:\n    {last}\nexcept Exception as error:\n    {shown}"])
    assert run(program).splitlines()[1:] == printed


def test_the_error_log_has_the_same_line() -> None:
    wrong = "driver.multicast_bind_mem(mc, 0, memory, 0, 3 << 20, 0)"
    program = f"import os\nos.environ['CUDA_LOG_FILE'] = 'stdout'\n{EXAMPLE}\ntry:\n    {wrong}\nexcept Exception: pass"
    assert blocks("pycon")[0].splitlines()[-1] in run(program)


@pytest.mark.parametrize("line", [line for block in blocks("sh") for line in block.splitlines()])
def test_a_command_exists(line: str, tmp_path: Path) -> None:
    """What answers by its exit code may find something (1) or not be able to tell (3); it is never used wrongly (2)."""
    program, command, *_ = line.split()
    if program == "make":
        assert re.search(rf"(?m)^{command}:", (ROOT / "Makefile").read_text())
    else:
        assert program == "cumulticast"
        assert command in COMMANDS
        words = line.partition("#")[0].partition(" -- ")[0].split()[2:]
        for name in (word for word in words if word.endswith((".log", ".txt"))):
            shutil.copy(ROOT / "tests/data/cases/001-nccl2185-four-gpus/input.log", tmp_path / name)
        done = subprocess.run(
            [sys.executable, "-m", "cumulticast.cli", command, *words, *(["--", "true"] if command == "run" else [])],
            capture_output=True,
            text=True,
            timeout=50,
            cwd=tmp_path,
        )
        finds = {"explain": (0, 1, 3), "doctor": (0, 1, 3), "ps": (0, 1)}  # ps: another user's job may have died here
        assert done.returncode in finds.get(command, (0,)), done.stderr


def test_the_number_of_entries_is_about_right() -> None:
    from cumulticast.sim import calls
    from cumulticast.sim.entry import HANDLERS

    calls.load_all()
    said = re.search(r"some (\d+) of (\d+) entries", README)
    assert said is not None
    assert int(said[2]) == len(entries())
    assert abs(int(said[1]) - sum(entry.symbol in HANDLERS for entry in entries())) < 10


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", text):
        assert not target or "://" in target or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")), ids=lambda path: path.name)
def test_a_file_that_is_named_exists(path: Path) -> None:
    """Whatever stands between backquotes and has a slash is a file or directory, from the root or the package."""
    outside = re.sub(r"(?s)```.*?```", "", path.read_text(encoding="utf-8"))
    for name in re.findall(r"`([\w.*/-]+/[\w.*-]*)`", outside):
        if name.startswith(("/", ".venv/", "benchmarks/results.json")):  # of the machine, or made by make
            continue
        places = (ROOT, ROOT / "src" / "cumulticast")
        assert any(list(place.glob(name.rstrip("/"))) for place in places), name
