"""cvt in which a floating-point type takes part: hands each conversion to the file of its types."""

from __future__ import annotations

from cumulticast.ptx.lower.convert_float_integer import from_integer, to_integer
from cumulticast.ptx.lower.convert_float_nan import nan_bits
from cumulticast.ptx.lower.convert_float_packed import SMALL, from_small, pack, to_small
from cumulticast.ptx.lower.convert_float_tf32 import ties_away
from cumulticast.ptx.lower.emitter import Emitter
from cumulticast.ptx.lower.float_formats import COMPUTED, PACKED, read
from cumulticast.ptx.lower.float_forms import (
    clipped,
    computed,
    flush_result,
    flushed,
    rounding,
    saturated,
    times_border,
    with_nans_of,
)
from cumulticast.ptx.lower.float_round import container, narrow
from cumulticast.ptx.syntax import TYPE_BITS, Instruction

#: The types that are converted; stochastic rounding (.rs, which the x4 types need) and ue5m3x2 are not.
CONVERTED = {*COMPUTED, *PACKED, *SMALL, "tf32", *(f"{sign}{bits}" for sign in "su" for bits in (8, 16, 32, 64))}
#: Rounding to an integer: PTX's word → LLVM's intrinsic.
INTEGRAL = {"rni": "llvm.roundeven", "rzi": "llvm.trunc", "rmi": "llvm.floor", "rpi": "llvm.ceil"}


def convert(em: Emitter, ins: Instruction) -> None:
    """Lower a ``cvt`` with at least one floating-point type."""
    words = [word for word in ins.modifiers if word in TYPE_BITS or word in SMALL]
    if len(words) != 2 or ins.has("rs") or not set(words) <= CONVERTED:
        raise em.fail(f"{ins.name} is not supported")
    target, source = words
    if target in SMALL:
        to_small(em, ins, target, source)
    elif source in SMALL:
        from_small(em, ins, target, source)
    elif target in PACKED:
        pack(em, ins, target)
    elif ins.has("rna"):
        ties_away(em, ins)
    elif source not in COMPUTED:
        _write(em, ins, target, *from_integer(em, ins, target, source))
    else:
        _from_float(em, ins, target, source)


def _from_float(em: Emitter, ins: Instruction, target: str, source: str) -> None:
    raw = read(em, ins.operands[1], source)[0]
    if ins.has("ftz") and source == "f32" and target not in ("f16", "bf16"):  # those keep subnormal operands
        raw = flushed(em, source, raw)
    kind, value = COMPUTED[source], computed(em, source, raw)
    for word, intrinsic in INTEGRAL.items():
        if ins.has(word):
            value = em.intrinsic(intrinsic, kind, value)
    if target[0] in "su":
        signed = target[0] == "s"
        em.set(ins.operands[0], em.kind(target), to_integer(em, kind, value, target, source), signed=signed)
    elif target == source == "f64" and not ins.has("sat"):
        em.set(ins.operands[0], "i64", with_nans_of(em, [raw], value))
    else:
        _write(em, ins, target, kind, value, nan_bits(em, ins, target, source, raw))


def _write(em: Emitter, ins: Instruction, target: str, kind: str, value: str, nan: str = "") -> None:
    """Round a value to the target's format with the instruction's modifiers, and write it.

    ``nan``: the bits to write where the value is NaN, if those are not the canonical ones.
    """
    was_nan = em.compare("fcmp", "uno", kind, value, value) if nan else ""
    if ins.has("ftz") and target == "f32" and kind == "double":
        value = _flush(em, ins, value)
    if ins.has("sat"):
        value = saturated(em, kind, value)
    if ins.has("relu"):
        value = clipped(em, kind, value)
    kind, result = _round(em, ins, target, kind, value)
    if nan:
        whole = em.kind(target)
        em.set(ins.operands[0], whole, em.select(was_nan, whole, nan, em.bitcast(kind, whole, result)))
    elif target in ("f32", "f64"):
        em.set_float(ins.operands[0], kind, result)
    else:
        em.set(ins.operands[0], kind, result)


def _flush(em: Emitter, ins: Instruction, value: str) -> str:
    """Flush a double that becomes an f32 too small for a normal number."""
    if rounding(ins) == "rn":
        return flush_result(em, "f32", "double", value)
    large = narrow(em, "double", times_border(em, "double", value), "f32", rounding(ins))
    wide = em.cast("fpext", "float", "double", em.bitcast("i32", "float", large))
    return flush_result(em, "f32", "double", value, wide)


def _round(em: Emitter, ins: Instruction, target: str, kind: str, value: str) -> tuple[str, str]:
    """Answer a value rounded to the target's format: (float, double or an integer kind, value)."""
    if target == "f64":
        return "double", em.cast("fpext", kind, "double", value) if kind == "float" else value
    if target == "f32" and kind == "float":
        return "float", value
    if target == "f32" and rounding(ins) == "rn":
        return "float", em.cast("fptrunc", "double", "float", value)
    bits = narrow(em, kind, value, target, rounding(ins), finite=ins.has("satfinite"))
    return ("float", em.bitcast("i32", "float", bits)) if target == "f32" else (container(target), bits)
