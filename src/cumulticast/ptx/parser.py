"""PTX text to a :class:`~cumulticast.ptx.syntax.Module`: what stands at the top, and the heads of functions.

Whatever the input, nothing but :class:`~cumulticast.ptx.errors.PtxError` leaves :func:`parse`: 200 where no PTX is
recognised, 218 with the line for everything else (statuses recorded of a real driver).
"""

from __future__ import annotations

from . import declarations, directives, statements
from .cursor import Cursor, shorten
from .errors import INVALID_IMAGE, PtxError
from .lexer import Tokens, tokenize
from .scopes import Binding, Names, Scope
from .syntax import Function, Module, Register, Symbol, Variable

_LINKAGES = {".extern": "extern", ".visible": "visible", ".weak": "weak", ".common": "common"}
_OPTIONS = ("debug", "texmode_unified", "texmode_independent", "map_f64_to_f32")
_SPACES = {".global": "global", ".const": "const", ".shared": "shared"}


def parse(text: str | bytes) -> Module:
    """Read a PTX text. Bytes end at the first NUL, as the text of a C caller does.

    Raises
    ------
    PtxError
        200 when no PTX is recognised, 218 with the line for whatever else is wrong.
    """
    tokens = tokenize(_decode(text))
    if tokens.texts[:1] != [".version"] or tokens.kinds[1] != "number":
        raise PtxError("no PTX is recognised: it begins with .version, as in .version 9.0", status=INVALID_IMAGE)
    return _Parser(tokens).module


def _decode(text: str | bytes) -> str:
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    return text.partition("\0")[0]


class _Parser:
    """Reads one text from its first token to its last."""

    def __init__(self, tokens: Tokens) -> None:
        self.cursor = Cursor(tokens)
        self.names = Names()
        self.scope = Scope(self.names)
        self.module = self._head()
        while self.cursor.kind != "end":
            self._top()

    # ---- the head

    def _head(self) -> Module:
        cursor = self.cursor
        cursor.expect(".version")
        at, words = cursor.at, cursor.next_of("number", "a version: 9.0").split(".")
        if len(words) != 2 or not all(word.isdigit() and len(word) < 4 for word in words):
            cursor.fail(f"{shorten('.'.join(words))} is no version; one looks like 9.0", at)
        cursor.expect(".target")
        module = Module((int(words[0]), int(words[1])), self._target(), 64)
        return module

    def _target(self) -> str:
        cursor = self.cursor
        at, target = cursor.at, cursor.name()
        while cursor.take(","):
            if cursor.name() not in _OPTIONS:
                cursor.fail(f"unknown option {shorten(cursor.texts[cursor.at - 1])!r} of .target", cursor.at - 1)
        if not target.startswith("sm_"):
            cursor.fail(f"{shorten(target)!r} is no target; one looks like sm_90", at)
        return target

    def _address_size(self) -> None:
        at = self.cursor.at
        if self.cursor.next_of("number", "64") != "64":
            self.cursor.fail("only .address_size 64 is supported", at)

    # ---- the top level

    def _top(self) -> None:
        cursor = self.cursor
        if directives.skip_debug(cursor):
            return
        if cursor.take(".address_size"):
            self._address_size()
        elif cursor.take(".target"):
            self.module.target = self._target()
        elif cursor.take(".alias"):
            self._alias()
        else:
            self._declaration()

    def _alias(self) -> None:
        cursor = self.cursor
        name = cursor.name()
        cursor.expect(",")
        self.module.aliases[name] = cursor.name()
        cursor.expect(";")

    def _declaration(self) -> None:
        cursor, linkage = self.cursor, ""
        if cursor.text in _LINKAGES:
            linkage = _LINKAGES[cursor.text]
            cursor.at += 1
        word = cursor.text
        if word in (".func", ".entry"):
            cursor.at += 1
            self._function(word == ".entry", linkage)
        elif word in _SPACES:
            cursor.at += 1
            self._variables(_SPACES[word], linkage)
        else:
            cursor.wrong("a directive of the module: .entry, .func, .global, .const, .shared")

    def _variables(self, space: str, linkage: str) -> None:
        kind = declarations.kind(self.cursor, space)
        for at, variable in declarations.declarators(self.cursor, kind, linkage):
            known = self.module.variables.get(variable.name)
            if known is not None and "extern" in (known.linkage, linkage):
                self._again(known, variable, at)
                continue
            self._resolve(variable)
            self.scope.declare(self.cursor, variable.name, Binding(Symbol(variable.name), at, variable), at)
            self.names.taken.add(variable.name)
            self.module.variables[variable.name] = variable

    def _resolve(self, variable: Variable) -> None:
        """Find what the initial values of a variable point at: it stands before."""
        for relocation in variable.relocations:
            if self.scope.find(relocation.symbol, self.cursor.at) is None:
                reason = f"unknown symbol {relocation.symbol!r} in the initial values of {variable.name!r}"
                raise PtxError(reason, variable.line)

    def _again(self, known: Variable, variable: Variable, at: int) -> None:
        """Take a second declaration of a variable: one of the two is ``.extern``."""
        if (known.space, known.type) != (variable.space, variable.type):
            self.cursor.fail(f"{known.name!r} was declared differently in line {known.line}", at)
        if known.linkage == "extern":
            self.scope.bindings[variable.name] = Binding(Symbol(variable.name), at, variable)
            self.module.variables[variable.name] = variable

    # ---- functions

    def _function(self, kernel: bool, linkage: str) -> None:
        cursor, line = self.cursor, self.cursor.line
        if cursor.take(".attribute"):
            declarations.attributes(cursor)
        returns = declarations.parameters(cursor) if not kernel and cursor.take("(") else ()
        if cursor.take(".attribute"):
            declarations.attributes(cursor)
        at, name = cursor.at, cursor.name()
        given = declarations.parameters(cursor) if cursor.take("(") else ()
        function = Function(name, kernel, _bare(given), _bare(returns), linkage=linkage, line=line)
        self._directives(function)
        self._enter(function, at)
        if not cursor.take(";"):
            cursor.expect("{")
            self._body(function, at, (*returns, *given))

    def _directives(self, function: Function) -> None:
        cursor = self.cursor
        while cursor.kind == "dotted":
            if cursor.take(".noreturn"):
                function.noreturn = True
            elif not directives.performance(cursor, function.directives) and not directives.skip_debug(cursor):
                cursor.fail(f"unknown directive {shorten(cursor.text)!r} of a function")

    def _enter(self, function: Function, at: int) -> None:
        """Make a function known under its name; a declaration may stand before the definition."""
        known = self.module.functions.get(function.name)
        if known is None:
            self.scope.declare(self.cursor, function.name, Binding(Symbol(function.name), at), at)
            self.names.taken.add(function.name)
            self.module.functions[function.name] = function
        elif _shape(known) != _shape(function):
            self.cursor.fail(f"{function.name!r} was declared differently in line {known.line}", at)

    def _body(self, function: Function, at: int, given: tuple[tuple[int, Variable], ...]) -> None:
        known = self.module.functions[function.name]
        if known.body is not None:
            self.cursor.fail(f"duplicate definition of {function.name!r}, defined in line {known.line}", at)
        scope = Scope(Names(outer=self.scope.bindings), self.scope)
        for place, variable in given:
            self._parameter(scope, place, variable)
        function.linkage = function.linkage or known.linkage
        function.body = statements.Body(self.cursor, self.module, function, scope, self.scope).read()
        function.registers = scope.names.registers
        self.module.functions[function.name] = function

    def _parameter(self, scope: Scope, at: int, variable: Variable) -> None:
        if variable.space == "reg":
            target: Register | Symbol = Register(variable.name)
            scope.names.registers[variable.name] = variable.type
        else:
            target = Symbol(variable.name)
        scope.names.taken.add(variable.name)
        scope.declare(self.cursor, variable.name, Binding(target, at, variable), at)


def _bare(given: tuple[tuple[int, Variable], ...]) -> tuple[Variable, ...]:
    return tuple(variable for _, variable in given)


def _shape(function: Function) -> tuple[object, ...]:
    """Give what a declaration and its definition must agree in."""
    sides = (function.returns, function.parameters)
    return (function.kernel, *(tuple((one.size, one.align) for one in side) for side in sides))
