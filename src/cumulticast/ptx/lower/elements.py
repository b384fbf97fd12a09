"""The elements that atomic and multicast arithmetic works on, numbered as arithmetic.h does."""

from __future__ import annotations

import enum

from cumulticast.ptx.syntax import TYPE_BITS


class Element(enum.IntEnum):
    """What is combined; B… are bits, exchanged or compared as a whole."""

    F32 = 0
    F64 = 1
    F16 = 2
    BF16 = 3
    U32 = 4
    S32 = 5
    U64 = 6
    S64 = 7
    E4M3 = 8
    E5M2 = 9
    B16 = 10
    B32 = 11
    B64 = 12
    B128 = 13


class Operation(enum.IntEnum):
    """What is done."""

    ADD = 0
    MIN = 1
    MAX = 2
    AND = 3
    OR = 4
    XOR = 5
    INC = 6
    DEC = 7
    EXCH = 8
    CAS = 9


OPERATIONS = {operation.name.lower(): operation for operation in Operation}
_PACKED = {"f16": Element.F16, "bf16": Element.BF16, "e4m3": Element.E4M3, "e5m2": Element.E5M2}


def element_of(kind: str, operation: Operation) -> tuple[Element, int]:
    """Answer which elements a PTX type is made of, and how many: ``f16x2`` is two of F16."""
    name, _, times = kind.partition("x")
    if name in _PACKED:
        return _PACKED[name], int(times or 1)
    if operation in (Operation.EXCH, Operation.CAS):
        return Element[f"B{TYPE_BITS[kind]}"], 1
    if kind[0] == "b":
        return Element[f"U{TYPE_BITS[kind]}"], 1
    return Element[kind.upper()], 1
