"""What a real H200 answered about modules, kernels, launches, occupancy and linking, step by step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recording_comparison import differences, replayed

TESTS = Path(__file__).parents[1]
RECORDINGS = {
    kind: json.loads((TESTS / f"data/transcripts/h200-580.159-{kind}.json").read_text())
    for kind in ("driver", "kernels")
}
GROUPS = {
    "driver": ("modules",),
    "kernels": (
        *("libraries", "function_attributes", "launch_limits", "launch_attributes", "occupancy"),
        *("jit_options", "fatbins", "linking", "module_unloaded"),
    ),
}
NUMBER_OF_REGISTERS = "registers are an estimate: what ptxas takes is its own affair"
WORDS = "the words of the compiler's log are ours; its form, place and line are ptxas'"
#: Steps that are not expected to agree, each with its reason.
DECLARED = {
    "modules.attribute.CU_FUNC_ATTRIBUTE_NUM_REGS": NUMBER_OF_REGISTERS,
    "libraries.kernel.attribute": NUMBER_OF_REGISTERS,
    "function_attributes.unloaded.4": NUMBER_OF_REGISTERS,
    "launch_attributes.cluster.4.0.wide": "a real driver looks at the cluster before an unknown attribute",
    **{
        f"jit_options.{step}": WORDS
        for step in ("broken.log", "target.log", "garbage.log", "library.load.log", "library.kernel.log")
    },
    "jit_options.target": "two steps have this name: an image for a newer target, and an own target",
    "jit_options.good.log": "the recorded driver had the code in its cache, and so nothing to say",
    **{f"linking.{step}.log": WORDS for step in ("lacking", "twice", "broken")},
}


@pytest.mark.parametrize(("kind", "group"), [(kind, group) for kind, groups in GROUPS.items() for group in groups])
def test_group_agrees(kind: str, group: str) -> None:
    recorded = RECORDINGS[kind]["groups"][group]
    names = [name for name, _, _ in recorded]
    declared = {name: DECLARED[f"{group}.{name}"] for name in names if f"{group}.{name}" in DECLARED}
    assert list(differences(recorded, replayed(group), frozenset(), declared)) == []


def test_declared_differences_are_differences() -> None:
    """A declaration without a difference hides nothing yet and would hide a mistake later."""
    found = {
        f"{group}.{line.split(': ')[0]}"
        for kind, groups in GROUPS.items()
        for group in groups
        for line in differences(RECORDINGS[kind]["groups"][group], replayed(group), frozenset(), {})
    }
    assert set(DECLARED) - found == set()


def test_the_log_of_the_compiler_has_the_form_of_a_real_one() -> None:
    logs = {name: output for name, _, output in replayed("jit_options")}
    real = {name: output for name, _, output in RECORDINGS["kernels"]["groups"]["jit_options"]}
    assert logs["future.log"] == real["future.log"]
    first, last = logs["broken.log"][0].splitlines()
    expected, end = real["broken.log"][0].splitlines()
    assert first.partition("error   : ")[:2] == expected.partition("error   : ")[:2]
    assert last == end
