"""Write the generated pages of docs/ and the generated parts of README.md: ``make docs``.

Everything comes from the package's own data (rule book, causes, call table, machines), from the recordings and their
tests, and from docs/data/. tests/docs makes the same texts in memory and compares, so the pages never drift.
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))

from pages import calls, causes, doctor, fidelity, machines, nvml, readme, rules, statements  # noqa: E402

README = DOCS.parent / "README.md"


def pages() -> dict[Path, str]:
    """Make every generated page: path → text."""
    modules = (rules, causes, doctor, fidelity, machines, nvml, calls, statements)
    return {DOCS / path: text for module in modules for path, text in module.pages()}


def stale(made: dict[Path, str]) -> list[Path]:
    """Return the pages of rules and causes that are gone."""
    kept = {path for folder in ("rules", "causes") for path in (DOCS / folder).glob("*.md")}
    return sorted(kept - made.keys())


def main() -> None:
    """Write what changed, and say what."""
    made = pages()
    wanted = {**made, README: readme.filled(README.read_text(encoding="utf-8"))}
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(DOCS.parent))
    for path in stale(made):
        path.unlink()
        print(f"{path.relative_to(DOCS.parent)} removed")


if __name__ == "__main__":
    main()
