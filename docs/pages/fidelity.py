"""docs/fidelity.md: what vouches for the simulator's answers, and where they are known to differ from real ones."""

from __future__ import annotations

import json
import runpy
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cumulticast.rules import Rule, all_rules
from pages.markdown import linked, page, table
from pages.rules import hundred_of, subjects

TESTS = Path(__file__).parents[2] / "tests"
EVIDENCE = {
    "recorded": "a real driver answered so, and the recording is in the repository",
    "documented": "NVIDIA's documentation of the call or of the status names it",
    "kernel-module": "NVIDIA's open kernel driver refuses so, and this is the fitting status",
    "assumed": "the demand is documented or plausible, the status is our choice",
}
CAVEAT = (
    "**A refusal by the simulator is evidence; its acceptance is not proof.** This project could not create a "
    "multicast object on real hardware: what is recorded is everything around the "
    "multicast calls, not these calls themselves."
)


def pages() -> Iterator[tuple[str, str]]:
    """Make the page."""
    yield "fidelity.md", fidelity()


def fidelity() -> str:
    """Show what the answers rest on."""
    kinds = [f"- *{name}*: {meaning}" for name, meaning in EVIDENCE.items()]
    assumed = [rule for rule in all_rules() if rule.evidence == "assumed"]
    return page(
        "Fidelity",
        CAVEAT,
        "## What vouches for the rules\n\n" + "\n".join(kinds),
        by_kind(),
        by_subject(),
        "## Recordings of real drivers\n\n" + recordings(),
        "What they taught: [tests/data/transcripts/README.md](../tests/data/transcripts/README.md).",
        "## Declared differences from the recordings",
        "Tests replay the recordings and agree step by step, but for these.",
        declared(),
        "## Where the two profiles differ\n\n" + profiles(),
        f"## The {len(assumed)} rules whose status is assumed\n\n" + _rules(assumed),
    )


def by_kind() -> str:
    """Count the rules by kind and evidence."""
    return _counted("kind", Counter((rule.kind, rule.evidence) for rule in all_rules()))


def by_subject() -> str:
    """Count the rules by subject and evidence."""
    names = {hundred: f"{hundred}xx {subject}" for hundred, subject in subjects().items()}
    return _counted("subject", Counter((names[hundred_of(rule)], rule.evidence) for rule in all_rules()))


def _counted(what: str, counts: Counter[tuple[str, str]]) -> str:
    rows = [[row, *(counts[row, column] for column in EVIDENCE)] for row in dict.fromkeys(key[0] for key in counts)]
    total = ["all", *(sum(int(row[n]) for row in rows) for n in range(1, len(EVIDENCE) + 1))]
    return table((what, *EVIDENCE, "all"), [[*row, sum(map(int, row[1:]))] for row in [*rows, total]])


def recordings() -> str:
    """List the recordings, with the machines they were made on."""
    rows: list[tuple[object, ...]] = []
    for path in sorted((TESTS / "data/transcripts").glob("*.json")):
        recording = json.loads(path.read_text())
        machine = recording["machine"]
        steps = _count(recording.get("groups") or {k: v for k, v in recording.items() if k != "machine"})
        version = f"{machine['cuda'] // 1000}.{machine['cuda'] % 1000 // 10}"
        gpu = f"{machine['gpus']} × {machine['gpu']}"
        rows.append((f"`{path.name}`", steps, gpu, machine["driver"], version, machine["date"]))
    return table(("recording", "steps", "GPU", "driver", "CUDA", "date"), rows)


def _count(groups: Mapping[str, Any]) -> int:
    """Count the recorded answers; a group is a list or a table of them, or one by itself."""
    return sum(len(group) if isinstance(group, (list, dict)) else 1 for group in groups.values())


def differences() -> Iterator[tuple[str, str, str]]:
    """Read what the tests that replay recordings declare: test, step, reason."""
    for path in sorted((TESTS / "fidelity").glob("test_*_recording.py")):
        for step, reason in _constants(path)["DECLARED"].items():
            yield path.name, step, reason


def _constants(path: Path) -> Mapping[str, Any]:
    """Run a test module, which defines things and does nothing, with what it imports from beside it."""
    sys.path.insert(0, str(path.parent))
    try:
        return runpy.run_path(str(path))
    finally:
        sys.path.remove(str(path.parent))


def declared() -> str:
    """Show the declared differences."""
    rows = [(f"`{test}`", *_named(step), why) for test, step, why in differences()]
    return table(("test", "group", "step", "reason"), rows)


def _named(step: str) -> tuple[str, str]:
    """Part the group of a recording from the step in it."""
    group, _, name = step.partition(".")
    return f"`{group}`", f"`{name}`" if name else ""


def profiles() -> str:
    """List the rules that hold in one profile only."""
    words = {
        "strict": "refused in `strict`; in `hardware` the call goes on and a finding is reported",
        "hardware": "refused in `hardware` only",
    }
    rules = [rule for rule in all_rules() if rule.held != "always"]
    rows = [(linked(rule.code, "rules/"), words[rule.held], rule.title) for rule in rules]
    return table(("rule", "held", "title"), rows)


def _rules(rules: list[Rule[...]]) -> str:
    rows = [(linked(rule.code, "rules/"), int(rule.status) if rule.status else "finding", rule.title) for rule in rules]
    return table(("rule", "answer", "title"), rows)
