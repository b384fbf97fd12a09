"""`cumulticast explain`: files, stdin, questions, JSON, exit codes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import answered_json, clean_environment, cumulticast, program

CASES = Path(__file__).parents[1] / "data" / "cases"
CASE = str(CASES / "011-ray-eight-workers" / "input.log")
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
        (["401", CASE], "'401' is a question and no file; questions and files are not read together"),
        ([CASE, "MC304"], "'MC304' is a question and no file"),
        (["cuMulticastBindMen"], "nearest cuMulticastBindMem;"),
        (["my train.log"], "'my train.log' is no file"),
        (["x" * 5000], "xxx...: File name too long"),
        (["none.log"], "'none.log' is no file, rule, status, call or cause"),
        ([str(CASES)], "Is a directory"),
        ([], "required: WHAT"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(words: list[str], complaint: str) -> None:
    done = cumulticast("explain", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr


def test_a_line_that_is_pasted_is_read() -> None:
    line = "cuMulticastBindMem failed: CUDA_ERROR_ILLEGAL_STATE, the operation cannot be performed in the present state"
    for words in ([line], line.split()):
        document = answered_json("explain", *words, "--json", code=1)
        assert (document["status"]["code"], document["evidence"]) == (401, ["text:1"])


def test_a_stdin_that_is_closed_is_a_usage_error() -> None:
    command = f"exec {sys.executable} -m cumulticast.cli explain - <&-"
    done = program("bash", "-c", command)
    assert (done.returncode, done.stdout) == (2, "")
    assert "stdin: Bad file descriptor" in done.stderr


def test_letters_that_the_terminal_lacks_are_escaped(tmp_path: Path) -> None:
    log = tmp_path / "caf\u00e9.log"
    log.write_text("cuMulticastBindMem: CUDA_ERROR_ILLEGAL_STATE \u2192", encoding="utf-8")
    done = cumulticast("explain", str(log), env=clean_environment(PYTHONIOENCODING="ascii"))
    assert (done.returncode, done.stderr) == (1, "")
    assert "caf\\xe9.log:1: cuMulticastBindMem" in done.stdout
    odd = tmp_path / "odd\udcff.log"
    shutil.copy(log, odd)
    assert cumulticast("explain", str(odd)).returncode == 1


@pytest.mark.parametrize("words", [["401"], ["--json", "401"], [CASE]])
def test_a_reader_that_leaves_is_no_answer(words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "cumulticast.cli", "explain", *words]
    with os.fdopen(write, "wb") as nobody:
        done = subprocess.run(command, stdout=nobody, stderr=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


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
