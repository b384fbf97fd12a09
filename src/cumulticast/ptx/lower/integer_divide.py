"""Integer division: div rem (PTX ISA 9.7.1.8, 9.7.1.9).

x86 traps on a zero divisor and on the least number divided by -1, and so it would for a lane that is masked off: such
a divisor is replaced before the division, the result afterwards. Vectors of up to 32 bits are divided as doubles: the
quotient of integers below 2^53, rounded to double and then cut, is the integer quotient, since what lies below an
integer lies below it by at least one part in the divisor. That takes half the time of 32 scalar divisions (Zen 4).

What a division by zero gives the ISA leaves open. An H200 (driver 580.159, ptxas 13.0) answers all ones, to div and to
rem, of every type; the least number divided by -1 is itself, and leaves 0.
"""

from __future__ import annotations

from cumulticast.ptx.lower.by_type import lowers_integer
from cumulticast.ptx.lower.emitter import LANES, Emitter, lowers
from cumulticast.ptx.lower.integer_types import bits_of, integer_type, is_signed, write
from cumulticast.ptx.syntax import Instruction


@lowers_integer("div")
def lower_div(em: Emitter, ins: Instruction) -> None:
    """``d = a / b``, cut towards 0."""
    _, b, quotient = _quotient(em, ins)
    _finish(em, ins, b, quotient)


@lowers("rem")
def lower_rem(em: Emitter, ins: Instruction) -> None:
    """``d = a - (a / b) · b``: the sign is the dividend's."""
    kind = em.kind(integer_type(ins))
    a, b, quotient = _quotient(em, ins)
    _finish(em, ins, b, em.op("sub", kind, a, em.op("mul", kind, quotient, b)))


def _finish(em: Emitter, ins: Instruction, divisor: str, value: str) -> None:
    """Write the result: all ones where the divisor is 0."""
    kind = em.kind(integer_type(ins))
    zero = em.compare("icmp", "eq", kind, divisor, em.const(kind, 0))
    write(em, ins.operands[0], integer_type(ins), em.select(zero, kind, em.const(kind, -1), value))


def _quotient(em: Emitter, ins: Instruction) -> tuple[str, str, str]:
    """Answer dividend, divisor, and the quotient (of any value where the divisor is 0)."""
    kind, signed = em.kind(integer_type(ins)), is_signed(integer_type(ins))
    a, b = em.get(ins.operands[1], kind), em.get(ins.operands[2], kind)
    divisor = _harmless(em, kind, signed, a, b)
    if not em.vector or em.is_constant(ins.operands[2]):
        return a, b, em.op("sdiv" if signed else "udiv", kind, a, divisor)
    divide = _divide_as_doubles if bits_of(kind) <= 32 else _divide_in_loop
    return a, b, divide(em, kind, signed, a, divisor)


def _harmless(em: Emitter, kind: str, signed: bool, a: str, b: str) -> str:
    """Replace a divisor that would trap by 1: of the least number and -1 that gives quotient and rest all the same."""
    bad = em.compare("icmp", "eq", kind, b, em.const(kind, 0))
    if signed:
        least = em.compare("icmp", "eq", kind, a, em.const(kind, 1 << (bits_of(kind) - 1)))
        overflow = em.op("and", "i1", least, em.compare("icmp", "eq", kind, b, em.const(kind, -1)))
        bad = em.op("or", "i1", bad, overflow)
    return em.select(bad, kind, em.const(kind, 1), b)


def _divide_as_doubles(em: Emitter, kind: str, signed: bool, a: str, b: str) -> str:
    into, back = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    quotient = em.op("fdiv", "double", em.cast(into, kind, "double", a), em.cast(into, kind, "double", b))
    return em.cast(back, "double", kind, quotient)


def _divide_in_loop(em: Emitter, kind: str, signed: bool, a: str, b: str) -> str:
    """Call a loop over the lanes: written out, each of 32 scalar divisions has branches, and compiles for long."""
    name, many = f"ptx_{'sdiv' if signed else 'udiv'}_{kind}", em.t(kind)
    em.define(name, _LOOP.format(name=name, many=many, kind=kind, op="sdiv" if signed else "udiv", last=LANES - 1))
    return em.emit(f"call {many} @{name}({many} {a}, {many} {b})")


_LOOP = """define internal {many} @{name}({many} %a, {many} %b) noinline {{
entry:
  %as = alloca {many}
  %bs = alloca {many}
  store {many} %a, ptr %as
  store {many} %b, ptr %bs
  br label %lane
lane:
  %i = phi i64 [ 0, %entry ], [ %next, %lane ]
  %ap = getelementptr {kind}, ptr %as, i64 %i
  %bp = getelementptr {kind}, ptr %bs, i64 %i
  %x = load {kind}, ptr %ap
  %y = load {kind}, ptr %bp
  %q = {op} {kind} %x, %y
  store {kind} %q, ptr %ap
  %next = add i64 %i, 1
  %done = icmp eq i64 %i, {last}
  br i1 %done, label %end, label %lane
end:
  %all = load {many}, ptr %as
  ret {many} %all
}}
"""
