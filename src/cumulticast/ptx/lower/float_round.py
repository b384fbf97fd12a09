"""From one floating-point format to another, exactly, in every rounding mode: in integer code where the host has none.

A half to f32 and back to nearest, which every f16 instruction needs, is an instruction of most hosts.
"""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import BITS_OF, Emitter
from cumulticast.ptx.lower.float_formats import FORMATS, SOURCE, Format
from cumulticast.ptx.lower.float_host import has_f16c


def widen(em: Emitter, ptx_type: str, raw: str, kind: str = "i16") -> str:
    """Answer the number that bits (of integer ``kind``) mean in a small format, as ``float``: always exact."""
    form = FORMATS[ptx_type]
    if ptx_type == "f16" and has_f16c():
        return em.cast("fpext", "half", "float", em.bitcast(kind, "half", raw))
    bits = em.resize(kind, "i32", raw)
    if ptx_type == "bf16":
        return em.bitcast("i32", "float", em.op("shl", "i32", bits, em.const("i32", 16)))
    sign = em.op("shl", "i32", bits, em.const("i32", 32 - form.bits))
    sign = em.op("and", "i32", sign, em.const("i32", 1 << 31))
    size = em.op("and", "i32", bits, em.const("i32", (1 << (form.bits - 1)) - 1))
    size = em.op("shl", "i32", size, em.const("i32", 23 - form.mantissa))
    if form.exponent < 8:
        size = _rebase(em, form, size)
    return em.bitcast("i32", "float", em.op("or", "i32", size, sign))


def _rebase(em: Emitter, form: Format, size: str) -> str:
    """Move a magnitude, whose mantissa is in its place already, to the exponent of ``float``."""
    base = (127 - form.bias) << 23
    normal = em.op("add", "i32", size, em.const("i32", base))
    # A subnormal is its mantissa over a fixed exponent: hang it below the smallest normal number and take that away.
    hung = em.bitcast("i32", "float", em.op("add", "i32", size, em.const("i32", base + (1 << 23))))
    small = em.op("fsub", "float", hung, em.float_const("float", base + (1 << 23)))
    below = em.compare("icmp", "ult", "i32", size, em.const("i32", 1 << 23))
    value = em.select(below, "i32", em.bitcast("float", "i32", small), normal)
    if form.infinity or form.nan:
        special = (form.infinity or form.nan) << (23 - form.mantissa)
        most = em.compare("icmp", "uge", "i32", size, em.const("i32", special))
        value = em.select(most, "i32", em.op("or", "i32", size, em.const("i32", 255 << 23)), value)
    return value


def narrow(em: Emitter, kind: str, value: str, ptx_type: str, mode: str = "rn", *, finite: bool = False) -> str:
    """Round a ``float`` or ``double`` to a narrower format; the value answered is integer bits.

    Parameters
    ----------
    mode
        rn (ties to even), rz, rm, rp.
    finite
        ``.satfinite``: what overflows becomes the greatest finite number, infinities too.

    Returns
    -------
    str
        An integer of 8, 16 or 32 bits. A NaN becomes the format's NaN, its greatest number where it has none.
    """
    if kind == "double" and ptx_type != "f32":
        kind, value = "float", single_to_odd(em, value)
    form, source = FORMATS[ptx_type], SOURCE[kind]
    if mode == "rn" and not finite and (ptx_type == "bf16" or (ptx_type == "f16" and has_f16c())):
        return _nearest_half(em, ptx_type, value)
    whole = f"i{BITS_OF[kind]}"
    bits = em.bitcast(kind, whole, value)
    negative = em.compare("icmp", "slt", whole, bits, em.const(whole, 0))
    size = em.op("and", whole, bits, em.const(whole, (1 << (BITS_OF[kind] - 1)) - 1))
    away = _away(em, mode, negative)
    rounded = _rounded(em, whole, source, form, size, away, mode)
    rounded = _overflow(em, whole, source, form, size, rounded, away, mode, finite)
    if form.padding:
        rounded = em.op("shl", whole, rounded, em.const(whole, form.padding))
    sign = em.const(whole, 1 << (form.bits + form.padding - 1))
    signed = em.op("or", whole, rounded, em.select(negative, whole, sign, em.const(whole, 0)))
    nan = em.compare("fcmp", "uno", kind, value, value)
    result = em.select(nan, whole, em.const(whole, (form.nan or form.largest) << form.padding), signed)
    return em.resize(whole, container(ptx_type), result)


def _nearest_half(em: Emitter, ptx_type: str, value: str) -> str:
    """Round a float to the nearest f16 by the host's instruction, or to the nearest bf16, overflow included."""
    if ptx_type == "f16":
        half = em.bitcast("half", "i16", em.cast("fptrunc", "float", "half", value))
    else:  # the sign stays what it is: only a NaN could carry into it
        bits = em.bitcast("float", "i32", value)
        even = em.op("and", "i32", em.op("lshr", "i32", bits, em.const("i32", 16)), em.const("i32", 1))
        bits = em.op("add", "i32", em.op("add", "i32", bits, em.const("i32", 0x7FFF)), even)
        half = em.cast("trunc", "i32", "i16", em.op("lshr", "i32", bits, em.const("i32", 16)))
    nan = em.compare("fcmp", "uno", "float", value, value)
    return em.select(nan, "i16", em.const("i16", FORMATS[ptx_type].nan), half)


def single_to_odd(em: Emitter, value: str) -> str:
    """Answer the float that a double is; or of the two beside it the odd one, which rounds on as the double would."""
    single = em.cast("fptrunc", "double", "float", value)
    back = em.cast("fpext", "float", "double", single)
    bits = em.bitcast("float", "i32", single)
    even = em.op("xor", "i1", em.cast("trunc", "i32", "i1", bits), em.const("i1", 1))
    inexact = em.compare("fcmp", "one", "double", value, back)
    sizes = [em.intrinsic("llvm.fabs", "double", each) for each in (value, back)]
    outward = em.compare("fcmp", "ogt", "double", *sizes)
    step = em.select(outward, "i32", em.const("i32", 1), em.const("i32", -1))
    step = em.select(em.op("and", "i1", inexact, even), "i32", step, em.const("i32", 0))
    return em.bitcast("i32", "float", em.op("add", "i32", bits, step))


def container(ptx_type: str) -> str:
    """Answer the integer kind that `narrow` gives for a format."""
    form = FORMATS[ptx_type]
    return f"i{max(8, 1 << (form.bits + form.padding - 1).bit_length())}"


def _away(em: Emitter, mode: str, negative: str) -> str:
    """Tell whether a directed mode goes away from zero."""
    if mode == "rm":
        return negative
    return em.op("xor", "i1", negative, em.const("i1", 1)) if mode == "rp" else em.const("i1", 0)


def _rounded(em: Emitter, whole: str, source: Format, form: Format, size: str, away: str, mode: str) -> str:
    """Round the magnitude ``size`` to the mantissa of ``form``; what overflows is not right yet."""
    drop = source.mantissa - form.mantissa
    if source.exponent == form.exponent:  # denormals included: both lie on the same grid
        shift = em.const(whole, drop)
        total = em.op("add", whole, size, _addend(em, whole, size, shift, away, mode))
        return em.op("lshr", whole, total, shift)
    field = em.op("lshr", whole, size, em.const(whole, source.mantissa))
    hidden = em.compare("icmp", "ne", whole, field, em.const(whole, 0))
    mantissa = em.op("and", whole, size, em.const(whole, (1 << source.mantissa) - 1))
    mantissa = em.op(
        "or", whole, mantissa, em.select(hidden, whole, em.const(whole, 1 << source.mantissa), em.const(whole, 0))
    )
    field = em.op("add", whole, field, em.const(whole, form.bias - source.bias))
    below = em.intrinsic("llvm.smax", whole, em.op("sub", whole, em.const(whole, 1), field), em.const(whole, 0))
    shift = em.op("add", whole, below, em.const(whole, drop))
    shift = em.intrinsic("llvm.umin", whole, shift, em.const(whole, source.mantissa + 2))
    total = em.op("add", whole, mantissa, _addend(em, whole, mantissa, shift, away, mode))
    kept = em.op("lshr", whole, total, shift)
    # The kept bits hold the hidden one, so that they carry into the exponent by themselves.
    exponent = em.intrinsic("llvm.smax", whole, em.op("sub", whole, field, em.const(whole, 1)), em.const(whole, 0))
    return em.op("add", whole, em.op("shl", whole, exponent, em.const(whole, form.mantissa)), kept)


def _addend(em: Emitter, whole: str, size: str, shift: str, away: str, mode: str) -> str:
    """Answer what is added before ``shift`` bits are cut off, so that the cut is the rounding."""
    if mode == "rz":
        return em.const(whole, 0)
    one = em.op("shl", whole, em.const(whole, 1), shift)
    if mode in ("rm", "rp"):
        return em.select(away, whole, em.op("sub", whole, one, em.const(whole, 1)), em.const(whole, 0))
    half = em.op("lshr", whole, one, em.const(whole, 1))
    even = em.op("and", whole, em.op("lshr", whole, size, shift), em.const(whole, 1))
    return em.op("add", whole, em.op("sub", whole, half, em.const(whole, 1)), even)


def _overflow(
    em: Emitter, whole: str, source: Format, form: Format, size: str, rounded: str, away: str, mode: str, finite: bool
) -> str:
    """Put the greatest finite number or infinity where the rounded magnitude lies beyond the former."""
    largest = em.const(whole, form.largest)
    over = em.compare("icmp", "ugt", whole, rounded, largest)
    if finite or not (form.infinity or form.nan):
        return em.select(over, whole, largest, rounded)
    beyond = em.const(whole, form.infinity or form.nan)
    if mode in ("rz", "rm", "rp"):
        infinite = em.compare("icmp", "eq", whole, size, em.const(whole, source.infinity))
        beyond = em.select(em.op("or", "i1", infinite, away), whole, beyond, largest)
    return em.select(over, whole, beyond, rounded)
