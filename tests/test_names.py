"""Files of tests import each other by their bare names, so no two of them have the same."""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent


def test_no_two_files_have_one_name() -> None:
    names = Counter(path.name for path in TESTS.rglob("*.py") if path.name not in ("conftest.py", "__init__.py"))
    assert {name for name, count in names.items() if count > 1} == set()
    assert names["test_names.py"] == 1
