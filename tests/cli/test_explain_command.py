"""`cumulticast explain`: files, stdin, questions, JSON, exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import answered_json, clean_environment, cumulticast

CASES = Path(__file__).parents[1] / "data" / "cases"
KEYS = {
    "schema": int,
    "verdict": str,
    "cause": (str, type(None)),
    "call": (str, type(None)),
    "status": dict,
    "first_rank": (int, type(None)),
    "evidence": list,
    "also_possible": list,
    "why": str,
    "checks": list,
    "remedies": list,
    "confidence": str,
    "would_settle": list,
}


def inputs(name: str) -> list[str]:
    return [str(path) for path in sorted((CASES / name).glob("input*.log"))]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("011-ray-eight-workers", 1),
        ("032-four-l40s-training", 1),
        ("052-gb300-tray-inventory", 0),
        ("056-second-step", 0),
        ("018-hosted-job-h200x8", 3),
    ],
)
def test_the_exit_code_tells_the_verdict(name: str, code: int) -> None:
    document = answered_json("explain", *inputs(name), "--json", code=code)
    assert list(document) == list(KEYS)
    for key, kind in KEYS.items():
        assert isinstance(document[key], kind), key
    assert set(document["status"]) == {"code", "name"}


def test_several_files_are_cited_as_they_are_named() -> None:
    names = inputs("002-nccl2297-smi-fmlog")
    document = answered_json("explain", *names, "--json", code=1)
    assert document["cause"] == "fm-stale-registration"
    assert {line.rpartition(":")[0] for line in document["evidence"]} == {names[0], names[2]}
    assert document["first_rank"] == 5


def test_stdin_is_an_input() -> None:
    text = Path(inputs("011-ray-eight-workers")[0]).read_bytes()
    command = [sys.executable, "-m", "cumulticast.cli", "explain", "-"]
    done = subprocess.run(command, input=text, capture_output=True, timeout=60, env=clean_environment(), check=False)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"stdin:38: " in done.stdout


@pytest.mark.parametrize("words", [["MC304"], ["401"], ["cuMulticastBindMem", "802"], ["system not yet initialized"]])
def test_questions_are_plain_information(words: list[str]) -> None:
    done = cumulticast("explain", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert set(answered_json("explain", *words, "--json")) == set(KEYS)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["MC000"], "no rule MC000; nearest MC001"),
        (["none.log"], "'none.log' is no file, rule, status, call or cause"),
        ([str(CASES)], "Is a directory"),
        ([], "required: WHAT"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(words: list[str], complaint: str) -> None:
    done = cumulticast("explain", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr


def test_a_file_that_is_called_like_a_question_is_read(tmp_path: Path) -> None:
    (tmp_path / "401").write_text("hello\n")
    command = [sys.executable, "-m", "cumulticast.cli", "explain", "401"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=tmp_path, env=clean_environment(), check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("unrelated: ")


def test_the_text_has_everything_that_json_has() -> None:
    files = inputs("005-ci-runner-fsdp")
    document = answered_json("explain", *files, "--json", code=1)
    text = cumulticast("explain", *files).stdout
    for part in (document["cause"], *document["evidence"], *document["checks"], *document["remedies"]):
        assert part in text


def test_explaining_needs_neither_numpy_nor_cuda_nor_the_simulator() -> None:
    code = (
        "import sys, cumulticast; cumulticast.explain(b'x');"
        "print(sorted({'numpy', 'cuda', 'rich', 'cumulticast.sim', 'cumulticast.libcuda'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
