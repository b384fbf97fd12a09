"""Readers of what needs more than one line, one file for each kind of text, and all signs together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from cumulticast.why.observation import Observation
from cumulticast.why.readers import commands, fabric, failures, stacks, topology, traces
from cumulticast.why.reading import Line
from cumulticast.why.signs import Sign, written

OUR_HINT = "likely cause: "
ENOUGH = 4000  # lines


@cache
def signs() -> tuple[Sign, ...]:
    """Answer every sign."""
    modules = (failures, commands, fabric, topology, stacks, traces)
    return (*written(), *(sign for module in modules for sign in module.SIGNS))


@cache
def _needles() -> dict[str, tuple[tuple[str, Sign], ...]]:
    """Answer the words to search for, and for each the signs that it leads to, with their own word.

    A word that holds a shorter one need not be searched for: the shorter one finds its lines.
    """
    asked = [(word, sign) for sign in signs() for word in sign.words]
    every = {word for word, _ in asked}
    shortest = {word for word in every if not any(other in word for other in every - {word})}
    return {needle: tuple(pair for pair in asked if needle in pair[0]) for needle in shortest}


def words() -> tuple[str, ...]:
    """Answer the words to search for."""
    return tuple(sorted(_needles()))


@dataclass(slots=True)
class Session:
    """One reading of some inputs: a sign that was asked of thousands of lines has seen enough."""

    asked: dict[int, int] = field(default_factory=dict[int, int])

    def read(self, line: Line) -> Iterator[Observation]:
        """Ask every sign that has a word in the line, each once."""
        lower = line.raw.lower()
        if OUR_HINT in lower:
            return  # our own guess on an error is no evidence
        done: set[int] = set()
        for needle in sorted(line.words):
            for word, sign in _needles()[needle]:
                if id(sign) not in done and word in lower and self._curious(sign):
                    done.add(id(sign))
                    yield from sign.read(line)

    def words(self) -> list[str]:
        """Answer the words that some sign still wants to see."""
        full = {key for key, count in self.asked.items() if count > ENOUGH}
        return [
            word for word, pairs in _needles().items() if any(sign.every or id(sign) not in full for _, sign in pairs)
        ]

    def _curious(self, sign: Sign) -> bool:
        count = self.asked[id(sign)] = self.asked.get(id(sign), 0) + 1
        return sign.every or count <= ENOUGH
