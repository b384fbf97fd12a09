"""cvt: hands a conversion to the file of its types."""

from __future__ import annotations

from cumulticast.ptx.lower import convert_float, convert_integer
from cumulticast.ptx.lower.by_type import FLOAT_TYPES
from cumulticast.ptx.lower.emitter import Emitter, lowers
from cumulticast.ptx.syntax import Instruction


@lowers("cvt")
def lower_cvt(em: Emitter, ins: Instruction) -> None:
    """Convert between integers, or by way of floats."""
    if any(word in FLOAT_TYPES for word in ins.types):
        convert_float.convert(em, ins)
    elif ins.has("pack"):
        convert_integer.pack(em, ins)
    else:
        convert_integer.convert(em, ins)
