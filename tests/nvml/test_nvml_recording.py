"""What NVML answered on a real H200 against what ours answers for machine h200-vm-1."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import cumulticast

TESTS = Path(__file__).parents[1]
REAL = json.loads((TESTS / "data/transcripts/h200-580.159-nvml.json").read_text())
HELD = REAL["machine"]["held"]

#: Answers whose outputs differ, each with its reason; their statuses agree all the same.
OUTPUTS = {
    "nvmlDeviceGetClockInfo": "a context was held there, so the clocks were up; a simulated device idles",
    "nvmlDeviceGetTemperature": "of that moment",
    "nvmlDeviceGetTemperatureV": "of that moment",
    "nvmlDeviceGetPowerUsage": "of that moment",
    "nvmlDeviceGetUtilizationRates": "of that moment",
    "nvmlDeviceGetMemoryInfo": "a context takes some 500 MiB there and nothing here",
    "nvmlDeviceGetMemoryInfo_v2": "a context takes some 500 MiB there and nothing here",
    "nvmlDeviceGetBAR1MemoryInfo": "how much of it is mapped",
}
#: Statuses that differ, each with its reason.
STATUSES = {
    "nvmlDeviceGetProcessUtilization": "there 7: its buffer of samples is larger than ours; here 6: there are none",
    "nvmlDeviceGetGpuFabricInfo_v4": "that library has no such symbol; ours has, and answers 13",
}
FIELDS_OF_THE_MOMENT = {82, 185, 186}


@pytest.fixture(scope="module")
def ours() -> dict:
    probe = str(TESTS / "recording/nvml_probe.py")
    done = cumulticast("run", "--machine", "h200-vm-1", "--", sys.executable, probe, "--hold", str(HELD))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("symbol", REAL["answers"])
def test_entry_agrees(symbol: str, ours: dict) -> None:
    theirs, mine = REAL["answers"][symbol], ours["answers"][symbol]
    statuses = [(args, status) for args, status, _ in theirs] == [(args, status) for args, status, _ in mine]
    assert statuses != (symbol in STATUSES)
    if symbol not in STATUSES:
        assert (theirs == mine) != (symbol in OUTPUTS)


def test_fields_agree(ours: dict) -> None:
    assert [row[:4] for row in ours["fields"]] == [row[:4] for row in REAL["fields"]]
    steady = [row for row in REAL["fields"] if row[0] not in FIELDS_OF_THE_MOMENT and not row[3]]
    assert [row[5] for row in steady] == [row[5] for row in ours["fields"] if row in steady]


def test_a_process_is_told_of_with_its_memory(ours: dict) -> None:
    [[is_this, there]], [[mine, here]] = (one["processes"]["is_this_and_used"] for one in (REAL, ours))
    assert is_this
    assert mine
    assert here == HELD < there  # its context counts there
    assert ours["processes"]["count_without_room"] == REAL["processes"]["count_without_room"] == [7, 1]


@pytest.mark.parametrize("step", [step for step in REAL if isinstance(REAL[step], int)])
def test_refusal_agrees(step: str, ours: dict) -> None:
    assert ours[step] == REAL[step]


def test_error_strings_agree(ours: dict) -> None:
    assert ours["error_strings"] == REAL["error_strings"]
