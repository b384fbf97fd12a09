"""The recorded VMM probe of a real H200, run unchanged on machine h200-vm-1, agrees step by step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from recording_comparison import differences

TESTS = Path(__file__).parents[1]
RECORDING = json.loads((TESTS / "data/transcripts/h200-580.159-vmm.json").read_text())

#: Steps that are not expected to agree, each with its reason. Aim at no more.
DECLARED = {
    "releasebad.release.bad": "a real driver crashes on a forged handle; the simulator answers 1",
    "share.fd.readlink": "the descriptor's own name: /dev/nvidiactl there, the allocation's file here",
}
#: Not answers of the driver: what the NVML packages of that machine offered.
NOT_THE_DRIVER = ("nvml", "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetGpuFabricInfo")
#: Outputs without meaning beyond their run: a descriptor's number, an identifier of a buffer.
STATUS_ONLY = frozenset({"export.fd", "ptrattr.BUFFER_ID", "ptrattr.P2P_TOKENS"})


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """Run the probe as it ran on the real machine."""
    out = tmp_path_factory.mktemp("probe")
    command = [sys.executable, "-m", "cumulticast.cli", "run", "--machine", "h200-vm-1", "--", sys.executable]
    command.append(str(TESTS / "recording/vmm_probe.py"))
    subprocess.run(command, env={**os.environ, "OUT": str(out)}, check=True, capture_output=True, timeout=120)
    return json.loads((out / "vmm_probe.json").read_text())


@pytest.mark.timeout(150)
@pytest.mark.parametrize("group", [g for g in RECORDING["groups"] if g != "releasebad"])
def test_group_agrees(group: str, answers: dict[str, dict]) -> None:
    answered = answers[group]["r"]
    assert not isinstance(answered, str), f"{answered}\n{answers[group]['err']}"
    declared = {step.removeprefix(f"{group}."): why for step, why in DECLARED.items() if step.startswith(f"{group}.")}
    declared |= dict.fromkeys(NOT_THE_DRIVER, "not the driver")
    assert list(differences(RECORDING["groups"][group], answered, STATUS_ONLY, declared)) == []


def test_forged_handle_is_answered_not_crashed(answers: dict[str, dict]) -> None:
    assert ["release.bad", 1, []] in answers["releasebad"]["r"]


def test_comparison_finds_a_wrong_status_and_a_wrong_output() -> None:
    recorded = [("a", 1, []), ("b", 0, ["7"]), ("c", 0, [])]
    answered = [("a", 0, []), ("b", 0, ["8"])]
    assert len(list(differences(recorded, answered, frozenset(), {}))) == 3
