"""Read the call table (calls.txt): every C entry of the driver API, its versions and its parameters.

The table is used while the package is being built, too; so this file imports nothing but the standard library
and can be loaded by path. Nothing is parsed at import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

CALLS = Path(__file__).with_name("calls.txt")

Direction = Literal["value", "in", "out", "inout"]

_DIRECTIONS: Mapping[str, Direction] = {"": "value", "<": "in", ">": "out", "<>": "inout"}

#: Bytes of a value of each kind on 64-bit machines; a C string has no length before it is read.
_SIZES: Mapping[str, int] = {
    **{"u8": 1, "u16": 2, "i32": 4, "u32": 4, "f32": 4, "u64": 8},
    **{"size": 8, "dptr": 8, "ptr": 8, "host": 8, "fn": 8, "cstr": 0},
}


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a C entry.

    Attributes
    ----------
    name : str
        NVIDIA's name for it.
    kind : str
        How its bytes are read: a word of calls.txt, with ``bytes`` for ``bytesN``.
    direction : {"value", "in", "out", "inout"}
        Passed by value, or a pointer to input, to output, or to both.
    optional : bool
        A pointer that may be NULL.
    size : int
        Bytes of the value, of what it points to, or of one element of an array; 0 for a C string.
    count : str or None
        The parameter that holds the length of this array; None when this is not an array.
    """

    name: str
    kind: str
    direction: Direction
    optional: bool
    size: int
    count: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One C entry symbol: one ABI form of one call.

    Attributes
    ----------
    symbol : str
        The exported name, such as ``cuMulticastBindMem_v2``.
    base : str
        The name without its version: what programs ask cuGetProcAddress for.
    version : int
        The CUDA version, 1000 × major + 10 × minor, that introduced this form.
    per_thread : str or None
        The form of this entry whose default stream is the thread's own, where there is one.
    per_thread_version : int or None
        The CUDA version that introduced that form.
    params : tuple of Param
        The parameters, in order.
    opaque : bool
        The parameters are another API's and stand in no table; `params` is empty.
    plain : str
        The symbol of the table line; differs from `symbol` only in per-thread forms.
    """

    symbol: str
    base: str
    version: int
    per_thread: str | None
    per_thread_version: int | None
    params: tuple[Param, ...]
    opaque: bool
    plain: str

    @property
    def is_per_thread(self) -> bool:
        """Tell whether stream 0 means the calling thread's own default stream."""
        return self.symbol != self.plain


@cache
def entries() -> tuple[Entry, ...]:
    """Return every line of the table, in its order; per-thread forms are named in them, not listed."""
    return tuple(_lines(CALLS.read_text(encoding="utf-8")))


def unversioned(text: str) -> Iterator[Entry]:
    """Return the entries of a table whose lines are ``symbol [parameter]...``: of an API without versions."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            symbol, *words = line.split()
            yield _entry(symbol, symbol, "0", "-", *words)


@cache
def by_symbol() -> Mapping[str, Entry]:
    """Return the entry of every C symbol, per-thread forms included."""
    found = {entry.symbol: entry for entry in entries()}
    return found | {form.symbol: form for form in map(per_thread_form, entries()) if form is not None}


def per_thread_form(entry: Entry) -> Entry | None:
    """Return the form of `entry` that works on the thread's own default stream; None when it has none."""
    if entry.per_thread is None or entry.per_thread_version is None:
        return None
    return replace(entry, symbol=entry.per_thread, version=entry.per_thread_version)


def forms(base: str) -> tuple[Entry, ...]:
    """Return the ABI forms of the call named `base`, oldest first; empty when there is no such call."""
    return _by_base().get(base, ())


def resolve(base: str, version: int, driver_version: int, per_thread: bool = False) -> Entry | None:
    """Answer as cuGetProcAddress does: the newest form that is not newer than what was asked for.

    Parameters
    ----------
    base : str
        The name asked for, without its version.
    version, driver_version : int
        The version asked for and the driver's own; to refuse the first being higher is the caller's part.
    per_thread : bool
        The flag CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM; calls without such a form answer their
        plain one (cuda.h, cuGetProcAddress).

    Returns
    -------
    Entry or None
        None when no form is old enough; `forms` tells an unknown name from a version that is too low.
    """
    limit = min(version, driver_version)
    found = next((entry for entry in reversed(forms(base)) if entry.version <= limit), None)
    if found is None or not per_thread:
        return found
    form = per_thread_form(found)
    return form if form is not None and form.version <= limit else found


def _lines(text: str) -> Iterator[Entry]:
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield _entry(*line.split())


def _entry(symbol: str, base: str, version: str, per_thread: str, *words: str) -> Entry:
    opaque = words == ("...",)
    form, _, since = per_thread.partition("@")
    return Entry(
        symbol=symbol,
        base=base,
        version=int(version),
        per_thread=None if form == "-" else form,
        per_thread_version=None if form == "-" else int(since or version),
        params=() if opaque else tuple(map(_param, words)),
        opaque=opaque,
        plain=symbol,
    )


@cache
def _by_base() -> Mapping[str, tuple[Entry, ...]]:
    found: dict[str, tuple[Entry, ...]] = {}
    for entry in sorted(entries(), key=lambda entry: entry.version):
        found[entry.base] = (*found.get(entry.base, ()), entry)
    return found


@cache
def _param(word: str) -> Param:
    """Parse one parameter, ``[<|>|<>][?]name:kind[*count]``; many calls share the same ones."""
    marked, _, rest = word.partition(":")
    name = marked.lstrip("<>?")
    mark = marked[: len(marked) - len(name)]
    kind, _, count = rest.partition("*")
    if not name or not kind or mark.removesuffix("?") not in _DIRECTIONS or mark == "?":
        raise ValueError(f"calls.txt: {word!r} is not of the form [<|>|<>][?]name:kind[*count]")
    return Param(
        name=name,
        kind="bytes" if kind.startswith("bytes") else kind,
        direction=_DIRECTIONS[mark.removesuffix("?")],
        optional=mark.endswith("?"),
        size=_size(kind),
        count=count or None,
    )


def _size(kind: str) -> int:
    if kind.startswith("bytes"):
        return int(kind.removeprefix("bytes"))
    if kind not in _SIZES:
        raise ValueError(f"calls.txt: unknown kind {kind!r}; the kinds are {', '.join(_SIZES)}, bytesN")
    return _SIZES[kind]
