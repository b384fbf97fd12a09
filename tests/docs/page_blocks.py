"""Pages whose blocks are carried out in order: files are written, commands run, and what they print is compared."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, and its lines."""

    language: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    """Answer the blocks of a page in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for language, body in re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", text):
        yield Block(language, body)


def printed(command: str, place: Path) -> list[str]:
    """Run a command in a directory; what it prints, sorted, since ranks have no order. Warnings are errors."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONWARNINGS": "error"}
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, timeout=50, cwd=place, env=environment)
    trouble = [line for line in done.stderr.splitlines() if not line.startswith("cumulticast run: ")]
    assert trouble == [], done.stderr
    return sorted(done.stdout.splitlines())


def carry_out(block: Block, place: Path) -> list[str] | None:
    """Write a named file, or run a command and answer what it prints."""
    if named := re.match(r"(?:#|//) ([\w.]+)\n", block.text):
        (place / named[1]).write_text(block.text, encoding="utf-8")
        return None
    assert block.language == "sh"
    (command,) = block.text.splitlines()
    return printed(command, place)
