"""What a real H200 answered about graphs and stream capture, step by step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recording_comparison import differences, replayed

TESTS = Path(__file__).parents[1]
RECORDING = json.loads((TESTS / "data/transcripts/h200-580.159-graphs.json").read_text())["groups"]
NO_MEMORY_NODES = "nodes that allocate and free are not simulated"
NO_ATTACH = "attaching managed memory is not simulated"
GONE = "a real driver reads freed memory here"
#: Steps that are not expected to agree, each with its reason.
DECLARED = {
    **{
        f"capture_work.{call}{step}": NO_MEMORY_NODES
        for call in ("alloc_async", "free_async")
        for step in ("", ".status", ".end", ".nodes")
    },
    **{f"capture_work.attach{step}": NO_ATTACH for step in ("", ".status", ".end")},
    "capture_work.destroy.status": "the status for a stream that is destroyed is 400 here",
    "capture_work.destroy.end": "the status for a stream that is destroyed is 400 here",
    "graph_node_destroyed.type": GONE,
    "graph_nodes.dot.text": "the text has fewer details here",
    "graph_update.edges": "at which of several nodes with other edges it shows",
}


@pytest.mark.parametrize("group", RECORDING)
def test_group_agrees(group: str) -> None:
    recorded = RECORDING[group]
    names = [name for name, _, _ in recorded]
    declared = {name: DECLARED[f"{group}.{name}"] for name in names if f"{group}.{name}" in DECLARED}
    assert list(differences(recorded, replayed(group), frozenset(), declared)) == []


def test_declared_differences_are_differences() -> None:
    """A declaration without a difference hides nothing yet and would hide a mistake later."""
    found = {
        f"{group}.{line.split(': ')[0]}"
        for group, recorded in RECORDING.items()
        for line in differences(recorded, replayed(group), frozenset(), {})
    }
    assert set(DECLARED) - found == set()
