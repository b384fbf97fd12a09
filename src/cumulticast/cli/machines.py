"""``cumulticast machines``: the presets, or everything that one of them is made of, with its evidence."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from cumulticast.cli.answers import GOOD, UsageError, console, print_json
from cumulticast.rules.text import size_text
from cumulticast.sim.machine import Machine, load, names
from cumulticast.sim.presets import Fact, attribute_numbers


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the machine to describe")
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(args: argparse.Namespace) -> int:
    """Show all machines or one."""
    machines = [_loaded(args.name)] if args.name else [load(name) for name in names()]
    if args.json:
        print_json({"machines": [as_dict(machine) for machine in machines]})
    elif args.name:
        show_facts(machines[0])
    else:
        show_list(machines)
    return GOOD


def _loaded(name: str) -> Machine:
    try:
        return load(name)
    except ValueError as error:
        raise UsageError(str(error)) from None


def as_dict(machine: Machine) -> dict[str, Any]:
    """Answer a machine as JSON has it: every fact, and every device attribute, with its evidence."""
    numbers = attribute_numbers()
    attributes = {
        key.removeprefix("attributes."): {
            "number": numbers[key.removeprefix("attributes.")],
            **_as_dict(fact),
        }
        for key, fact in machine.evidence.items()
        if key.startswith("attributes.")
    }
    facts = {key: _as_dict(fact) for key, fact in machine.evidence.items() if "." not in key}
    return {
        "name": machine.name,
        "title": machine.title,
        "nodes": machine.nodes,
        "devices": machine.devices_per_node,
        "multicast": machine.multicast_supported,
        "facts": facts,
        "attributes": attributes,
    }


def _as_dict(fact: Fact) -> dict[str, Any]:
    return {"value": fact.value, "evidence": fact.evidence, "source": fact.source}


def show_list(machines: list[Machine]) -> None:
    """Print one line for each machine."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("machine", style="cyan", no_wrap=True)
    for name in ("devices", "multicast"):
        table.add_column(name, no_wrap=True)
    table.add_column("what it is")
    for machine in machines:
        devices = (
            f"{machine.nodes} x {machine.devices_per_node}" if machine.nodes > 1 else str(machine.devices_per_node)
        )
        table.add_row(machine.name, devices, "yes" if machine.multicast_supported else "no", machine.title)
    console().print(table)


def show_facts(machine: Machine) -> None:
    """Print every fact of a machine and why it is held to be true."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("fact", style="cyan", overflow="fold")
    table.add_column("value", overflow="fold")
    table.add_column("evidence", no_wrap=True)
    for key, fact in _ordered(machine.evidence):
        table.add_row(key.removeprefix("attributes."), _shown(key, fact.value), fact.evidence)
    out = console()
    out.print(f"{machine.name}  {machine.title}\n", style="bold")
    out.print(table)
    out.print("\nThe sources of all values: cumulticast machines --json " + machine.name)


def _ordered(evidence: Mapping[str, Fact]) -> list[tuple[str, Fact]]:
    """Put what the machine is first and the attributes of its devices after it."""
    return sorted(evidence.items(), key=lambda item: ("." in item[0], item[0]))


def _shown(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    sized = key.endswith(("granularity", "memory", "extent", "recommended_from"))
    return f"{value} ({size_text(value)})" if sized and value >= 1024 else str(value)
