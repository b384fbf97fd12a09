"""``cumulticast plan``: which arrays go where in which multicast objects, and whether that fits.

Exit codes: 0 it fits; 1 it does not; 2 usage; 3 an input could not be read, or the map not be written.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from cumulticast.cli import machine_options
from cumulticast.cli.answers import FOUND, GOOD, INTERRUPTED, UNCERTAIN, UsageError, complain, print_json
from cumulticast.cli.plan_requests import HOW, read
from cumulticast.cli.sizes import parse_size
from cumulticast.layout import Limits, Plan, RequestError, limits, plan
from cumulticast.layout.planner import POLICIES


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = "exit codes: 0 it fits; 1 it does not; 2 usage; 3 a file could not be read or written"
    parser.add_argument("requests", metavar="REQUESTS", help=f"JSON, CSV with a header, or lines; - for stdin; {HOW}")
    machine_options.describe(parser)
    parser.add_argument("--granularity", choices=POLICIES, default="minimum", help="of sizes (default %(default)s)")
    parser.add_argument("--max-object", type=parse_size, metavar="SIZE", help="the largest size of an object")
    parser.add_argument("--memory", type=parse_size, metavar="SIZE", help="memory that each device has left")
    parser.add_argument("--slots", type=int, metavar="N", help="multicast objects that can still be bound")
    parser.add_argument("--unaligned", type=int, metavar="N", help="unaligned binds that each device has left (SM_107)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--svg", metavar="OUT", help="draw the map of the address ranges into this file")


def execute(args: argparse.Namespace) -> int:
    """Read, plan, show."""
    machine = _machine(args)
    try:
        text = _text(args.requests)
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, or no name of a file
        complain(f"plan: {args.requests}: {getattr(error, 'strerror', None) or error}")
        return UNCERTAIN
    except KeyboardInterrupt:
        complain("plan: interrupted")
        return INTERRUPTED
    made = _planned(text, "stdin" if args.requests == "-" else args.requests, machine, args)
    if args.svg:
        try:
            write(Path(args.svg), made.svg())
        except (OSError, ValueError) as error:
            complain(f"plan: {args.svg}: {getattr(error, 'strerror', None) or error}")
            return UNCERTAIN
    if args.json:
        print_json(made.as_dict())
    else:
        from cumulticast.cli.plan_view import show

        show(made)
    return GOOD if made.fits else FOUND


def _machine(args: argparse.Namespace) -> Limits:
    try:
        return limits(
            args.machine, devices=args.devices, memory=args.memory, slots=args.slots, unaligned=args.unaligned
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def _text(source: str) -> str:
    data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    return data.decode("utf-8-sig")


def _planned(text: str, source: str, machine: Limits, args: argparse.Namespace) -> Plan:
    """Plan; an error of a request names its place in the file."""
    found = read(text, source)
    try:
        requests = [request for _, request in found.values()]
        return plan(requests, machine, granularity=args.granularity, max_object=args.max_object)
    except RequestError as error:
        raise UsageError(f"{found[error.name][0]}: {error}") from None
    except ValueError as error:
        raise UsageError(str(error)) from None


def write(path: Path, text: str) -> None:
    """Write a file in one step: whoever reads it sees the old one or all of the new one."""
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(scratch, 0o666 & ~mask)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
