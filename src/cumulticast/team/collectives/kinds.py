"""Types and operations: what numpy, kernels/ and multimem call them, and what the switch can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: numpy's name → the type of kernels/.
KINDS = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "int32": "i32",
    "uint32": "u32",
    "int64": "i64",
    "uint64": "u64",
}
#: The user's name → (of kernels/, of multimem).
OPERATIONS = {"sum": ("sum", "add"), "min": ("least", "min"), "max": ("most", "max")}
#: (kind, multimem's operation) → what multimem.ld_reduce takes. PTX ISA, "multimem.ld_reduce": floats of 32 and 64 bits
#: have no min and max, and the sum of s64 is that of u64.
_SUMS = {
    "f32": "add.v4.f32",
    "f64": "add.f64",
    "f16": "add.acc::f32.v4.f16x2",
    "bf16": "add.acc::f32.v4.bf16x2",
    "i32": "add.s32",
    "u32": "add.u32",
    "i64": "add.u64",
    "u64": "add.u64",
}
_ORDERED = {"f16": "v4.f16x2", "bf16": "v4.bf16x2", "i32": "s32", "u32": "u32", "i64": "s64", "u64": "u64"}


@dataclass(frozen=True, slots=True)
class Reduction:
    """An operation on a type.

    Attributes
    ----------
    kind
        The type, as ``bf16``.
    operation
        What kernels/ calls the operation.
    form
        What multimem.ld_reduce calls both, None where it has no such form.
    """

    kind: str
    operation: str
    form: str | None


def reduction(dtype: Any, op: str) -> Reduction:
    """Find how a reduction is carried out.

    Raises
    ------
    TypeError, ValueError
        There is no such type or operation; the message says which there are.
    """
    kind = KINDS.get(dtype.name)
    if not dtype.isnative:
        raise TypeError(f"arrays of {dtype} cannot be reduced: the other byte order; {dtype.newbyteorder('=')} can")
    if kind is None:
        raise TypeError(f"arrays of {dtype.name} cannot be reduced; these can: {', '.join(KINDS)}")
    if op not in OPERATIONS:
        raise ValueError(f"op {op!r} is none of {', '.join(OPERATIONS)}")
    name, instruction = OPERATIONS[op]
    ending = _ORDERED.get(kind)
    form = _SUMS[kind] if op == "sum" else ending and f"{instruction}.{ending}"
    return Reduction(kind, name, form)
