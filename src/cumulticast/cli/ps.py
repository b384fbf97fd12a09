"""``cumulticast ps``: the worlds of this user, who is in them, and who waits for whom. Looking changes nothing."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from cumulticast.cli.answers import FOUND, GOOD, UsageError, print_json
from cumulticast.sim import worlds
from cumulticast.sim.picture import Picture


@dataclass(frozen=True, slots=True)
class Found:
    """What there is at one moment: pictures of worlds, directories that cannot be read, worlds that were removed."""

    pictures: tuple[Picture, ...]
    damaged: tuple[worlds.Damaged, ...]
    pruned: tuple[Path, ...]


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("--json", action="store_true", help="print JSON")
    add("--watch", action="store_true", help="show it again and again, until Ctrl-C")
    add("--prune", action="store_true", help="first remove the worlds whose owner and processes are all dead")


def execute(args: argparse.Namespace) -> int:
    """Show all worlds; 1 if one of them is damaged (0 when somebody watched)."""
    if args.json and args.watch:
        raise UsageError("--json prints one document and --watch many; use one of them")
    found = survey(prune=args.prune)
    if args.json:
        print_json(as_dict(found, pruned=args.prune))
    elif args.watch:
        from cumulticast.cli.ps_view import watch

        watch(found, lambda: survey(prune=args.prune))
        return GOOD
    else:
        from cumulticast.cli.ps_view import show

        show(found)
    return FOUND if found.damaged else GOOD


def survey(*, prune: bool) -> Found:
    """Look at every world there is."""
    paths = worlds.find()
    gone = tuple(path for path in paths if worlds.prune(path)) if prune else ()
    seen = [worlds.look(path) for path in paths if path not in gone]
    pictures = tuple(one for one in seen if isinstance(one, Picture))
    return Found(pictures, tuple(one for one in seen if isinstance(one, worlds.Damaged)), gone)


def as_dict(found: Found, *, pruned: bool) -> dict[str, object]:
    """Answer it as JSON has it; ``damaged`` and ``pruned`` are there when there is something to tell."""
    document: dict[str, object] = {"worlds": [picture.as_dict() for picture in found.pictures]}
    if found.damaged:
        document["damaged"] = [{"path": str(one.path), "why": one.why} for one in found.damaged]
    if pruned:
        document["pruned"] = [str(path) for path in found.pruned]
    return document
