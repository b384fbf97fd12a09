"""What single families of instructions ask for beyond their forms. Source: PTX ISA; trials of ptxas 13.5."""

from __future__ import annotations

from collections.abc import Callable

from ..syntax import Instruction, Integer, Operand

_ORDERS = frozenset(["relaxed", "acquire", "release"])
_SCOPES = frozenset(["cta", "cluster", "gpu", "sys"])
_BARRIERS = 16
_WARP = 32


def wrong(one: Instruction) -> str:
    """Say what is wrong with an instruction whose form and operands fit; empty if nothing."""
    rule = _RULES.get(one.opcode)
    return rule(one) if rule is not None else ""


def _barrier(one: Instruction) -> str:
    if one.has("cluster") or one.has("warp"):
        return ""
    numbers = one.operands[1:] if one.has("red") else one.operands
    if not _within(numbers[0], range(_BARRIERS)):
        return f"there are {_BARRIERS} barriers, 0 to {_BARRIERS - 1}"
    count = numbers[1] if len(numbers) > 1 else None
    if isinstance(count, Integer) and (count.value % _WARP or count.value <= 0):
        return f"{count.value} threads: a multiple of {_WARP} is expected"
    return ""


def _within(operand: Operand, allowed: range | tuple[int, ...]) -> bool:
    return not isinstance(operand, Integer) or operand.value in allowed


def _copy(one: Instruction) -> str:
    if not one.has("global") or one.has("bulk"):
        return ""
    sizes = (16,) if one.has("cg") else (4, 8, 16)
    return "" if _within(one.operands[2], sizes) else f"copies {' or '.join(map(str, sizes))} bytes at a time"


def _mbarrier(one: Instruction) -> str:
    ordered, scoped = (not words.isdisjoint(one.modifiers) for words in (_ORDERS, _SCOPES))
    if ordered and not scoped:
        return "an order needs a scope: .cta or .cluster"
    return "a scope needs an order" if scoped and not ordered else ""


def _store(one: Instruction) -> str:
    return "" if not one.has("bulk") or _within(one.operands[2], (0,)) else "st.bulk writes zeros: 0 is expected"


def _register_count(one: Instruction) -> str:
    counts = range(24, 257, 8)
    return "" if _within(one.operands[0], counts) else "registers: a multiple of 8 from 24 to 256 is expected"


_RULES: dict[str, Callable[[Instruction], str]] = {
    "bar": _barrier,
    "barrier": _barrier,
    "cp": _copy,
    "mbarrier": _mbarrier,
    "setmaxnreg": _register_count,
    "st": _store,
}
