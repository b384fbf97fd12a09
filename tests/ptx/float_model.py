"""Floating point in exact arithmetic on fractions: what the lowering is compared with.

A number is a Fraction, or one of the words "nan", "inf", "-inf", "-0". Nothing here is computed in floating point.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

Number = Fraction | str


@dataclass(frozen=True)
class Layout:
    exponent: int
    mantissa: int
    infinite: bool = True
    nan: int = 0

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def least(self) -> int:
        """The exponent of the last place of a subnormal."""
        return 2 - (1 << (self.exponent - 1)) - self.mantissa


LAYOUTS = {
    "f16": Layout(5, 10, nan=0x7FFF),
    "bf16": Layout(8, 7, nan=0x7FFF),
    "tf32": Layout(8, 10, nan=0x3FFFF),
    "f32": Layout(8, 23, nan=0x7FFFFFFF),
    "f64": Layout(11, 52, nan=0xFFF8000000000000),
    "e5m2": Layout(5, 2, nan=0x7F),
    "e4m3": Layout(4, 3, False, nan=0x7F),
    "e3m2": Layout(3, 2, False),
    "e2m3": Layout(2, 3, False),
    "e2m1": Layout(2, 1, False),
}


def decode(bits: int, name: str) -> Number:
    """Answer the number that bits mean."""
    form = LAYOUTS[name]
    negative, size = bits >> (form.width - 1) & 1, bits & ((1 << (form.width - 1)) - 1)
    field, mantissa = size >> form.mantissa, size & ((1 << form.mantissa) - 1)
    if form.infinite and field == (1 << form.exponent) - 1:
        return "nan" if mantissa else ("-inf" if negative else "inf")
    if form.nan and not form.infinite and size == form.nan:
        return "nan"
    value = Fraction(mantissa + (1 << form.mantissa if field else 0)) * Fraction(2) ** (form.least + max(field, 1) - 1)
    return "-0" if negative and value == 0 else (-value if negative else value)


def largest(name: str) -> int:
    """Answer the bits of the greatest finite number of a format."""
    form = LAYOUTS[name]
    if form.infinite:
        return (((1 << form.exponent) - 1) << form.mantissa) - 1
    return (1 << (form.width - 1)) - (2 if form.nan else 1)


def encode(value: Number, name: str, mode: str = "rn", *, finite: bool = False) -> int:
    """Round a number to a format and answer its bits; ``finite``: overflow becomes the greatest finite number."""
    form = LAYOUTS[name]
    sign = 1 << (form.width - 1)
    if value == "nan":
        return form.nan or largest(name)
    if value == "-0":
        return sign
    finite = finite or not form.infinite
    if isinstance(value, str):
        return (sign if value == "-inf" else 0) | (largest(name) + (not finite))
    direction = _direction(mode, value < 0)
    code = _magnitude(abs(value), form, direction)
    if code > largest(name):
        code = largest(name) + (not finite and direction != "down")
    return code | (sign if value < 0 else 0)


def _direction(mode: str, negative: bool) -> str:
    """Translate a mode to what it does to the magnitude: rn, rna, up, down."""
    if mode in ("rn", "rna"):
        return mode
    return "up" if (mode == "rp" and not negative) or (mode == "rm" and negative) else "down"


def _magnitude(size: Fraction, form: Layout, direction: str) -> int:
    """Round a magnitude to a multiple of its last place in a format whose exponent has no upper end."""
    if size == 0:
        return 0
    top = size.numerator.bit_length() - size.denominator.bit_length()
    top -= size.numerator << max(-top, 0) < size.denominator << max(top, 0)  # now 2^top <= size < 2^(top + 1)
    place = max(form.least, top - form.mantissa)
    unit = size.denominator << max(place, 0)
    count, rest = divmod(size.numerator << max(-place, 0), unit)
    up = {"rn": 2 * rest > unit or (2 * rest == unit and count % 2), "rna": 2 * rest >= unit, "up": rest > 0}
    count += bool(up.get(direction))
    return ((place - form.least) << form.mantissa) + count  # the leading bit of count is the exponent's own


def plain(value: Number) -> Fraction:
    """Answer a finite number without the sign of its zero."""
    return Fraction(0) if value == "-0" else value  # type: ignore[return-value]


def is_infinite(value: Number) -> bool:
    return value in ("inf", "-inf")


def is_negative(value: Number) -> bool:
    return value in ("-0", "-inf") if isinstance(value, str) else value < 0


def negated(value: Number) -> Number:
    if isinstance(value, str):
        return {"nan": "nan", "inf": "-inf", "-inf": "inf", "-0": Fraction(0)}[value]
    return "-0" if value == 0 else -value


def signed(size: Number, negative: bool) -> Number:
    return negated(size) if negative else size


def add(a: Number, b: Number, mode: str = "rn") -> Number:
    if "nan" in (a, b) or (is_infinite(a) and is_infinite(b) and a != b):
        return "nan"
    if is_infinite(a) or is_infinite(b):
        return a if is_infinite(a) else b
    total = plain(a) + plain(b)
    if total:
        return total
    if plain(a) == 0 and is_negative(a) == is_negative(b):
        return a
    return "-0" if mode == "rm" else total


def multiply(a: Number, b: Number) -> Number:
    negative = is_negative(a) != is_negative(b)
    if "nan" in (a, b):
        return "nan"
    if is_infinite(a) or is_infinite(b):
        other = b if is_infinite(a) else a
        return "nan" if not is_infinite(other) and plain(other) == 0 else signed("inf", negative)
    return signed(abs(plain(a) * plain(b)), negative)


def divide(a: Number, b: Number) -> Number:
    negative = is_negative(a) != is_negative(b)
    if "nan" in (a, b) or (is_infinite(a) and is_infinite(b)):
        return "nan"
    if is_infinite(b):
        return signed(Fraction(0), negative)
    if not is_infinite(a) and plain(a) == plain(b) == 0:
        return "nan"
    if is_infinite(a) or plain(b) == 0:
        return signed("inf", negative)
    return signed(abs(plain(a) / plain(b)), negative)


def root(a: Number) -> Number:
    """Answer the square root, or something between it and the nearest 100-bit number: it rounds alike."""
    if a in ("nan", "inf", "-0"):
        return a
    if is_negative(a):
        return "nan"
    scale = 4**700
    square = plain(a) * scale
    floor = isqrt(int(square))
    exact = square.denominator == 1 and floor * floor == square
    return Fraction(2 * floor + (not exact), 2) / 2**700


def flush(bits: int, name: str) -> int:
    """Make a zero of a subnormal number."""
    form = LAYOUTS[name]
    sign = 1 << (form.width - 1)
    return bits & sign if bits & (sign - 1) < 1 << form.mantissa else bits


def is_tiny(value: Number, name: str, mode: str) -> bool:
    """Tell whether a result is less than every normal number when its exponent has no lower end (.ftz flushes it)."""
    if isinstance(value, str) or value == 0:
        return False
    form = LAYOUTS[name]
    lower = Layout(15, form.mantissa)
    code = _magnitude(abs(value), lower, _direction(mode, value < 0))
    return code < (form.least - lower.least + 1) << form.mantissa


def first_nan(rows: list[int], default: int) -> int:
    """Answer the first f64 that is NaN, made quiet."""
    return next((bits | 1 << 51 for bits in rows if decode(bits, "f64") == "nan"), default)


def fuse(a: Number, b: Number, c: Number, mode: str = "rn") -> Number:
    return add(multiply(a, b), c, mode)
