"""Sizes as people write them: ``2097152``, ``2MiB``, ``1.5GiB``."""

from __future__ import annotations

import argparse
import re
from fractions import Fraction

UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_UNITS = {unit.lower(): factor for unit, factor in UNITS.items()}


def parse_size(text: str) -> int:
    """Read a number of bytes, for argparse.

    Raises
    ------
    argparse.ArgumentTypeError
        It is none; the text says how sizes are written.
    """
    match = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write bytes or a unit: 2097152, 2MiB, 1.5GiB")
    size = Fraction(match[1]) * unit
    if size.denominator != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of bytes; nearest {round(size)}")
    return int(size)
