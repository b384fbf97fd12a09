"""What an mma is: its shape and types, the function of the runtime for it, and the word that tells that how."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cumulticast.ptx.lower.emitter import Emitter
from cumulticast.ptx.syntax import Instruction

#: Types of elements, numbered as enum mma_type in native/mma.h.
TYPES = ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "f32", "s32", "f64", "b1")
BITS = {
    **{"f16": 16, "bf16": 16, "tf32": 32, "f64": 64},
    **{"e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1},
}
#: Rounding of f64, numbered as in native/mma.h.
ROUNDINGS = ("rn", "rz", "rm", "rp")
_SHAPE = re.compile(r"m(\d+)n8k(\d+)")


@dataclass(frozen=True, slots=True)
class Form:
    """One form of mma.

    Attributes
    ----------
    m, k
        The shape; n is 8.
    d, a, b, c
        Types of elements.
    option
        What else it does, as MMA_OPTION in native/mma.h.
    """

    m: int
    k: int
    d: str
    a: str
    b: str
    c: str
    option: int = 0

    @property
    def quads(self) -> bool:
        """Tell whether it is the one shape that has four matrices in a warp."""
        return self.k == 4 and self.a == "f16"

    @property
    def blocks(self) -> int:
        """Answer the registers of B that a lane has: each holds 64 bits of f64, else 32."""
        return max(1, self.k * BITS[self.a] // (256 if self.a == "f64" else 128))

    @property
    def function(self) -> str:
        """Name the function of the runtime."""
        special = {"f64": "ptx_mma_double", "b1": "ptx_mma_bits"}.get(self.a, "ptx_mma")
        return "ptx_mma_quads" if self.quads else special

    @property
    def code(self) -> int:
        """Make the word that native/mma.h takes apart."""
        types = sum(TYPES.index(kind) << 4 * i for i, kind in enumerate((self.a, self.b, self.c, self.d)))
        return types | self.m // 8 << 16 | self.blocks << 18 | self.option << 21


def form_of(em: Emitter, ins: Instruction) -> Form:
    """Read an instruction's words."""
    shape = next((found for word in ins.modifiers if (found := _SHAPE.fullmatch(word))), None)
    kinds = [word for word in ins.modifiers if word in TYPES]
    if shape is None or len(kinds) != 4 or kinds[1] not in BITS or kinds[2] not in BITS:
        raise em.fail(f"{ins.name} is not simulated")
    d, a, b, c = kinds
    return Form(int(shape[1]), int(shape[2]), d, a, b, c, _option(ins, kinds))


def _option(ins: Instruction, kinds: list[str]) -> int:
    if kinds[1] == "f64":
        return next((ROUNDINGS.index(word) for word in ins.modifiers if word in ROUNDINGS), 0)
    if kinds[1] == "b1":
        return int(ins.has("xor"))
    if kinds[0] == "s32":
        return int(ins.has("satfinite"))
    layouts = [word == "col" for word in ins.modifiers if word in ("row", "col")]
    return sum(column << i for i, column in enumerate(layouts))
