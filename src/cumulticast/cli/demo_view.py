"""The demonstration on a screen: what was done and how long it took, the refusals, and what was proven."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cumulticast.cli.answers import console
from cumulticast.rules.text import size_text


def show(document: Mapping[str, Any]) -> None:
    """Print the document of a demonstration."""
    out = console()
    _heading(out, document)
    _steps(out, document["steps"])
    if document["refusals"]:
        _refusals(out, document["refusals"])
    _closing(out, document)


def _heading(out: Console, document: Mapping[str, Any]) -> None:
    devices, size = document["devices"], size_text(document["size"])
    out.print(f"{devices} x {document['device']}, simulated ({document['machine']})", style="bold")
    out.print(f"{size} on each device under one multicast address, profile {document['profile']}\n")


def _steps(out: Console, steps: list[Mapping[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("step", no_wrap=True)
    table.add_column("call", style="cyan", no_wrap=True)
    table.add_column("calls", justify="right", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    for step in steps:
        table.add_row(step["name"], step["call"], str(step["calls"]), f"{step['seconds'] * 1e3:.2f} ms")
    out.print(table)


def _refusals(out: Console, refusals: list[Mapping[str, Any]]) -> None:
    out.print(f"\n{len(refusals)} wrong binds, and what the driver says:", style="bold")
    for refusal in refusals:
        out.print(Text.assemble("\n", (refusal["wrong"], "cyan"), f": {refusal['status']} {refusal['status_name']}"))
        out.print(refusal["message"])


def _closing(out: Console, document: Mapping[str, Any]) -> None:
    out.print()
    if document["failure"]:
        failure = document["failure"]
        out.print(f"It ended at {failure['call']}: {failure['status']} {failure['status_name']}", style="bold red")
        out.print(failure["message"])
        return
    devices, right = document["devices"], document["replicas_verified"]
    if document["ok"]:
        checked = size_text(right * document["size"])
        replicas = "the replica" if devices == 1 else f"all {devices} replicas"
        out.print(
            f"Proven: {replicas} held the broadcast, then the sum over the team; the {checked} read back "
            "equal numpy's, bit for bit; every wrong bind was refused.",
            style="bold green",
        )
    else:
        out.print(f"NOT proven: {right} of {2 * devices} replicas were right.", style="bold red")
