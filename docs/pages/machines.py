"""docs/machines.md: the presets, every value with its evidence and its source."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from cumulticast.sim.machine import Machine, load, names
from cumulticast.sim.presets import KINDS, Fact
from pages.markdown import page, table


def pages() -> Iterator[tuple[str, str]]:
    """Make the page."""
    machines = [load(name) for name in names()]
    yield (
        "machines.md",
        page(
            "The simulated machines",
            "A machine is data (`src/cumulticast/sim/machines/*.toml`). *recorded*: a real driver answered it; "
            "*documented*: something public says so; *assumed*: our guess, such as that a device answers as "
            "another did. `cumulticast machines NAME` prints one.",
            table(("machine", "devices", "multicast", *KINDS, "what it is"), map(_summary, machines)),
            *map(_section, machines),
        ),
    )


def _section(machine: Machine) -> str:
    return f"## {machine.name}\n\n{machine.title}.\n\n{_facts(machine)}\n\n{_attributes(machine)}"


def _summary(machine: Machine) -> list[object]:
    """Say how much there is of a machine, and how many of its values rest on what."""
    count = [sum(fact.evidence == kind for fact in machine.evidence.values()) for kind in KINDS]
    devices = f"{machine.nodes} × {machine.devices_per_node}" if machine.nodes > 1 else machine.devices_per_node
    multicast = "yes" if machine.multicast_supported else "no"
    return [f"[{machine.name}](#{machine.name})", devices, multicast, *count, machine.title]


def _facts(machine: Machine) -> str:
    rows = [
        (f"`{key}`", _shown(fact), fact.evidence, fact.source)
        for key, fact in sorted(machine.evidence.items())
        if "." not in key
    ]
    return table(("fact", "value", "evidence", "source"), rows)


def _attributes(machine: Machine) -> str:
    """Group the device attributes by their source; what the recording has is written out at its own machine only."""
    groups = defaultdict[tuple[str, str], list[str]](list)
    for key, fact in machine.evidence.items():
        if key.startswith("attributes."):
            groups[fact.evidence, fact.source].append(f"`{key.removeprefix('attributes.')}` {_shown(fact)}")
    rows = [(_listed(source, values), evidence, source) for (evidence, source), values in groups.items()]
    return table(("device attributes", "evidence", "source"), rows)


def _listed(source: str, values: list[str]) -> str:
    """List the values, or say how many are those of another machine."""
    other = re.match(r"as recorded for ([\w-]+):", source)
    return f"{len(values)} as on [{other[1]}](#{other[1]})" if other else ", ".join(values)


def _shown(fact: Fact) -> str:
    return ", ".join(map(str, fact.value)) if isinstance(fact.value, tuple) else str(fact.value)
