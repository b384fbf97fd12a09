"""The generated parts of README.md: what stands between ``<!-- NAME -->`` and ``<!-- /NAME -->``."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pages import fidelity
from pages.markdown import table

SPEED = Path(__file__).parents[1] / "data" / "speed.json"


def parts() -> dict[str, str]:
    """Make every generated part: name → text."""
    evidence = f"{fidelity.by_kind()}\n\n{fidelity.by_subject()}\n\n{fidelity.recordings()}"
    return {"fidelity": evidence, "speed": speed()}


def filled(text: str) -> str:
    """Put the generated parts into the text of README.md.

    Raises
    ------
    ValueError
        A part has not exactly one place.
    """
    for name, part in parts().items():
        pieces = re.split(rf"(?s)(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", text)
        if len(pieces) != 2:
            raise ValueError(f"README.md has {len(pieces) - 1} places for {name!r}, not one")
        text = f"{pieces[0]}{part}\n{pieces[1]}"
    return text


def speed() -> str:
    """Show a run of ``make bench`` (a copy of benchmarks/results.json that is kept as docs/data/speed.json)."""
    rows = [
        (result["name"], f"{result['value']:.3g} {result['unit']}".strip(), _bound(result))
        for result in json.loads(SPEED.read_text())["results"]
        if result["bound"]
    ]
    return table(("what", "measured", "bound"), rows)


def _bound(result: dict[str, object]) -> str:
    bound = result["bound"] if isinstance(result["bound"], str) else f">= {result['bound']}"
    return f"{bound}" if result["holds"] else f"{bound}: does not hold"
