"""docs/ holds the generator, tests/rules what reads the docstrings of the installed wheel: both are imported."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "tests" / "rules")]
