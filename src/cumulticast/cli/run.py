"""``cumulticast run``: a program of any kind on a simulated machine."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace

from cumulticast import launch
from cumulticast.cli import machine_options
from cumulticast.cli.answers import UsageError
from cumulticast.cli.many import run_many
from cumulticast.cli.supervise import supervise
from cumulticast.ranks import places
from cumulticast.sim.choices import seed_of
from cumulticast.sim.driver import PROFILES, Options
from cumulticast.sim.injection import fit, parse
from cumulticast.sim.shared import World, WorldError
from cumulticast.sim.trace_file import VARIABLE, TraceFile


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.usage = "cumulticast run [options] -- COMMAND [argument ...]"
    parser.epilog = (
        "Exit code: the command's own, 128 + N after signal N; "
        "with --ranks that of the lowest rank whose code is not 0."
    )
    machine_options.describe(parser)
    add = parser.add_argument
    add("--ranks", type=_count, metavar="R", help="start R copies of the command, each with RANK, WORLD_SIZE, ...")
    add("--nodes", type=_count, metavar="K", help="nodes of the machine; the ranks are spread over them")
    add("--profile", choices=PROFILES, help="hardware (default): as real machines; strict: as documented")
    add("--block-limit", type=_seconds, metavar="S", help="end a blocked bind or map with 909 after S seconds")
    add("--kernel-limit", type=_seconds, metavar="S", help="end a kernel that runs longer than S seconds with 702")
    add(
        "--memory",
        type=_memory,
        metavar="KIND",
        help="plain (default), or adversarial[:SEED]: kernels meet what the PTX memory model allows",
    )
    add("--hopeless", choices=("fail", "wait"), help="end waits that cannot end (default), or wait on")
    add(
        "--fault",
        action="append",
        type=_fault,
        metavar="SPEC",
        help="a fault to inject, such as fm=stopped; repeatable",
    )
    add("--trace", metavar="FILE", help="record every driver call in FILE, for `cumulticast trace`")
    add("command", nargs=argparse.REMAINDER, help="the program and its arguments")


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 1 or more")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no time; a number of seconds above 0 is")
    return seconds


def _memory(text: str) -> str:
    try:
        seed_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


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
    options = _options(args)
    _check_faults(options)
    try:
        with launch.machine(options) as world:
            env = launch.environment(options, world.path, os.environ) | _traced(args.trace, world)
            if args.ranks is None:
                return supervise(command, env)
            seats = places(args.ranks, world.machine, spread=args.nodes is not None)
            return run_many(command, env, seats, world)
    except (FileNotFoundError, WorldError) as error:
        raise UsageError(str(error)) from None


def _check_faults(options: Options) -> None:
    """Refuse a machine that is none, and faults that it cannot have."""
    machine = machine_options.chosen(options.machine, options.devices, options.nodes)
    try:
        fit(options.faults, machine)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _traced(fresh: str | None, world: World) -> dict[str, str]:
    """Begin the trace, and say in the environment where it is; one that cannot begin has been reported."""
    inherited = os.environ.get(VARIABLE)
    if fresh:
        file = TraceFile.begin(fresh, world)
    elif inherited:  # perhaps another `run` around this one writes there
        file = TraceFile.join(inherited, world)
    else:
        return {}
    begun = file.is_open
    file.close()
    return {VARIABLE: file.path if begun else ""}


def _options(args: argparse.Namespace) -> Options:
    """Take what the command line says, and what it leaves open from the CUMULTICAST_ variables."""
    wanted = {
        "machine": args.machine,
        "devices": args.devices,
        "nodes": args.nodes,
        "profile": args.profile,
        "block_limit": args.block_limit,
        "kernel_limit": args.kernel_limit,
        "hopeless": args.hopeless,
        "memory": args.memory,
        "faults": tuple(args.fault) if args.fault else None,
    }
    try:
        return replace(Options.from_environment(), **{k: v for k, v in wanted.items() if v is not None})
    except ValueError as error:
        raise UsageError(str(error)) from None
