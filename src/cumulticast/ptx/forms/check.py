"""Hold a module to the forms of the language, to its target, and to the device: what ptxas does before it compiles."""

from __future__ import annotations

from ..errors import UNSUPPORTED_PTX_VERSION, PtxError
from ..syntax import Function, Instruction, Label, Module
from ..versions import NEWEST, Target, exists, read_target, since
from . import calls, limits, match, rules, words
from .notation import Form
from .operands import wrong
from .values import Where


def check(module: Module, *, sm: int, version: tuple[int, int] = NEWEST) -> None:
    """Check everything that can be wrong with a module which parsed.

    Parameters
    ----------
    sm
        The device's compute capability times ten: 90.
    version
        The newest ``.version`` that is read.

    Raises
    ------
    PtxError
        222 for a newer ``.version``; 218 with the line for a ``.target`` that the device does not run, for forms that
        do not exist or not on this target, operands of wrong type or size, unresolved functions and too much memory.
    """
    if module.version > version:
        reason = f".version {_dotted(module.version)} is newer than {_dotted(version)}, the newest that is read here"
        raise PtxError(reason, status=UNSUPPORTED_PTX_VERSION)
    if not exists(module.version):
        raise PtxError(f"there is no .version {_dotted(module.version)}")
    target = _target(module, sm)
    found = _Found(target, module.version)
    for function in module.functions.values():
        if function.body is not None:
            _function(module, function, found)
    limits.check(module)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _target(module: Module, sm: int) -> Target:
    target = read_target(module.target)
    if target is None:
        raise PtxError(f".target {module.target} is no architecture")
    if not target.runs_on(sm):
        raise PtxError(f".target {target} does not run on a device of sm_{sm}; a .target of sm_{sm} or lower does")
    if module.version < since(target):
        raise PtxError(
            f".version {_dotted(module.version)} does not know .target {target}: {_dotted(since(target))} does"
        )
    return target


class _Found:
    """The forms of every mnemonic met so far: most occur often."""

    def __init__(self, target: Target, version: tuple[int, int]) -> None:
        self.target = target
        self.version = version
        self.known: dict[tuple[str, tuple[str, ...]], list[Form]] = {}

    def forms(self, one: Instruction) -> list[Form]:
        """Give the forms of an instruction that the target has."""
        key = (one.opcode, one.modifiers)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._look_up(one)
        return found

    def _look_up(self, one: Instruction) -> list[Form]:
        if match.unsimulated(one.opcode, one.modifiers):
            raise PtxError(f"{one.name} is not simulated", one.line)
        fitting = match.fitting(one.opcode, one.modifiers)
        if not fitting:
            raise PtxError(_no_form(one), one.line)
        lacks = [match.missing(form, self.target, self.version) for form in fitting]
        reason = min(lacks) or words.wrong(one.opcode, one.modifiers, self.target, self.version)
        if reason:
            raise PtxError(f"{one.name}: {reason}", one.line)
        return [form for form, lack in zip(fitting, lacks, strict=True) if not lack]


def _no_form(one: Instruction) -> str:
    if match.exists(one.opcode):
        return f"no such form: {one.name}; the nearest is {match.nearest(one.opcode, one.modifiers)}"
    near = match.nearest_opcode(one.opcode)
    return f"unknown instruction {one.opcode!r} in {one.name}" + (f"; the nearest is {near}" if near else "")


def _function(module: Module, function: Function, found: _Found) -> None:
    labels = frozenset(one.name for one in function.body or () if isinstance(one, Label)) | function.tables.keys()
    parameters = {one.name: one for one in (*function.parameters, *function.returns)}
    where = Where(module, function, parameters, labels, found.target)
    for one in function.body or ():
        if isinstance(one, Instruction):
            _instruction(where, one, found)


def _instruction(where: Where, one: Instruction, found: _Found) -> None:
    if one.guard is not None and where.function.registers[one.guard.name] != "pred":
        raise PtxError(f"{one.name}: the guard {one.guard.name} is no predicate", one.line)
    if one.opcode == "call":
        reason = calls.wrong(where, one)
    else:
        reasons = [wrong(where, one, form) for form in found.forms(one)]
        reason = rules.wrong(one) if "" in reasons else reasons[0]
    if reason:
        raise PtxError(f"{one.name}: {reason}", one.line)
