"""``cumulticast demo``: the main job on a simulated machine, checked byte by byte; then what goes wrong."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from cumulticast.cli import machine_options
from cumulticast.cli.answers import FOUND, GOOD, UsageError, print_json
from cumulticast.cli.sizes import parse_size
from cumulticast.rules.text import bytes_text, nearest_multiples
from cumulticast.sim.machine import Machine

DEFAULT_SIZE = 4 << 20  # eight replicas fit into the 64 MiB that containers have for shared memory


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    machine_options.describe(parser)
    parser.add_argument(
        "--size",
        type=parse_size,
        default=DEFAULT_SIZE,
        metavar="BYTES",
        help="bytes of each replica, such as 4194304 or 4MiB (default 4MiB)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(args: argparse.Namespace) -> int:
    """Do the job, show it, and answer 0 only if everything was verified."""
    machine = machine_options.chosen(args.machine, args.devices)
    check_size(machine, args.size)
    document = perform(machine, args.size)
    if args.json:
        print_json(document)
    else:
        from cumulticast.cli.demo_view import show

        show(document)
    return GOOD if document["ok"] else FOUND


def check_size(machine: Machine, size: int) -> None:
    """Refuse a size that no multicast object of the machine can have.

    Raises
    ------
    UsageError
        The text names the nearest sizes that are legal.
    """
    step = machine.multicast_granularity
    if size % step or not size:
        nearest = nearest_multiples(size, step, least=1)
        raise UsageError(f"--size {size} is not a positive multiple of {bytes_text(step)}; nearest {nearest}")
    if size > machine.total_memory:
        most = machine.total_memory // step * step
        raise UsageError(f"--size {size} is more than the {machine.total_memory} bytes of a device; nearest {most}")


def perform(machine: Machine, size: int) -> dict[str, Any]:
    """Do the job on ``machine`` in this process and answer what happened, as JSON has it."""
    from cumulticast import sim
    from cumulticast.cli.demo_job import Demonstration

    sim.start(machine.name, machine.devices_per_node, profile="strict")
    try:
        done = Demonstration(machine.devices_per_node, size)
        done.run()
    finally:
        sim.stop()
    return {
        "ok": done.ok,
        "machine": machine.name,
        "device": machine.device_name,
        "devices": machine.devices_per_node,
        "size": size,
        "profile": "strict",
        "steps": [asdict(step) for step in done.steps],
        "replicas_verified": done.verified,
        "refusals": [asdict(refusal) for refusal in done.refusals],
        "failure": asdict(done.failure) if done.failure else None,
    }
