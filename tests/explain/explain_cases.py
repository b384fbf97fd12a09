"""The cases: what a user has and the wanted answer, read once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data"
#: What expected.json says against the header cuda.h, where CUDA_ERROR_CONTAINED is 226.
CORRECTED = {"021-serial-console": {"code": 226, "name": "CUDA_ERROR_CONTAINED"}}


@dataclass(frozen=True, slots=True)
class Case:
    """One folder."""

    folder: Path
    expected: dict[str, Any]

    @property
    def inputs(self) -> list[Path]:
        return sorted(self.folder.glob("input*.log"))

    @property
    def id(self) -> str:
        return self.folder.name


def read(folder: Path) -> Case:
    expected = json.loads((folder / "expected.json").read_text())
    expected["status"] = CORRECTED.get(folder.name, expected["status"])
    return Case(folder, expected)


GIVEN = [read(folder) for folder in sorted((DATA / "cases").iterdir())]
OWN = [read(folder) for folder in sorted((DATA / "cases_own").iterdir())]
CASES = [*GIVEN, *OWN]
