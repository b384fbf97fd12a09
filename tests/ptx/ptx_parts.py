"""PTX as NVRTC lays it out, taken apart into its functions."""

from __future__ import annotations

import re
from dataclasses import dataclass

START = re.compile(r"^(?:\.visible |\.weak )?\.(entry|func)\b(?:[ \t]*\([^)]*\))?\s*(\w+)\s*\([^{;]*[{;]", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """A function's declaration or definition, from its first word to its last brace or semicolon."""

    kind: str
    name: str
    text: str

    def names(self, name: str) -> bool:
        """Say whether it calls a function, or takes its address."""
        return bool(re.search(rf"\b{name}\b", self.text))


def parts(text: str) -> list[Part]:
    """Find all functions."""
    return [Part(match[1], match[2], _body(text, match)) for match in START.finditer(text)]


def _body(text: str, start: re.Match[str]) -> str:
    depth, at = int(text[start.end() - 1] == "{"), start.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[start.start() : at]


def only(text: str, kernels: set[str]) -> str:
    """Take out kernels that are not wanted, then functions that nothing else names any more."""
    found = parts(text)
    for part in found:
        if part.kind == "entry" and part.name not in kernels:
            text = text.replace(part.text, "")
    for name in {part.name for part in found if part.kind == "func"}:
        rest = text
        for part in found:
            rest = rest.replace(part.text, "") if part.name == name else rest
        if not re.search(rf"\b{name}\b", rest):
            text = rest
    return text
