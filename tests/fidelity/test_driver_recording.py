"""The recorded driver probes of real H200s, run unchanged on the simulator, agree step by step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from recording_comparison import differences

TESTS = Path(__file__).parents[1]
MACHINES = {"driver": {"machine": "h200-vm-1"}, "peer": {"machine": "hgx-h200-8", "devices": 2}}
RECORDINGS = {kind: json.loads((TESTS / f"data/transcripts/h200-580.159-{kind}.json").read_text()) for kind in MACHINES}
GROUPS = {
    "driver": (
        *("contexts", "contexts_made", "contexts_peer", "threads", "limits", "alloc", "managed", "host"),
        *("copies", "memsets", "across", "readonly", "ungranted", "null_host", "planes"),
        *("streams", "order", "default_streams", "events", "event_destroyed", "logs", "logs_unset", "logs_null"),
        *("pointers", "pointers_null", "pools", "pools_made", "pool_double_free", "dma_buf"),
    ),
    "peer": ("peer_access", "peer_mapping", "peer_readonly", "peer_pools"),
}

# The bindings of today know a pointer attribute that those of the recording did not: it is not asked.
WORKER = """
import sys
sys.path.insert(0, {recording!r})
import cumulticast.sim as sim
sim.start(**{machine!r})
import driver_probe
from probes import pointers
driver_probe.load()
for asked in (pointers.ATTRIBUTES, pointers.MOST):
    asked[:] = [attribute for attribute in asked if int(attribute) < 22]
driver_probe.work({group!r})
"""

NO_EXPORT = "export of pools is not simulated"
#: Steps that are not expected to agree, each with its reason.
DECLARED = {
    "alloc.raw.info_null": "the call table wants both outputs of cuMemGetInfo",
    "copies.past.start": "there, something else of the driver's lay behind the allocation",
    "pools.export.default": NO_EXPORT,
    "streams.copy_attributes": "stream attributes are not simulated",
    "streams.attach": "attaching managed memory is not simulated",
    **{
        f"pools_made.export.{pool}{form}": NO_EXPORT
        for pool in ("plain", "fd", "fabric", "host_numa", "host", "most")
        for form in ("", ".flags1", ".pointer")
    },
}
#: Ends of the names of steps whose outputs belong to their run: addresses, numbers, free memory, texts of the log.
OF_THE_RUN = (
    *(
        "addresses",
        "alignment",
        "start",
        "after_null",
        ".id",
        "ids.made",
        ".link",
        ".all",
        ".most",
        ".result",
        ".value",
    ),
    *(".lines", "heard", "heard.again", "_POINTER", "BUFFER_ID", "RANGE_START_ADDR", "MAPPING_BASE_ADDR"),
    *("MEMORY_BLOCK_ID", "CONTEXT", "MEMPOOL_HANDLE", "P2P_TOKENS", "info.after_free"),
)


@cache
def run(kind: str, group: str) -> list[list]:
    """Run one group in an interpreter of its own."""
    code = WORKER.format(recording=str(TESTS / "recording"), machine=MACHINES[kind], group=group)
    environment = {key: value for key, value in os.environ.items() if key != "CUDA_LOG_FILE"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, env=environment)
    assert "inside the simulator" not in done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def free_memory(name: str) -> bool:
    """Tell a step that shows how much memory is free: a real driver keeps some for itself."""
    return name.startswith("info.")


@pytest.mark.parametrize(("kind", "group"), [(kind, group) for kind, groups in GROUPS.items() for group in groups])
def test_group_agrees(kind: str, group: str) -> None:
    recorded = RECORDINGS[kind]["groups"][group]
    names = [name for name, _, _ in recorded]
    declared = {name: DECLARED[f"{group}.{name}"] for name in names if f"{group}.{name}" in DECLARED}
    status_only = frozenset(name for name in names if name.endswith(OF_THE_RUN) or free_memory(name))
    # Memory of a pool that cuMemFree took stays counted as used there; which of both frees counts is not documented.
    status_only |= {name for name in names if name.startswith(("freed.", "trimmed.")) and "USED_MEM" in name}
    assert list(differences(recorded, run(kind, group), status_only, declared)) == []


def test_declared_differences_are_differences() -> None:
    """A declaration without a difference hides nothing yet and would hide a mistake later."""
    groups = sorted({name.split(".")[0] for name in DECLARED})
    found = [
        f"{group}.{line.split(': ')[0]}"
        for group in groups
        for line in differences(RECORDINGS["driver"]["groups"][group], run("driver", group), frozenset(), {})
    ]
    assert set(DECLARED) - set(found) == set()
