"""``cumulticast run``: a program of any kind on a simulated machine."""

from __future__ import annotations

import argparse
import os
import site
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import cumulticast
from cumulticast.cli import machine_options
from cumulticast.cli.answers import UsageError
from cumulticast.cli.supervise import supervise
from cumulticast.sim.driver import PROFILES, Options
from cumulticast.sim.injection import parse
from cumulticast.sim.shared import World

LINKS = ("libcuda.so.1", "libcuda.so")  # what programs are linked to, and what some open by name


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.usage = "cumulticast run [options] -- COMMAND [argument ...]"
    machine_options.describe(parser)
    add = parser.add_argument
    add("--profile", choices=PROFILES, help="hardware (default): as real machines; strict: as documented")
    add(
        "--block-limit", type=_seconds, metavar="S", help="end a blocked bind or map with 909 after S seconds"
    )
    add("--hopeless", choices=("fail", "wait"), help="end waits that cannot end (default), or wait on")
    add(
        "--fault",
        action="append",
        type=_fault,
        metavar="SPEC",
        help="a fault to inject, such as fm=stopped; repeatable",
    )
    add("command", nargs=argparse.REMAINDER, help="the program and its arguments")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no time; a number of seconds above 0 is")
    return seconds


def _fault(text: str) -> str:
    try:
        parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def execute(args: argparse.Namespace) -> int:
    """Make a machine, run the command on it, and answer the command's exit code."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise UsageError("no command; write it behind --, as in: cumulticast run -- python program.py")
    options, library = _options(args), _library()
    machine = machine_options.chosen(options.machine, options.devices)
    world = World.create(machine, profile=options.profile, faults=options.faults)
    try:
        for name in LINKS:
            (world.path / name).symlink_to(library)
        return supervise(command, environment(options, world.path, os.environ))
    finally:
        world.close()


def _options(args: argparse.Namespace) -> Options:
    """Take what the command line says, and what it leaves open from the CUMULTICAST_ variables."""
    wanted = {
        "machine": args.machine,
        "devices": args.devices,
        "profile": args.profile,
        "block_limit": args.block_limit,
        "hopeless": args.hopeless,
        "faults": tuple(args.fault) if args.fault else None,
    }
    try:
        return replace(Options.from_environment(), **{k: v for k, v in wanted.items() if v is not None})
    except ValueError as error:
        raise UsageError(str(error)) from None


def _library() -> Path:
    """Find the built library, without loading it here."""
    path = Path(cumulticast.__file__).parent / "libcuda" / LINKS[0]
    if not path.is_file():
        raise UsageError(f"{path} was not built; install the package: pip install .")
    return path


def environment(options: Options, world: Path, inherited: Mapping[str, str]) -> dict[str, str]:
    """Answer the environment in which a program finds the machine.

    A program that is not Python gets an interpreter of the driver's own: CUMULTICAST_PYTHON says which, and
    CUMULTICAST_SITE where this package and what it needs are installed.
    """
    path = [str(world), *filter(None, [inherited.get("LD_LIBRARY_PATH")])]
    settings = {
        "LD_LIBRARY_PATH": os.pathsep.join(path),
        "CUMULTICAST_WORLD": str(world),
        "CUMULTICAST_MACHINE": options.machine,
        "CUMULTICAST_DEVICES": str(options.devices or ""),
        "CUMULTICAST_PROFILE": options.profile,
        "CUMULTICAST_HOPELESS": options.hopeless,
        "CUMULTICAST_BLOCK_LIMIT": str(options.block_limit or ""),
        "CUMULTICAST_FAULTS": ";".join(options.faults),
        "CUMULTICAST_PYTHON": sys.executable,
        "CUMULTICAST_SITE": os.pathsep.join(site_directories()),
    }
    return {**inherited, **settings}


def site_directories() -> list[str]:
    """Answer where this package and its dependencies are installed."""
    own = str(Path(cumulticast.__file__).resolve().parents[1])
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return list(dict.fromkeys([own, *site.getsitepackages(), *user]))
