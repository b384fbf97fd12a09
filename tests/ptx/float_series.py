"""Functions to some 60 digits by Python's decimal numbers: what approximations are compared with."""

from __future__ import annotations

from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

getcontext().prec = 60
LN2 = Decimal(2).ln()


def decimal(value: Fraction) -> Decimal:
    """Write a fraction as a decimal number."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def exp2(value: Fraction) -> Fraction:
    return Fraction((decimal(value) * LN2).exp())


def log2(value: Fraction) -> Fraction:
    return Fraction(decimal(value).ln() / LN2)


def tanh(value: Fraction) -> Fraction:
    """Answer tanh, by its series where 1 - e^-2x would lose digits."""
    if abs(value) < Fraction(1, 1 << 20):
        return value - value**3 / 3 + 2 * value**5 / 15
    power = (2 * decimal(value)).exp()
    return Fraction((power - 1) / (power + 1))


def sin(value: Fraction) -> Fraction:
    return Fraction(_series(decimal(value), 1))


def cos(value: Fraction) -> Fraction:
    return Fraction(_series(decimal(value), 0))


def _series(value: Decimal, first: int) -> Decimal:
    """Sum Taylor's series of sin (first term x) or cos (first term 1), with digits for what cancels."""
    with localcontext() as context:
        context.prec = 80 + int(abs(value))
        term = value if first else Decimal(1)
        total, n = term, first
        while abs(term) > Decimal(10) ** -70 or n < abs(value):
            term = -term * value * value / ((n + 1) * (n + 2))
            total, n = total + term, n + 2
        return +total
