"""`cumulticast demo`: true, small enough, readable, and honest where a machine cannot do it."""

from __future__ import annotations

from typing import Any

import pytest
from command_line import answered_json, cumulticast

from cumulticast.rules import find


def test_the_main_job_on_eight_devices() -> None:
    document = answered_json("demo", "--json")
    assert document["schema"] == 1
    assert document["ok"] is True
    assert (document["machine"], document["devices"], document["size"]) == ("hgx-h100-8", 8, 4 << 20)
    assert (document["replicas_verified"], document["failure"]) == (16, None)
    calls = [step["call"] for step in document["steps"]]
    assert {"multicast_create", "multicast_bind_mem", "multimem.store", "multimem.load_reduce"} <= set(calls)
    assert all(step["seconds"] > 0 and step["calls"] > 0 for step in document["steps"])


def refusals(*words: str) -> list[tuple[Any, ...]]:
    found = answered_json("demo", "--json", *words)["refusals"]
    return [(refusal["call"], refusal["status"], refusal["rule"]) for refusal in found]


def test_three_wrong_binds_are_refused_each_by_its_own_rule() -> None:
    bind = "multicast_bind_mem"
    assert refusals("--devices", "2") == [(bind, 1, "MC304"), (bind, 1, "MC308"), (bind, 101, "MC322")]
    assert refusals("--devices", "1") == [(bind, 1, "MC304"), (bind, 1, "MC308"), (bind, 1, "MC313")]


def test_the_messages_are_what_the_driver_says() -> None:
    first, *_ = answered_json("demo", "--json", "--devices", "2")["refusals"]
    rule = find("MC304")
    assert first["message"] == rule.describe("cuMulticastBindMem", rule.check(3 << 20, 2 << 20) or "")
    assert first["status_name"] == "CUDA_ERROR_INVALID_VALUE"


@pytest.mark.parametrize(
    "words",
    [
        ("--size", "2MiB", "--devices", "3"),
        ("--size", "6291456", "--devices", "1"),
        ("--machine", "gb200-nvl72", "--size", "2MiB"),
        ("--machine", "rubin-nvl72", "--size", "2MiB"),
        ("--machine", "hgx-b200-8", "--devices", "4", "--size", "2MiB"),
    ],
)
def test_other_machines_and_sizes(words: tuple[str, ...]) -> None:
    document = answered_json("demo", "--json", *words)
    assert document["ok"] is True
    assert document["replicas_verified"] == 2 * document["devices"]


@pytest.mark.parametrize("machine", ["pcie-h100-2", "hgx-a100-8", "h200-vm-1"])
def test_a_machine_without_multicast_says_so_and_answers_1(machine: str) -> None:
    document = answered_json("demo", "--json", "--machine", machine, code=1)
    assert (document["ok"], document["replicas_verified"], document["refusals"]) == (False, 0, [])
    failure = document["failure"]
    assert (failure["call"], failure["status"], failure["rule"]) == ("multicast_create", 801, "MC208")
    shown = cumulticast("demo", "--machine", machine)
    assert shown.returncode == 1
    assert "MC208 multicast_create: " in shown.stdout
    assert "Proven" not in shown.stdout


def test_it_can_be_read_at_a_glance() -> None:
    done = cumulticast("demo", "--devices", "2", "--size", "2MiB")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) < 40
    assert "\u2026" not in done.stdout  # nothing was cut to fit
    assert lines[0] == "2 x NVIDIA H100 80GB HBM3, simulated (hgx-h100-8)"
    assert " ".join(lines[-2:]).startswith("Proven: all 2 replicas held the broadcast")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--size", "3MiB"], "nearest 2097152 or 4194304"),
        (["--size", "0"], "nearest 2097152"),
        (["--size", "1"], "nearest 2097152"),
        (["--size", "81TiB"], "nearest 85026930688"),
        (["--size", "large"], "'large' is no size"),
        (["--devices", "99"], "nearest 8"),
        (["--devices", "-1"], "nearest 1"),
        (["--machine", "hgx-h100"], "nearest hgx-h100-8"),
    ],
)
def test_usage_errors_name_the_nearest_legal_value(words: list[str], said: str) -> None:
    done = cumulticast("demo", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_a_wrong_byte_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bit of one replica is turned over between the broadcast and its reading."""
    from cumulticast import multimem
    from cumulticast.cli import demo
    from cumulticast.sim.machine import load

    honest = multimem.store

    def store(ptr: int, array: Any) -> None:
        spoiled = array.copy()
        spoiled.view("uint32")[-1] ^= 1
        honest(ptr, spoiled)

    monkeypatch.setattr(multimem, "store", store)
    document = demo.perform(load("hgx-h100-8", devices=2), 2 << 20)
    assert (document["ok"], document["replicas_verified"]) == (False, 0)
