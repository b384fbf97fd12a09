"""What a whole module must keep: memory of each kind, and functions and variables that must be found.

Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; trials of ptxas 13.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..errors import PtxError
from ..syntax import Address, Function, Instruction, Module, Operand, Symbol, Variable, Vector

#: Functions that the driver provides.
PROVIDED = frozenset(["vprintf", "__assertfail", "malloc", "free"])

_SHARED = 48 << 10
_CONSTANT = 64 << 10
_PARAMETERS = 32764


def check(module: Module) -> None:
    """Hold a module to the limits.

    Raises
    ------
    PtxError
        218 with the line of what is too large or missing.
    """
    used = {name: frozenset(_symbols(function)) for name, function in module.functions.items()}
    for function in module.functions.values():
        if function.body is not None:
            _resolved(module, function)
        if function.kernel:
            _kernel(module, function, used)
    constants = layout(one for one in module.variables.values() if one.space == "const")
    if constants > _CONSTANT:
        raise PtxError(f"{constants} bytes of .const variables: there are {_CONSTANT}")


def layout(variables: Iterable[Variable]) -> int:
    """Give the bytes that variables need one after the other."""
    end = 0
    for one in variables:
        end = -(-end // one.align) * one.align + one.size
    return end


def _kernel(module: Module, kernel: Function, used: dict[str, frozenset[str]]) -> None:
    parameters = layout(kernel.parameters)
    if parameters > _PARAMETERS:
        raise PtxError(f"{kernel.name}: {parameters} bytes of parameters: there are {_PARAMETERS}", kernel.line)
    shared = layout(_shared(module, kernel, used))
    if shared > _SHARED:
        reason = f"{kernel.name} uses too much shared memory: {shared} bytes, there are {_SHARED}"
        raise PtxError(f"{reason}; more is taken as dynamic shared memory, at the launch", kernel.line)


def _shared(module: Module, kernel: Function, used: dict[str, frozenset[str]]) -> Iterator[Variable]:
    """Give the static shared variables of a kernel and of all that it may call."""
    seen, open_ = {kernel.name}, [kernel.name]
    while open_:
        name = open_.pop()
        yield from (one for one in module.functions[name].variables.values() if one.space == "shared")
        found = used[name] - seen
        seen |= found
        yield from (module.variables[one] for one in sorted(found) if _is_shared(module, one))
        open_ += [one for one in found if one in module.functions]


def _is_shared(module: Module, name: str) -> bool:
    return name in module.variables and module.variables[name].space == "shared"


def _symbols(function: Function) -> Iterator[str]:
    for statement in function.body or ():
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                yield from _named(operand)


def _named(operand: Operand) -> Iterator[str]:
    if isinstance(operand, Symbol):
        yield operand.name
    elif isinstance(operand, Address):
        yield from _named(operand.base)
    elif isinstance(operand, Vector):
        for element in operand.elements:
            yield from _named(element)


def _resolved(module: Module, function: Function) -> None:
    for statement in function.body or ():
        if isinstance(statement, Instruction):
            for operand in statement.operands:
                for name in _named(operand):
                    _found(module, function, name, statement.line)


def _found(module: Module, function: Function, name: str, line: int) -> None:
    if name in function.variables:
        return
    called = module.functions.get(module.aliases.get(name, name))
    if called is not None and called.body is None and name not in PROVIDED:
        raise PtxError(f"unresolved function {name!r}: declared in line {called.line}, defined nowhere", line)
    variable = module.variables.get(name)
    if variable is not None and variable.linkage == "extern" and variable.space != "shared":
        raise PtxError(f"unresolved variable {name!r}: declared in line {variable.line}, defined nowhere", line)
