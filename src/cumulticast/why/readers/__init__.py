"""Readers of what needs more than one line, one file for each kind of text, and all signs together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from cumulticast.why.observation import Observation
from cumulticast.why.readers import commands, fabric, failures, stacks, topology, traces
from cumulticast.why.reading import Line
from cumulticast.why.signs import Sign, written


@cache
def signs() -> tuple[Sign, ...]:
    """Answer every sign."""
    modules = (failures, commands, fabric, topology, stacks, traces)
    return (*written(), *(sign for module in modules for sign in module.SIGNS))


@cache
def _by_word() -> dict[str, tuple[Sign, ...]]:
    table: dict[str, list[Sign]] = {}
    for sign in signs():
        for word in sign.words:
            table.setdefault(word, []).append(sign)
    return {word: tuple(found) for word, found in table.items()}


def words() -> tuple[str, ...]:
    """Answer all words to look for."""
    return tuple(_by_word())


def read(line: Line) -> Iterator[Observation]:
    """Ask every sign that has a word in the line, each once."""
    asked: set[int] = set()
    for word in sorted(line.words):
        for sign in _by_word()[word]:
            if id(sign) not in asked:
                asked.add(id(sign))
                yield from sign.read(line)
