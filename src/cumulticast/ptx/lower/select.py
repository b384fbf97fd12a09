"""Selection: selp slct (PTX ISA 9.7.6.3, 9.7.6.4)."""

from __future__ import annotations

from cumulticast.ptx.lower.compare_float import compare_floats
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer_types import is_signed
from cumulticast.ptx.syntax import Instruction


@lowers("selp")
def lower_selp(em: Emitter, ins: Instruction) -> None:
    """``d = c ? a : b`` with a predicate c."""
    _select(em, ins, ins.types[-1], em.get(ins.operands[3], "i1"))


@lowers("slct")
def lower_slct(em: Emitter, ins: Instruction) -> None:
    """``d = c >= 0 ? a : b`` with a number c: -0.0 counts as 0, and a NaN selects b."""
    result, source = ins.types
    if source == "f32":
        pair = em.get(ins.operands[3], "float"), em.float_const("float", 0)
        test = compare_floats(em, "ge", source, pair, flush=ins.has("ftz"))
    else:
        test = em.compare("icmp", "sge", "i32", em.get(ins.operands[3], "i32"), em.const("i32", 0))
    _select(em, ins, result, test)


def _select(em: Emitter, ins: Instruction, ptx_type: str, test: str) -> None:
    kind = em.kind(ptx_type)
    chosen = em.select(test, kind, em.get(ins.operands[1], kind), em.get(ins.operands[2], kind))
    em.set(ins.operands[0], kind, chosen, signed=is_signed(ptx_type))
