"""The body of a function, in two walks: first the blocks with all that they declare, then the instructions.

Labels may be used before they stand; so names are looked up in the second walk only.
"""

from __future__ import annotations

from dataclasses import replace

from . import constants, declarations, directives, operands
from .cursor import Cursor, shorten
from .operands import Place
from .scopes import Binding, Scope, Span
from .syntax import Function, Instruction, Label, Module, Operand, Prototype, Relocation, Statement, Symbol, Variable

#: Not simulated, whatever their operands: the forms say so; their operands have a grammar of their own.
UNSIMULATED = frozenset(
    ("wgmma", "tcgen05", "wmma", "tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq", "tensormap")
)
_DATA_SPACES = {".local": "local", ".shared": "shared", ".param": "param", ".global": "global", ".const": "const"}
_LABELLED = (".branchtargets", ".calltargets", ".callprototype")
_DEEPEST = 1000


class Body:
    """Reads what stands between the braces of one function.

    Parameters
    ----------
    cursor
        Stands behind the opening brace.
    module
        Receives the module-wide variables that the body declares.
    function
        Receives everything else.
    scope
        Where the parameters are declared: the body is the same block.
    outer
        The names of the module.
    """

    def __init__(self, cursor: Cursor, module: Module, function: Function, scope: Scope, outer: Scope) -> None:
        self.cursor = cursor
        self.module = module
        self.function = function
        self.scope = scope
        self.outer = outer
        self.items: list[Label | Place] = []
        self.tables: list[tuple[str, Place]] = []
        self.depth = 0

    def read(self) -> list[Statement]:
        """Read up to and including the closing brace."""
        self._declare_all()
        end = self.cursor.at
        statements = [item if isinstance(item, Label) else self._instruction(item) for item in self.items]
        for name, place in self.tables:
            self.function.tables[name] = self._targets(place)
        self.cursor.at = end
        return statements

    # ---- first walk

    def _declare_all(self) -> None:
        cursor, texts, kinds = self.cursor, self.cursor.texts, self.cursor.kinds
        while True:
            kind, text = kinds[cursor.at], texts[cursor.at]
            if kind == "word" and texts[cursor.at + 1] == ":":
                self._label()
            elif kind == "word" or text == "@":
                self._postpone(Place(cursor.at, self.scope))
            elif kind in ("dotted", "section"):
                self._directive()
            elif text == "{":
                self._open()
            elif text == "}":
                if self._close():
                    return
            else:
                cursor.wrong("an instruction")

    def _postpone(self, place: Place) -> None:
        """Keep an instruction for the second walk; one that no semicolon ends is read now, for its error."""
        if not self.cursor.find(";"):
            self._instruction(place)
        self.items.append(place)
        self.cursor.skip_past(";")

    def _open(self) -> None:
        self.cursor.at += 1
        self.depth += 1
        if self.depth > _DEEPEST:
            self.cursor.fail("blocks are nested too deeply")
        self.scope = Scope(self.scope.names, self.scope)

    def _close(self) -> bool:
        self.cursor.at += 1
        if not self.depth:
            return True
        self.depth -= 1
        self.scope = self.scope.parent or self.scope
        return False

    def _label(self) -> None:
        cursor, at = self.cursor, self.cursor.at
        name = cursor.name()
        unique = self.scope.names.unique(name)
        cursor.at += 1
        # A table or prototype counts from where it stands on, a label everywhere in its block (ptxas).
        since = cursor.at if cursor.text in _LABELLED else -1
        self.scope.declare(cursor, name, Binding(Symbol(unique), since), at)
        if cursor.text in _LABELLED:
            self._labelled(unique)
        else:
            self.items.append(Label(unique, cursor.tokens.line(at)))

    def _labelled(self, name: str) -> None:
        cursor, word = self.cursor, self.cursor.text
        cursor.at += 1
        if word == ".callprototype":
            self.function.prototypes[name] = prototype(cursor, name)
        else:
            self.tables.append((name, Place(cursor.at, self.scope)))
            cursor.skip_past(";")

    def _directive(self) -> None:
        cursor = self.cursor
        if directives.skip_debug(cursor):
            return
        word = cursor.text
        if word == ".reg":
            cursor.at += 1
            registers(cursor, self.scope)
        elif word in _DATA_SPACES:
            cursor.at += 1
            self._variables(_DATA_SPACES[word])
        else:
            cursor.fail(f"unknown directive {shorten(word)!r} in a function")

    def _variables(self, space: str) -> None:
        kind = declarations.kind(self.cursor, space)
        for at, variable in declarations.declarators(self.cursor, kind):
            (self._static if space in ("global", "const") else self._own)(at, variable)

    def _own(self, at: int, variable: Variable) -> None:
        variable = renamed(variable, self.scope.names.unique(variable.name))
        self.function.variables[variable.name] = variable
        self._bind(at, variable)

    def _static(self, at: int, variable: Variable) -> None:
        """Keep a variable of the function that lives as long as the module, under a name that is free there."""
        variable = renamed(variable, self.outer.names.unique(variable.name))
        variable = replace(variable, relocations=tuple(self._resolved(at, one) for one in variable.relocations))
        self.module.variables[variable.name] = variable
        self._bind(at, variable)

    def _resolved(self, at: int, relocation: Relocation) -> Relocation:
        found = self.scope.find(relocation.symbol, at)
        if found is None:
            operands.undeclared(self.cursor, self.scope, relocation.symbol)
        return replace(relocation, symbol=found.target.name) if isinstance(found.target, Symbol) else relocation

    def _bind(self, at: int, variable: Variable) -> None:
        binding = Binding(Symbol(variable.name), self.cursor.at, variable)
        self.scope.declare(self.cursor, self.cursor.texts[at], binding, at)

    # ---- second walk

    def _instruction(self, place: Place) -> Instruction:
        cursor, scope = self.cursor, place.scope
        cursor.at = place.at
        guard, inverted = operands.guard(cursor, scope) if cursor.take("@") else (None, False)
        line, opcode, modifiers = cursor.line, cursor.name(), self._modifiers()
        if opcode in UNSIMULATED or "tensor" in modifiers:
            return Instruction(opcode, modifiers, (), guard, inverted, line)
        found = self._operands(scope, opcode == "call")
        return Instruction(opcode, modifiers, found, guard, inverted, line)

    def _modifiers(self) -> tuple[str, ...]:
        cursor, kinds, first = self.cursor, self.cursor.kinds, self.cursor.at
        while kinds[cursor.at] == "dotted":
            cursor.at += 1
        return tuple(word[1:] for word in cursor.texts[first : cursor.at])

    def _operands(self, scope: Scope, call: bool) -> tuple[Operand, ...]:
        cursor = self.cursor
        if cursor.take(";"):
            return ()
        found: list[Operand] = []
        while True:
            if call and cursor.take("("):
                found.append(operands.sequence(cursor, scope, ")"))
            else:
                found.append(operands.operand(cursor, scope))
            if cursor.take(";"):
                return tuple(found)
            cursor.expect(",")

    def _targets(self, place: Place) -> tuple[str, ...]:
        cursor, found = self.cursor, list[str]()
        cursor.at = place.at
        while True:
            target = operands.label_at(cursor, place.scope).target
            found.append(target.name if isinstance(target, Symbol) else "")
            if cursor.take(";"):
                return tuple(found)
            cursor.expect(",")


def registers(cursor: Cursor, scope: Scope) -> None:
    """Read ``.b32 %a, %r<10>;`` behind ``.reg``."""
    kind = declarations.kind(cursor, "reg")
    while True:
        at, name = cursor.at, cursor.name()
        if cursor.take("<"):
            count = constants.count(cursor)
            cursor.expect(">")
            scope.declare_span(cursor, name, Span(count, kind.type, kind.width, cursor.at), at)
        else:
            scope.declare_register(cursor, name, kind.type, kind.width, at)
        if cursor.take(";"):
            return
        cursor.expect(",")


def prototype(cursor: Cursor, name: str) -> Prototype:
    """Read ``(ret) _ (params) .noreturn;`` behind ``.callprototype``."""
    returns = declarations.parameters(cursor) if cursor.take("(") else ()
    cursor.expect("_")
    given = declarations.parameters(cursor) if cursor.take("(") else ()
    while not cursor.take(";"):
        if not cursor.take(".noreturn") and not directives.performance(cursor, {}):
            cursor.wrong("';'")
    return Prototype(name, tuple(one for _, one in returns), tuple(one for _, one in given))


def renamed(variable: Variable, name: str) -> Variable:
    """Give the same variable another name."""
    return variable if variable.name == name else replace(variable, name=name)
