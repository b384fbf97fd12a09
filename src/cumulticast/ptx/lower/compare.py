"""Comparison: setp set (PTX ISA 9.7.6), of integers and of floats (f16, bf16, and two of them packed, too)."""

from __future__ import annotations

from cumulticast.ptx.lower.by_type import FLOAT_TYPES
from cumulticast.ptx.lower.compare_float import compare_floats
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.float_formats import element, read
from cumulticast.ptx.lower.integer_types import is_signed, join
from cumulticast.ptx.lower.logic import inverted
from cumulticast.ptx.syntax import TYPE_BITS, Instruction, Operand, Pair

#: LLVM's predicate without the sign. lo, ls, hi, hs compare without sign whatever the type.
ORDERED = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
COMBINE = ("and", "or", "xor")

#: The bits of "true" as a result of set, by the type of one element; 0 is "false" in all.
TRUE_BITS = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000}


@lowers("setp")
def lower_setp(em: Emitter, ins: Instruction) -> None:
    """``p = (a cmp b) bool c``, ``q = !(a cmp b) bool c``; of packed floats p is the low half's, q the high half's."""
    tests = _tests(em, ins, ins.types[-1])
    target = ins.operands[0]
    first, second = (target.first, target.second) if isinstance(target, Pair) else (target, None)
    p = _combined(em, ins, tests[0])
    if second is not None:
        q = _combined(em, ins, tests[1] if len(tests) == 2 else inverted(em, "i1", tests[0]))
        em.set(second, "i1", q)
    em.set(first, "i1", p)


@lowers("set")
def lower_set(em: Emitter, ins: Instruction) -> None:
    """Like setp, with all bits of an integer for true, or 1.0."""
    result, source = ins.types[-2:]
    tests = [_combined(em, ins, test) for test in _tests(em, ins, source)]
    width = TYPE_BITS[result] // len(tests)
    kind = f"i{width}"
    true = em.const(kind, TRUE_BITS.get(result.removesuffix("x2"), -1))
    parts = [em.select(test, kind, true, em.const(kind, 0)) for test in tests]
    em.set(ins.operands[0], em.kind(result), join(em, parts, kind, em.kind(result)), signed=is_signed(result))


def _tests(em: Emitter, ins: Instruction, ptx_type: str) -> list[str]:
    """Compare operands 1 and 2: one value of kind i1, or two for a packed type, the low half's first."""
    left, right, word = ins.operands[1], ins.operands[2], ins.modifiers[0]
    if ptx_type not in FLOAT_TYPES:
        kind = em.kind(ptx_type)
        return [compare_integers(em, word, ptx_type, em.get(left, kind), em.get(right, kind))]
    pairs = zip(read(em, left, ptx_type), read(em, right, ptx_type), strict=True)
    return [compare_floats(em, word, element(ptx_type), pair, flush=ins.has("ftz")) for pair in pairs]


def compare_integers(em: Emitter, word: str, ptx_type: str, a: str, b: str) -> str:
    """Compare integers by PTX's word for it."""
    if word in ("eq", "ne"):
        predicate = word
    elif word in UNSIGNED:
        predicate = UNSIGNED[word]
    elif word in ORDERED:
        predicate = ("s" if is_signed(ptx_type) else "u") + word
    else:
        raise em.fail(f".{word} does not compare .{ptx_type}; .eq .ne .lt .le .gt .ge .lo .ls .hi .hs do")
    return em.compare("icmp", predicate, em.kind(ptx_type), a, b)


def _combined(em: Emitter, ins: Instruction, test: str) -> str:
    """Combine a test with the predicate operand, where there is one."""
    third: tuple[Operand, ...] = ins.operands[3:]
    if not third:
        return test
    name = next(word for word in ins.modifiers[1:] if word in COMBINE)
    return em.op(name, "i1", test, em.get(third[0], "i1"))
