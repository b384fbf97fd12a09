"""Several PTX modules made one, as a linker does: definitions meet declarations, private names stay apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cumulticast.ptx import rewrite
from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.syntax import Function, Label, Module, Statement, Variable

#: A name with one of these linkages is one and the same in all texts.
SHARED = ("visible", "extern", "weak", "common")


def join(texts: Sequence[tuple[str, Module]]) -> Module:
    """Join modules; the newest version and the highest target count.

    Raises
    ------
    PtxError
        218: something is defined twice.
    """
    modules = [_private(module, number) if number else module for number, (_, module) in enumerate(texts)]
    whole = Module(
        max(module.version for module in modules),
        max((module.target for module in modules), key=lambda target: int("".join(filter(str.isdigit, target)) or 0)),
        modules[0].address_size,
    )
    for (name, _), module in zip(texts, modules, strict=True):
        for variable in module.variables.values():
            _add_variable(whole, variable, name)
        for function in module.functions.values():
            _add_function(whole, function, name)
        whole.aliases.update(module.aliases)
    return whole


def _add_variable(whole: Module, variable: Variable, text: str) -> None:
    known = whole.variables.get(variable.name)
    if known is None or known.linkage in ("extern", "common"):
        if known is None or variable.linkage != "extern":
            whole.variables[variable.name] = variable
    elif variable.linkage not in ("extern", "weak", "common") and known.linkage != "weak":
        raise PtxError(f"{variable.name} is defined twice, the second time in {text}", variable.line)


def _add_function(whole: Module, function: Function, text: str) -> None:
    known = whole.functions.get(function.name)
    if known is None or known.body is None:
        whole.functions[function.name] = function if known is None or function.body is not None else known
    elif function.body is not None and "weak" not in (function.linkage, known.linkage):
        raise PtxError(f"{function.name} is defined twice, the second time in {text}", function.line)


# ---- private names


def _private(module: Module, number: int) -> Module:
    """Rename what a module keeps to itself."""
    own = {v.name for v in module.variables.values() if v.linkage not in SHARED}
    own |= {
        f.name for f in module.functions.values() if f.linkage not in SHARED and f.body is not None and not f.kernel
    }

    def rename(name: str) -> str:
        return f"{name}.{number}" if name in own else name

    result = Module(module.version, module.target, module.address_size)
    for variable in module.variables.values():
        relocations = tuple(replace(one, symbol=rename(one.symbol)) for one in variable.relocations)
        renamed = replace(variable, name=rename(variable.name), relocations=relocations)
        result.variables[renamed.name] = renamed
    for function in module.functions.values():
        renamed_function = _renamed(function, own, number)
        result.functions[renamed_function.name] = renamed_function
    result.aliases.update({rename(a): rename(b) for a, b in module.aliases.items()})
    return result


def _renamed(function: Function, own: set[str], number: int) -> Function:
    local = {*function.variables, *(v.name for v in (*function.parameters, *function.returns))}

    def rename(name: str) -> str:
        return f"{name}.{number}" if name in own and name not in local else name

    body: list[Statement] | None = None
    if function.body is not None:
        body = [
            one if isinstance(one, Label) else rewrite.instruction(one, lambda name: name, rename)
            for one in function.body
        ]
    name = f"{function.name}.{number}" if function.name in own else function.name
    tables = {key: tuple(rename(one) for one in names) for key, names in function.tables.items()}
    return replace(function, name=name, body=body, tables=tables)
