"""The options that choose a machine, for every command that has one."""

from __future__ import annotations

import argparse
import os

from cumulticast.cli.answers import UsageError
from cumulticast.sim.driver import DEFAULT_MACHINE
from cumulticast.sim.machine import Machine, load


def describe(parser: argparse.ArgumentParser) -> None:
    """Add ``--machine`` and ``--devices``."""
    parser.add_argument(
        "--machine",
        default=os.environ.get("CUMULTICAST_MACHINE") or DEFAULT_MACHINE,
        metavar="NAME",
        help="the machine to simulate (default %(default)s; `cumulticast machines` lists them)",
    )
    parser.add_argument("--devices", type=int, metavar="N", help="devices of each node (default: all it has)")


def chosen(name: str, devices: int | None, nodes: int | None = None) -> Machine:
    """Load the machine that the options name.

    Raises
    ------
    UsageError
        There is none such; the text names the nearest one that is.
    """
    try:
        return load(name, devices=devices, nodes=nodes)
    except ValueError as error:
        raise UsageError(str(error)) from None
