"""The element types and operations of multimem, as data.

Source: PTX ISA, `multimem.ld_reduce` and `multimem.red`, as ptxas 13.5 accepts them (rules X9 to X14).
"""

from dataclasses import dataclass

from cumulticast.sim._native import lib

OPERATIONS: dict[str, int] = {
    "add": lib.OPERATION_ADD,
    "min": lib.OPERATION_MIN,
    "max": lib.OPERATION_MAX,
    "and": lib.OPERATION_AND,
    "or": lib.OPERATION_OR,
    "xor": lib.OPERATION_XOR,
}

_ADD = ("add",)
_ORDER = ("min", "max")
_BITS = ("and", "or", "xor")


@dataclass(frozen=True, slots=True)
class Element:
    """One element type.

    Attributes
    ----------
    name
        The type in PTX, without its dot.
    size
        Bytes; also the alignment that an address must have (X4).
    code
        The number C knows it by.
    load_reduce, reduce
        The operations that `multimem.ld_reduce` and `multimem.red` have for it. They agree: `red` of f16 and
        bf16 has min and max in its vector forms, which ptxas accepts although the text lists add alone (X14).
        The bit-wise operations are those of b32 and b64 (X9).
    """

    name: str
    size: int
    code: int
    load_reduce: tuple[str, ...]
    reduce: tuple[str, ...]


def _element(name: str, size: int, code: int, operations: tuple[str, ...]) -> Element:
    return Element(name, size, code, load_reduce=operations, reduce=operations)


DTYPES: dict[str, Element] = {
    element.name: element
    for element in (
        _element("f32", 4, lib.ELEMENT_F32, _ADD),
        _element("f64", 8, lib.ELEMENT_F64, _ADD),
        _element("f16", 2, lib.ELEMENT_F16, _ADD + _ORDER),
        _element("bf16", 2, lib.ELEMENT_BF16, _ADD + _ORDER),
        _element("u32", 4, lib.ELEMENT_U32, _ADD + _ORDER + _BITS),
        _element("s32", 4, lib.ELEMENT_S32, _ADD + _ORDER + _BITS),
        _element("u64", 8, lib.ELEMENT_U64, _ADD + _ORDER + _BITS),
        _element("s64", 8, lib.ELEMENT_S64, _ORDER + _BITS),
    )
}


def element(dtype: str) -> Element:
    """Return the element type of a name.

    Raises
    ------
    ValueError
        For a name that is none of `DTYPES`.
    """
    if dtype not in DTYPES:
        raise ValueError(f"multimem has no type {dtype!r}; its types are {', '.join(DTYPES)}")
    return DTYPES[dtype]


def operation(instruction: str, dtype: str, op: str, legal: tuple[str, ...]) -> int:
    """Return the number C knows an operation by.

    Raises
    ------
    ValueError
        Where the instruction has no such operation for this type; the message names those it has.
    """
    if op not in legal:
        raise ValueError(f"multimem.{instruction} has no {op!r} for {dtype}; it has {', '.join(legal)}")
    return OPERATIONS[op]
