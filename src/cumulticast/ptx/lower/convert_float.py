"""cvt in which a floating-point type takes part: hands each conversion to the file of its types."""

from __future__ import annotations

from cumulticast.ptx.lower.convert_float_integer import from_integer, to_integer
from cumulticast.ptx.lower.convert_float_packed import SMALL, from_small, pack, to_small
from cumulticast.ptx.lower.emitter import Emitter
from cumulticast.ptx.lower.float_formats import COMPUTED, PACKED, RAW, read
from cumulticast.ptx.lower.float_forms import clipped, computed, flushed, rounding, saturated
from cumulticast.ptx.lower.float_round import container, narrow
from cumulticast.ptx.syntax import TYPE_BITS, Instruction

#: Rounding to an integer: PTX's word → LLVM's intrinsic.
INTEGRAL = {"rni": "llvm.roundeven", "rzi": "llvm.trunc", "rmi": "llvm.floor", "rpi": "llvm.ceil"}


def convert(em: Emitter, ins: Instruction) -> None:
    """Lower a ``cvt`` with at least one floating-point type."""
    words = [word for word in ins.modifiers if word in TYPE_BITS or word in SMALL]
    if len(words) != 2:
        raise em.fail(f"{ins.name} does not name two types")
    target, source = words
    if target in SMALL:
        to_small(em, ins, target, source)
    elif source in SMALL:
        from_small(em, ins, target, source)
    elif target in PACKED:
        pack(em, ins, target)
    elif source not in COMPUTED:
        _write(em, ins, target, *from_integer(em, ins, target, source))
    else:
        _from_float(em, ins, target, source)


def _from_float(em: Emitter, ins: Instruction, target: str, source: str) -> None:
    raw = read(em, ins.operands[1], source)[0]
    if ins.has("ftz") and source == "f32":
        raw = flushed(em, source, raw)
    kind, value = COMPUTED[source], computed(em, source, raw)
    for word, intrinsic in INTEGRAL.items():
        if ins.has(word):
            value = em.intrinsic(intrinsic, kind, value)
    if target[0] in "su":
        em.set(ins.operands[0], em.kind(target), to_integer(em, kind, value, target), signed=target[0] == "s")
    else:
        _write(em, ins, target, kind, value)


def _write(em: Emitter, ins: Instruction, target: str, kind: str, value: str) -> None:
    """Round a value to the target's format with the instruction's modifiers, and write it."""
    if ins.has("sat"):
        value = saturated(em, kind, value)
    if ins.has("relu"):
        value = clipped(em, kind, value)
    result = _round(em, ins, target, kind, value)
    if ins.has("ftz") and target == "f32":
        result = flushed(em, target, result)
    if target in ("f32", "f64"):
        em.set_float(ins.operands[0], RAW[target], result)
    else:
        em.set(ins.operands[0], container(target), result)


def _round(em: Emitter, ins: Instruction, target: str, kind: str, value: str) -> str:
    """Answer a value in the target's raw kind."""
    mode = "rna" if ins.has("rna") else rounding(ins)
    if target == "f64":
        return em.cast("fpext", kind, "double", value) if kind == "float" else value
    if target != "f32":
        return narrow(em, kind, value, target, mode, finite=ins.has("satfinite"))
    if kind == "float":
        return value
    if mode == "rn":
        return em.cast("fptrunc", "double", "float", value)
    return em.bitcast("i32", "float", narrow(em, kind, value, target, mode))
