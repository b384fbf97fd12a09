"""From one floating-point format to another, exactly, in every rounding mode, in integer code."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import BITS_OF, Emitter
from cumulticast.ptx.lower.float_formats import FORMATS, SOURCE, Format


def widen(em: Emitter, ptx_type: str, raw: str, kind: str = "i16") -> str:
    """Answer the number that bits (of integer ``kind``) mean in a small format, as ``float``: always exact."""
    form = FORMATS[ptx_type]
    bits = em.resize(kind, "i32", raw)
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


def narrow(
    em: Emitter, kind: str, value: str, ptx_type: str, mode: str = "rn", *, finite: bool = False, random: str = ""
) -> str:
    """Round a ``float`` or ``double`` to a narrower format; the value answered is integer bits.

    Parameters
    ----------
    mode
        rn (ties to even), rna (ties away from zero), rz, rm, rp, or rs: ``random`` (an integer as wide as ``kind``,
        aligned with the bits that go) is added before they are cut off.
    finite
        ``.satfinite``: what overflows becomes the greatest finite number, infinities too.

    Returns
    -------
    str
        An integer of 8, 16 or 32 bits. A NaN becomes the format's NaN, its greatest number where it has none.
    """
    form, source = FORMATS[ptx_type], SOURCE[kind]
    whole = f"i{BITS_OF[kind]}"
    bits = em.bitcast(kind, whole, value)
    negative = em.compare("icmp", "slt", whole, bits, em.const(whole, 0))
    size = em.op("and", whole, bits, em.const(whole, (1 << (BITS_OF[kind] - 1)) - 1))
    away = _away(em, mode, negative)
    rounded = _rounded(em, whole, source, form, size, away, mode, random)
    rounded = _overflow(em, whole, source, form, size, rounded, away, mode, finite)
    if form.padding:
        rounded = em.op("shl", whole, rounded, em.const(whole, form.padding))
    sign = em.const(whole, 1 << (form.bits + form.padding - 1))
    signed = em.op("or", whole, rounded, em.select(negative, whole, sign, em.const(whole, 0)))
    nan = em.compare("fcmp", "uno", kind, value, value)
    result = em.select(nan, whole, em.const(whole, (form.nan or form.largest) << form.padding), signed)
    return em.resize(whole, container(ptx_type), result)


def container(ptx_type: str) -> str:
    """Answer the integer kind that `narrow` gives for a format."""
    form = FORMATS[ptx_type]
    return f"i{max(8, 1 << (form.bits + form.padding - 1).bit_length())}"


def _away(em: Emitter, mode: str, negative: str) -> str:
    """Tell whether a directed mode goes away from zero."""
    if mode == "rm":
        return negative
    return em.op("xor", "i1", negative, em.const("i1", 1)) if mode == "rp" else em.const("i1", 0)


def _rounded(
    em: Emitter, whole: str, source: Format, form: Format, size: str, away: str, mode: str, random: str
) -> str:
    """Round the magnitude ``size`` to the mantissa of ``form``; what overflows is not right yet."""
    drop = source.mantissa - form.mantissa
    if source.exponent == form.exponent:  # denormals included: both lie on the same grid
        shift = em.const(whole, drop)
        total = em.op("add", whole, size, _addend(em, whole, size, shift, away, mode, random))
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
    total = em.op("add", whole, mantissa, _addend(em, whole, mantissa, shift, away, mode, random))
    kept = em.op("lshr", whole, total, shift)
    # The kept bits hold the hidden one, so that they carry into the exponent by themselves.
    exponent = em.intrinsic("llvm.smax", whole, em.op("sub", whole, field, em.const(whole, 1)), em.const(whole, 0))
    return em.op("add", whole, em.op("shl", whole, exponent, em.const(whole, form.mantissa)), kept)


def _addend(em: Emitter, whole: str, size: str, shift: str, away: str, mode: str, random: str) -> str:
    """Answer what is added before ``shift`` bits are cut off, so that the cut is the rounding."""
    if mode == "rz":
        return em.const(whole, 0)
    if mode == "rs":
        return random
    one = em.op("shl", whole, em.const(whole, 1), shift)
    if mode in ("rm", "rp"):
        return em.select(away, whole, em.op("sub", whole, one, em.const(whole, 1)), em.const(whole, 0))
    half = em.op("lshr", whole, one, em.const(whole, 1))
    if mode == "rna":
        return half
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
