"""The tutorial, from its first file to its last line of output, as a reader would do it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from page_blocks import Block, blocks, carry_out

ROOT = Path(__file__).parents[2]
INSTALL, *STEPS = blocks("tutorial.md")


def test_what_it_installs_exists() -> None:
    assert INSTALL.text.split() == ["pip", "install", '".[core]"']
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {name.split(">")[0] for name in extras["core"]} == {"cuda-core", "nvidia-cuda-nvrtc"}


@pytest.mark.timeout(300)
def test_every_step_works_as_printed(tmp_path: Path) -> None:
    found: list[tuple[str, list[str] | None]] = []
    for before, block in zip([Block("", ""), *STEPS], STEPS, strict=False):
        if block.language == "text":
            assert found[-1] == (before.text, block.text.splitlines())
        else:
            found.append((block.text, carry_out(block, tmp_path)))
    commands = [text for text, lines in found if lines is not None]
    assert len(commands) == sum(block.language == "text" for block in STEPS) == 7
