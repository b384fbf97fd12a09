"""What a name means at a place: blocks in ``{ … }``, each with names of its own.

A name counts from its declaration on; labels count in their whole block. Every declaration gets a name that is unique
in its function: the written one if it is free, else with ``.1``, ``.2``, … behind it, which no PTX name contains.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .cursor import Cursor
from .syntax import Register, Symbol, Variable, Vector


@dataclass(frozen=True, slots=True)
class Binding:
    """What a declaration made of a name.

    Attributes
    ----------
    target
        The operand that the name stands for: a register, a vector of registers, or a symbol.
    since
        The token from which on the name counts.
    variable
        The variable behind a symbol; None for labels and functions.
    """

    target: Register | Vector | Symbol
    since: int
    variable: Variable | None = None


@dataclass(slots=True)
class Names:
    """The unique names of one function.

    Attributes
    ----------
    outer
        Names of the module, which are not free either.
    """

    outer: Mapping[str, object] = field(default_factory=dict[str, object])
    taken: set[str] = field(default_factory=set[str])
    registers: dict[str, str] = field(default_factory=dict[str, str])

    def unique(self, name: str) -> str:
        """Take a name, or the next free variation of it."""
        candidate, turn = name, 0
        while candidate in self.taken or candidate in self.outer:
            turn += 1
            candidate = f"{name}.{turn}"
        self.taken.add(candidate)
        return candidate


@dataclass(frozen=True, slots=True)
class Span:
    """``.reg .b32 %r<10>``: registers that exist once somebody uses them."""

    count: int
    type: str
    width: int
    since: int


class Scope:
    """The names that one block declares, and the way to those around it."""

    __slots__ = ("bindings", "names", "parent", "spans")

    def __init__(self, names: Names, parent: Scope | None = None) -> None:
        self.names = names
        self.parent = parent
        self.bindings: dict[str, Binding] = {}
        self.spans: dict[str, Span] = {}

    def declare(self, cursor: Cursor, name: str, binding: Binding, at: int) -> None:
        """Enter a name; one name is declared once in a block."""
        if name in self.bindings or self._in_span(name) is not None:
            cursor.fail(f"duplicate definition of {name!r}", at)
        self.bindings[name] = binding

    def declare_register(self, cursor: Cursor, name: str, type_: str, width: int, at: int) -> None:
        """Enter a register; ``width`` > 1 makes a vector of registers."""
        self.declare(cursor, name, Binding(self._registers(name, type_, width), cursor.at), at)

    def declare_span(self, cursor: Cursor, stem: str, span: Span, at: int) -> None:
        """Enter ``stem<count>``."""
        clash = next((name for name in self.bindings if self._covers(stem, span, name)), None)
        if stem in self.spans or clash is not None:
            cursor.fail(f"duplicate definition of {(clash or stem + '0')!r}", at)
        self.spans[stem] = span

    def find(self, name: str, at: int) -> Binding | None:
        """Tell what a name means at a token; None if nothing."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.bindings.get(name) or scope._materialise(name)
            if found is not None and found.since <= at:
                return found
            scope = scope.parent
        return None

    def known(self) -> Iterator[str]:
        """Give every name that can be seen from here, for suggestions."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.bindings
            scope = scope.parent

    def _registers(self, name: str, type_: str, width: int) -> Register | Vector:
        unique = self.names.unique(name)
        if width == 1:
            self.names.registers[unique] = type_
            return Register(unique)
        parts = [f"{unique}.{axis}" for axis in "xyzwstuv"[:width]]
        self.names.registers.update(dict.fromkeys(parts, type_))
        return Vector(tuple(map(Register, parts)))

    def _materialise(self, name: str) -> Binding | None:
        span = self._in_span(name)
        if span is None:
            return None
        binding = Binding(self._registers(name, span.type, span.width), span.since)
        self.bindings[name] = binding
        return binding

    def _in_span(self, name: str) -> Span | None:
        """Find the span that a name is in: ``%r12`` may be ``%r<13>`` or ``%r1<3>``."""
        if not self.spans:
            return None
        stem = name.rstrip("0123456789")
        for cut in range(len(stem), min(len(name), len(stem) + 10)):
            span = self.spans.get(name[:cut])
            if span is not None and self._covers(name[:cut], span, name):
                return span
        return None

    @staticmethod
    def _covers(stem: str, span: Span, name: str) -> bool:
        digits = name[len(stem) :]
        if (
            not name.startswith(stem)
            or not digits.isdigit()
            or len(digits) > 10
            or (digits[0] == "0" and len(digits) > 1)
        ):
            return False
        return int(digits) < span.count
