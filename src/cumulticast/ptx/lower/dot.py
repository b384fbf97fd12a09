"""Dot products with a sum: dp4a dp2a (PTX ISA 9.7.1.23, 9.7.1.24)."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.integer_types import is_signed, split
from cumulticast.ptx.syntax import Instruction


@lowers("dp4a")
def lower_dp4a(em: Emitter, ins: Instruction) -> None:
    """``d = c +`` the products of four bytes of a with four of b."""
    _dot(em, ins, "i8", 0)


@lowers("dp2a")
def lower_dp2a(em: Emitter, ins: Instruction) -> None:
    """``d = c +`` the products of two halves of a with the lower (``.lo``) or the upper two bytes of b."""
    _dot(em, ins, "i16", 2 if ins.has("hi") else 0)


def _dot(em: Emitter, ins: Instruction, part: str, first: int) -> None:
    a_type, b_type = ins.types
    left = _numbers(em, em.get(ins.operands[1], "i32"), part, is_signed(a_type))
    right = _numbers(em, em.get(ins.operands[2], "i32"), "i8", is_signed(b_type))[first:]
    total = em.get(ins.operands[3], "i32")
    for x, y in zip(left, right, strict=False):
        total = em.op("add", "i32", total, em.op("mul", "i32", x, y))
    em.set(ins.operands[0], "i32", total)


def _numbers(em: Emitter, value: str, part: str, signed: bool) -> list[str]:
    return [em.resize(part, "i32", piece, signed=signed) for piece in split(em, value, "i32", part)]
