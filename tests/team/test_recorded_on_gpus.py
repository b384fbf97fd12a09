"""What the scripts of tests/recording said on real GPUs, and say on the software driver: results, not figures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
RECORDED = {path.stem: json.loads(path.read_text()) for path in sorted((TESTS / "data" / "teams").glob("*.json"))}


def said_here(script: str, *arguments: str) -> dict[str, Any]:
    """Run a script on the software driver."""
    command = [sys.executable, "-m", "cumulticast.cli", "run", "--machine", "pcie-h100-2", "--", sys.executable]
    done = subprocess.run(
        [*command, TESTS / "recording" / script, *arguments], capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", RECORDED)
def test_each_recording_says_where_it_comes_from(name: str) -> None:
    recorded = RECORDED[name]
    assert recorded["gpu"] == "NVIDIA H200"
    assert name.startswith(f"h200-{recorded['driver'].rpartition('.')[0]}-")
    assert (TESTS / "recording" / recorded["script"]).exists()


def test_two_processes_on_two_gpus_get_the_same_results_here() -> None:
    recorded = RECORDED["h200-580.159-two-gpus-joined"]["said"]
    here = said_here("team_on_two_gpus.py")
    results = ("rank", "why_not", "multicast", "wrong", "split", "after")
    for there, now in zip(recorded["ranks"], here["ranks"], strict=True):
        assert {key: now.get(key) for key in results} == {key: there.get(key) for key in results}
        assert now["wrong"] == []
    assert here["codes"] == recorded["codes"] == [0, -9]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "devices"),
    [("h200-580.159-one-gpu-4-ranks", ()), ("h200-580.159-two-gpus-4-ranks", ("0", "1", "0", "1"))],
)
def test_collectives_of_four_ranks_have_the_same_bits_here(name: str, devices: tuple[str, ...]) -> None:
    recorded, here = RECORDED[name]["said"], said_here("collectives_on_one_gpu.py", "4", *devices)
    results = ("ranks", "devices", "results", "in_a_row", "captured", "good")
    assert {key: here[key] for key in results} == {key: recorded[key] for key in results}
    assert recorded["results"]["wrong"] == []


@pytest.mark.parametrize("library", ["torch", "cupy", "cuda.core"])
def test_libraries_took_the_memory_and_wrote_to_it(library: str) -> None:
    answers = RECORDED["h200-580.159-interop"]["said"][library]
    took = {name: one["answers"] for name, one in answers.items() if isinstance(one, dict) and "answers" in one}
    assert took["float32"]["same address"]
    assert {name for name, one in took.items() if one.get("same address")} >= {"float32", "float16", "int32", "uint8"}


def test_the_page_says_what_was_recorded() -> None:
    page = (TESTS.parent / "docs" / "team.md").read_text().partition("## On real GPUs")[2]
    played = {name: one["said"]["results"]["played"] for name, one in RECORDED.items() if name.endswith("4-ranks")}
    assert set(played.values()) == {704}
    assert len(played) == 2
    slowest = max(one["all_reduce_64MiB_us"] for one in RECORDED["h200-580.159-two-gpus-joined"]["said"]["ranks"])
    versions = {
        name: RECORDED["h200-580.159-interop"]["said"][name]["version"] for name in ("torch", "cupy", "cuda.core")
    }
    said = ["704 collectives", f"{slowest:.0f} µs", *(f"{name} {v.partition('+')[0]}" for name, v in versions.items())]
    for text in [*said, "driver 580.159.04"]:
        assert text in page, text
