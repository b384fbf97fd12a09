"""Read the machine presets (machines/*.toml): facts, each with its evidence, and who inherits them.

A preset states only what is its own; `base` names the file it takes the rest from. Files whose names begin
with an underscore are families: they hold what their members have in common and are no machines themselves.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast, get_args

MACHINES = Path(__file__).with_name("machines")

Kind = Literal["recorded", "documented", "assumed"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Fact:
    """A value and why we hold it to be true.

    Attributes
    ----------
    value : Any
        As TOML gives it; arrays as tuples.
    evidence : {"recorded", "documented", "assumed"}
        A real driver answered it to us; something public says so; or our guess.
    source : str
        The recording, the document, or the reason for the guess.
    """

    value: Any
    evidence: Kind
    source: str


@cache
def names() -> tuple[str, ...]:
    """Return the names of the presets, sorted."""
    return tuple(sorted(path.stem for path in MACHINES.glob("*.toml") if not _is_family(path.stem)))


@cache
def attribute_numbers() -> Mapping[str, int]:
    """Return the CUdevice_attribute number of every attribute name (without CU_DEVICE_ATTRIBUTE_)."""
    return _read("_attributes")


@cache
def facts(name: str) -> Mapping[str, Fact]:
    """Return every fact of the preset `name`; attributes stand as ``attributes.NAME``.

    Raises
    ------
    ValueError
        There is no such preset; the text names the nearest one.
    """
    if name not in names():
        near = difflib.get_close_matches(name, names(), n=1, cutoff=0.0)
        raise ValueError(f"machine {name!r} is unknown; nearest {near[0]}; all: {', '.join(names())}")
    return _collect(name)


def title(name: str) -> str:
    """Return the preset's one-line description."""
    return str(_read(name)["title"])


def _collect(name: str) -> dict[str, Fact]:
    document = _read(name)
    base = document.get("base")
    inherited = _inherit(str(base)) if base else {}
    return inherited | dict(_own(name, document))


def _inherit(base: str) -> dict[str, Fact]:
    """Take over the facts of `base`: what was found out about another machine is only assumed of this one."""
    found = _collect(base)
    return found if _is_family(base) else {key: _of_another(base, fact) for key, fact in found.items()}


def _of_another(machine: str, fact: Fact) -> Fact:
    if fact.evidence == "assumed":
        return fact
    return Fact(fact.value, "assumed", f"as {fact.evidence} for {machine}: {fact.source}")


def _own(name: str, document: Mapping[str, Any]) -> Iterator[tuple[str, Fact]]:
    for group in cast("list[dict[str, Any]]", document.get("facts", [])):
        evidence, source = group["evidence"], group["source"]
        if evidence not in KINDS:
            raise ValueError(f"{name}.toml: evidence {evidence!r} is none of {', '.join(KINDS)}")
        for key, value in _flat(group):
            yield key, Fact(_frozen(value), evidence, source)


def _flat(group: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in group.items():
        if key == "attributes":
            yield from ((f"attributes.{name}", number) for name, number in value.items())
        elif key not in ("evidence", "source"):
            yield key, value


def _frozen(value: Any) -> Any:
    return tuple(cast("list[Any]", value)) if isinstance(value, list) else value


def _is_family(name: str) -> bool:
    return name.startswith("_")


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((MACHINES / f"{name}.toml").read_text(encoding="utf-8"))
