"""neg, abs, copysign, testp: what concerns the sign and the class of a float, not its size."""

from __future__ import annotations

from cumulticast.ptx.lower.by_type import lowers_float
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.lower.float_formats import FORMATS, HALVES, RAW, element, read, write
from cumulticast.ptx.lower.float_forms import flushed, with_nans_of
from cumulticast.ptx.syntax import Instruction


@lowers_float("neg", "abs")
def lower_sign(em: Emitter, ins: Instruction) -> None:
    """``neg{.ftz}.type d, a``, ``abs{.ftz}.type d, a``."""
    ptx_type = element(ins.types[0])
    raw = read(em, ins.operands[1], ins.types[0])
    if ins.has("ftz"):
        raw = [flushed(em, ptx_type, value) for value in raw]
    results = [_signed(em, ins.opcode, ptx_type, value) for value in raw]
    if ptx_type == "f64":
        em.set(ins.operands[0], "i64", with_nans_of(em, raw, results[0]))
    else:
        write(em, ins.operands[0], ins.types[0], [canonical(em, ptx_type, value) for value in results])


def _signed(em: Emitter, opcode: str, ptx_type: str, raw: str) -> str:
    """Turn or clear the sign of one element."""
    if opcode == "abs":
        return absolute(em, ptx_type, raw)
    return with_sign(em, ptx_type, raw, _sign_bit(em, ptx_type))


def is_nan(em: Emitter, ptx_type: str, raw: str) -> str:
    """Tell whether the bits of a half are a NaN."""
    kind = RAW[ptx_type]
    size = em.op("and", kind, raw, em.const(kind, _sign(ptx_type) - 1))
    return em.compare("icmp", "ugt", kind, size, em.const(kind, FORMATS[ptx_type].infinity))


def canonical(em: Emitter, ptx_type: str, raw: str) -> str:
    """Replace every NaN of a half by the canonical one; f32's become so when they are written."""
    if ptx_type not in HALVES:
        return raw
    kind = RAW[ptx_type]
    return em.select(is_nan(em, ptx_type, raw), kind, em.const(kind, FORMATS[ptx_type].nan), raw)


def absolute(em: Emitter, ptx_type: str, raw: str) -> str:
    """Clear the sign of a raw element."""
    return _with_bits(em, "and", ptx_type, raw, em.const(_whole(ptx_type), _sign(ptx_type) - 1))


def with_sign(em: Emitter, ptx_type: str, raw: str, sign: str) -> str:
    """Turn the sign of a raw element where the integer ``sign`` has the sign bit."""
    return _with_bits(em, "xor", ptx_type, raw, sign)


def signs_differ(em: Emitter, ptx_type: str, a: str, b: str) -> str:
    """Answer the sign bit where two raw elements have different signs, else 0, as an integer."""
    whole = _whole(ptx_type)
    bits = [em.bitcast(RAW[ptx_type], whole, value) for value in (a, b)]
    return em.op("and", whole, em.op("xor", whole, *bits), _sign_bit(em, ptx_type))


def _with_bits(em: Emitter, op: str, ptx_type: str, raw: str, mask: str) -> str:
    whole = _whole(ptx_type)
    return em.bitcast(whole, RAW[ptx_type], em.op(op, whole, em.bitcast(RAW[ptx_type], whole, raw), mask))


def _sign_bit(em: Emitter, ptx_type: str) -> str:
    return em.const(_whole(ptx_type), _sign(ptx_type))


def _whole(ptx_type: str) -> str:
    return f"i{FORMATS[ptx_type].bits}"


def _sign(ptx_type: str) -> int:
    return 1 << (FORMATS[ptx_type].bits - 1)


@lowers("copysign")
def lower_copysign(em: Emitter, ins: Instruction) -> None:
    """``copysign.type d, a, b``: b with the sign of a (PTX ISA)."""
    kind = em.kind(ins.types[0])
    sign = em.op("and", kind, em.get(ins.operands[1], kind), em.const(kind, _sign(ins.types[0])))
    size = em.op("and", kind, em.get(ins.operands[2], kind), em.const(kind, _sign(ins.types[0]) - 1))
    em.set(ins.operands[0], kind, em.op("or", kind, sign, size))


#: testp's words as the classes of llvm.is.fpclass (LLVM Language Reference): NaN, infinity, normal, subnormal, zero.
CLASSES = {
    "notanumber": 0x003,
    "number": 0x3FC,
    "infinite": 0x204,
    "finite": 0x1F8,
    "normal": 0x168,  # zeros too, as an H200 has it
    "subnormal": 0x090,
}


@lowers("testp")
def lower_testp(em: Emitter, ins: Instruction) -> None:
    """``testp.op.type p, a``."""
    kind = RAW[ins.types[0]]
    word = next(word for word in ins.modifiers if word in CLASSES)
    value = em.get(ins.operands[1], kind)
    em.set(
        ins.operands[0],
        "i1",
        em.intrinsic("llvm.is.fpclass", kind, value, extra=f"i32 {CLASSES[word]}", result="i1"),
    )
