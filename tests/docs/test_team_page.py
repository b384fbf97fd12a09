"""What docs/team.md says is true: its program prints what it shows, and it names all there is."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest
from page_blocks import DOCS, blocks, printed

import cumulticast
from cumulticast.team.collectives.kinds import KINDS
from cumulticast.team.comm.places import PORTS
from cumulticast.team.dlpack import VERSION
from cumulticast.team.facts import FORBIDDING
from cumulticast.team.heap import MOST_GROWTH
from cumulticast.team.replica import Replica

PAGE = (DOCS / "team.md").read_text(encoding="utf-8")
ALL = [*blocks("team.md")]
CLASSES = [
    *(getattr(cumulticast, name) for name in ("Team", "SymmetricArray", "TeamError")),
    *(getattr(cumulticast, name) for name in ("MulticastObject", "PhysicalMemory", "Mapping", "Binding")),
    Replica,
]
#: What one room of the team needs of another, not for users.
INNER = {"pad", "scratch", "check_rank", "own_rank", "block", "offset", "barred"}


def test_the_program_prints_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text("".join(block.text for block in ALL if block.language == "python"))
    shown = "".join(block.text for block in ALL if block.language == "text").splitlines()
    assert printed(f"cumulticast run -- {sys.executable} page.py", tmp_path) == sorted(shown)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_public_name_is_on_the_page(kind: type) -> None:
    names = [name for name in vars(kind) if not name.startswith("_") and name not in INNER]
    assert [name for name in names if f"{name}`" not in PAGE and f"{name}(" not in PAGE] == []


@pytest.mark.parametrize("name", ["local", "join"])
def test_every_option_is_on_the_page(name: str) -> None:
    options = set(inspect.signature(getattr(cumulticast.Team, name)).parameters) - {"comm"}
    assert [option for option in options if f"`{option}" not in PAGE and f"{option}=" not in PAGE] in ([], ["devices"])


def test_every_stage_is_on_the_page() -> None:
    told = inspect.getdoc(cumulticast.TeamError) or ""
    stages = re.findall(r"``(\w+)``", told.partition("\nstage\n")[2].partition("\ncall\n")[0])
    assert {"join", "map", "barrier"} < set(stages)
    assert [stage for stage in stages if f"*{stage}*" not in PAGE and f"`{stage}`" not in PAGE] == []


def test_numbers_and_names_are_those_of_the_code() -> None:
    assert f"`{FORBIDDING}`" in PAGE
    assert PORTS == 8 and "one of the seven ports behind it" in PAGE
    assert [kind for kind in KINDS if kind not in PAGE] == []
    assert (VERSION, MOST_GROWTH) == ((1, 1), 64 << 20)
    parameters = inspect.signature(cumulticast.Team.join).parameters
    retries, backoff = parameters["retries"].default, parameters["backoff"].default
    assert f"| `timeout` | {parameters['timeout'].default:g} |" in PAGE
    assert f"| `retries`, `backoff` | {retries}, {backoff:g} |" in PAGE
