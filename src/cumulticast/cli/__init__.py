"""The command line: words and colours. Each command is a file of its own, imported when it is asked for.

Results go to stdout, everything else to stderr. Exit codes: 0 good, 1 found something wrong, 2 usage, 3 could
not tell; `run` passes the exit code of its command through.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from cumulticast import __version__
from cumulticast.cli.answers import USAGE, UsageError, complain

COMMANDS = {
    "demo": "bind, broadcast and all-reduce on a simulated machine, and check every byte",
    "run": "run a program on a simulated machine",
    "trace": "show what a recorded run did, check it, or draw it",
    "rules": "list the rules of the driver, or explain one",
    "machines": "list the simulated machines, or describe one",
    "ps": "show who is on the simulated machines that run now, and who waits for whom",
    "explain": "say what happened in logs, or what a status, a call or a rule means",
    "plan": "lay arrays out in multicast objects: which go where, what is wasted, whether it fits",
    "doctor": "say whether multicast can work on this machine, and if not, why",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and answer its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        args = _parser(words).parse_args(words)
        return args.execute(args)
    except UsageError as error:
        complain(f"{words[0]}: {error}")
        return USAGE
    except SystemExit as ended:  # argparse has printed its help or its complaint
        return ended.code if isinstance(ended.code, int) else 0
    except BrokenPipeError:
        return _reader_left()


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Describe all commands, but only the wanted one in full."""
    parser = argparse.ArgumentParser(prog="cumulticast", description="CUDA multicast memory with no GPU.")
    parser.add_argument("--version", action="version", version=f"cumulticast {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if name in words[:1]:
            module = import_module(f"cumulticast.cli.{name}")
            module.describe(command)
            command.set_defaults(execute=module.execute)
    return parser


def _reader_left() -> int:
    """End quietly when nobody reads on (``| head``), also when Python flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
