"""What the floating-point instructions share: elements, rounding modes, flushing and saturation."""

from __future__ import annotations

from collections.abc import Callable

from cumulticast.ptx.lower.emitter import Emitter
from cumulticast.ptx.lower.float_formats import COMPUTED, FORMATS, HALVES, RAW, element, read, write
from cumulticast.ptx.lower.float_round import narrow, widen
from cumulticast.ptx.syntax import Instruction

MODES = ("rn", "rz", "rm", "rp")
#: How one element is computed: (emitter, kind of the values, values) → kind and value of the result. Of halves it is
#: rounded later.
Compute = Callable[[Emitter, str, list[str]], tuple[str, str]]


def rounding(ins: Instruction) -> str:
    """Answer the rounding mode of an instruction: rn unless it says otherwise."""
    return next((mode for mode in MODES if ins.has(mode)), "rn")


def computed(em: Emitter, ptx_type: str, raw: str) -> str:
    """Answer a raw element as a value to compute with: of kind `COMPUTED`."""
    return widen(em, ptx_type, raw) if ptx_type in HALVES else raw


def rounded(em: Emitter, ptx_type: str, kind: str, value: str) -> str:
    """Round a computed value (to nearest) to a type's raw element."""
    if ptx_type in HALVES:
        return narrow(em, kind, value, ptx_type)
    return value if kind == RAW[ptx_type] else em.cast("fptrunc", kind, RAW[ptx_type], value)


def flushed(em: Emitter, ptx_type: str, raw: str) -> str:
    """Replace a subnormal raw element by a zero of its sign (``.ftz``)."""
    kind, form = RAW[ptx_type], FORMATS[ptx_type]
    whole = f"i{form.bits}"
    bits = em.bitcast(kind, whole, raw)
    exponent = em.op("and", whole, bits, em.const(whole, form.infinity))
    zero = em.op("and", whole, bits, em.const(whole, 1 << (form.bits - 1)))
    tiny = em.compare("icmp", "eq", whole, exponent, em.const(whole, 0))
    return em.select(tiny, kind, em.bitcast(whole, kind, zero), raw)


def saturated(em: Emitter, kind: str, value: str) -> str:
    """Clamp a computed value to [0, 1] (``.sat``); NaN and -0 become +0."""
    one = em.float_const(kind, {"float": 0x3F800000, "double": 0x3FF0000000000000}[kind])
    above = em.compare("fcmp", "ogt", kind, value, em.float_const(kind, 0))
    value = em.select(above, kind, value, em.float_const(kind, 0))
    return em.select(em.compare("fcmp", "olt", kind, value, one), kind, value, one)


def clipped(em: Emitter, kind: str, value: str) -> str:
    """Replace a negative computed value and -0 by +0 (``.relu``); NaN stays NaN."""
    above = em.compare("fcmp", "ugt", kind, value, em.float_const(kind, 0))
    return em.select(above, kind, value, em.float_const(kind, 0))


def elementwise(em: Emitter, ins: Instruction, compute: Compute, *, types: list[str] | None = None) -> None:
    """Lower an arithmetic instruction: each element of its type, with .ftz, .sat and .relu as written.

    ``types`` are those of the source operands, where they differ from the instruction's (mixed precision).
    """
    result = ins.types[0]
    sources = types or [result] * (len(ins.operands) - 1)
    columns = [read(em, operand, kind) for operand, kind in zip(ins.operands[1:], sources, strict=True)]
    if ins.has("ftz"):
        columns = [[flushed(em, element(t), raw) for raw in column] for t, column in zip(sources, columns, strict=True)]
    rows = list(zip(*columns, strict=True))
    kind = COMPUTED[element(result)]
    values = [[computed(em, element(t), raw) for t, raw in zip(sources, row, strict=True)] for row in rows]
    write(em, ins.operands[0], result, [finish(em, ins, *compute(em, kind, row)) for row in values])


def finish(em: Emitter, ins: Instruction, kind: str, value: str) -> str:
    """Round a computed value to the instruction's element type and apply its modifiers."""
    ptx_type = element(ins.types[0])
    if ins.has("sat"):
        value = saturated(em, kind, value)
    if ins.has("relu"):
        value = clipped(em, kind, value)
    raw = rounded(em, ptx_type, kind, value)
    return flushed(em, ptx_type, raw) if ins.has("ftz") else raw
