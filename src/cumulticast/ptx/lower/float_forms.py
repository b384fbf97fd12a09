"""What the floating-point instructions share: elements, rounding modes, flushing and saturation."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from cumulticast.ptx.lower.emitter import NAN_BITS, Emitter
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


#: What a result is multiplied by to see whether it is subnormal before it is rounded as one; any large power of two.
BORDER = 64


def times_border(em: Emitter, kind: str, value: str) -> str:
    """Multiply by 2^64: exact, or so large that nothing computed of it is small."""
    return em.op("fmul", kind, value, constant(em, kind, 2.0**BORDER))


def flush_result(em: Emitter, ptx_type: str, kind: str, value: str, large: str = "") -> str:
    """Replace a result that is subnormal by a zero of its sign (``.ftz``).

    An H200 decides after rounding to the format's precision with an exponent that has no lower end: of f32,
    2^-126 (1 - 2^-25) is rounded up to 2^-126 and stays, what lies below becomes 0 (tests/ptx/data). So a value of
    a wider kind (to be rounded to nearest) is compared with the middle between the least normal number and its
    lower neighbour; a value that has been rounded already, with what ``large`` is: the operation's result times 2^64.
    """
    form = FORMATS[ptx_type]
    least = 2.0 ** (1 - form.bias)
    if large:
        size, least = large, least * 2.0**BORDER
    else:
        size = value
        if kind != COMPUTED[ptx_type] or ptx_type in HALVES:
            least -= least * 2.0 ** -(form.mantissa + 2)
    tiny = em.compare("fcmp", "olt", kind, em.intrinsic("llvm.fabs", kind, size), constant(em, kind, least))
    zero = em.intrinsic("llvm.copysign", kind, em.float_const(kind, 0), value)
    return em.select(tiny, kind, zero, value)


def constant(em: Emitter, kind: str, value: float) -> str:
    """Write a number as a constant; it must be one of the kind's."""
    layout, bits = {"float": ("<f", "<I"), "double": ("<d", "<Q")}[kind]
    return em.float_const(kind, struct.unpack(bits, struct.pack(layout, value))[0])


def with_nans_of(em: Emitter, operands: list[str], result: str) -> str:
    """Answer the bits of an f64 result: the first operand that is NaN, made quiet; else a NaN is the default one.

    An H200's double-precision unit hands NaNs through, unlike all its others (tests/ptx/data).
    """
    invalid = em.compare("fcmp", "uno", "double", result, result)
    bits = em.bitcast("double", "i64", result)
    bits = em.select(invalid, "i64", em.const("i64", NAN_BITS["double"]), bits)
    for operand in reversed(operands):
        quiet = em.op("or", "i64", em.bitcast("double", "i64", operand), em.const("i64", 1 << 51))
        bits = em.select(em.compare("fcmp", "uno", "double", operand, operand), "i64", quiet, bits)
    return bits


def flushed(em: Emitter, ptx_type: str, raw: str) -> str:
    """Replace a subnormal raw operand by a zero of its sign (``.ftz``)."""
    kind, form = RAW[ptx_type], FORMATS[ptx_type]
    whole = f"i{form.bits}"
    bits = em.bitcast(kind, whole, raw)
    exponent = em.op("and", whole, bits, em.const(whole, form.infinity))
    zero = em.op("and", whole, bits, em.const(whole, 1 << (form.bits - 1)))
    tiny = em.compare("icmp", "eq", whole, exponent, em.const(whole, 0))
    return em.select(tiny, kind, em.bitcast(whole, kind, zero), raw)


def saturated(em: Emitter, kind: str, value: str) -> str:
    """Clamp a computed value to [0, 1] (``.sat``); NaN and -0 become +0."""
    one = constant(em, kind, 1.0)
    above = em.compare("fcmp", "ogt", kind, value, em.float_const(kind, 0))
    value = em.select(above, kind, value, em.float_const(kind, 0))
    return em.select(em.compare("fcmp", "olt", kind, value, one), kind, value, one)


def clipped(em: Emitter, kind: str, value: str) -> str:
    """Replace a negative computed value and -0 by +0 (``.relu``); NaN stays NaN."""
    above = em.compare("fcmp", "ugt", kind, value, em.float_const(kind, 0))
    return em.select(above, kind, value, em.float_const(kind, 0))


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on one element.

    Attributes
    ----------
    compute
        How it is computed.
    types
        Types of the source operands, where they differ from the instruction's (mixed precision).
    nans
        Operands by number: the first that is NaN is the result of an f64 operation, made quiet.
    large
        Computes the result times `BORDER`, where the result can be subnormal and inexact.
    """

    compute: Compute
    types: list[str] | None = None
    nans: tuple[int, ...] = (1, 0)
    large: Compute | None = None


def elementwise(em: Emitter, ins: Instruction, operation: Operation) -> None:
    """Lower an arithmetic instruction: each element of its type, with .ftz, .sat and .relu as written."""
    result = ins.types[0]
    sources = operation.types or [result] * (len(ins.operands) - 1)
    columns = [read(em, operand, kind) for operand, kind in zip(ins.operands[1:], sources, strict=True)]
    if ins.has("ftz"):
        columns = [[flushed(em, element(t), raw) for raw in column] for t, column in zip(sources, columns, strict=True)]
    rows = [
        [computed(em, element(t), raw) for t, raw in zip(sources, row, strict=True)]
        for row in zip(*columns, strict=True)
    ]
    results = [_element(em, ins, element(result), operation, row) for row in rows]
    if result == "f64":
        order = [rows[0][number] for number in operation.nans]
        em.set(ins.operands[0], "i64", with_nans_of(em, order, results[0]))
    else:
        write(em, ins.operands[0], result, results)


def _element(em: Emitter, ins: Instruction, ptx_type: str, operation: Operation, values: list[str]) -> str:
    """Compute one element, rounded to its type."""
    kind, value = operation.compute(em, COMPUTED[ptx_type], values)
    if ins.has("ftz"):
        large = operation.large(em, COMPUTED[ptx_type], values)[1] if operation.large else ""
        value = flush_result(em, ptx_type, kind, value, large)
    if ins.has("sat"):
        value = saturated(em, kind, value)
    if ins.has("relu"):
        value = clipped(em, kind, value)
    return rounded(em, ptx_type, kind, value)
