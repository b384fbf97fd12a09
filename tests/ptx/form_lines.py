"""Instructions written from the table of forms: every operand right, the choices and types drawn."""

from __future__ import annotations

import random
from collections.abc import Sequence

from cumulticast.ptx.forms.notation import BITS, Form, Shape

#: Registers by width, as `KERNEL` declares them.
REGISTERS = {1: "%p", 8: "%c", 16: "%h", 32: "%r", 64: "%d", 128: "%q"}

KERNEL = """.version {version}
.target {target}
.address_size 64
.visible .entry k(.param .u64 p0, .param .u32 p1)
{{
.reg .pred %p<9>; .reg .b16 %h<12>; .reg .b32 %r<20>; .reg .b64 %d<12>; .reg .f32 %f<12>; .reg .f64 %g<12>;
.reg .b8 %c<12>; .reg .b128 %q<12>;
TAB: .branchtargets LAB; {line}
LAB:
ret;
}}
"""
_CONSTANTS = {"cp": "16", "discard": "128", "applypriority": "128", "fence": "128", "setmaxnreg": "64", "st": "0"}
_MATRICES = ("mma", "ldmatrix", "stmatrix")


def modifiers(form: Form, rng: random.Random, *, optional: float = 0.4) -> tuple[list[str], list[str]]:
    """Choose modifiers; answer all of them, and the types among them."""
    chosen = [
        rng.choice(sorted(choice.words)) for choice in form.choices if not choice.optional or rng.random() < optional
    ]
    types = [rng.choice(sorted(kind)) for kind in form.types]
    return [*form.head, *chosen, *types], types


def operands(form: Form, words: Sequence[str], types: Sequence[str], rng: random.Random) -> str:
    """Write operands that fit these modifiers."""
    written: list[str] = []
    for shape in form.shapes:
        if shape.optional and rng.random() < 0.5:
            break
        if shape.kind == "policy" and "L2::cache_hint" not in words:
            continue
        written.append(_operand(form, shape, words, types, len(written) + 1))
    return ", ".join(written)


def line(form: Form, rng: random.Random, *, optional: float = 0.4) -> str:
    """Write one instruction of a form."""
    words, types = modifiers(form, rng, optional=optional)
    return f"{'.'.join([form.opcode, *words])} {operands(form, words, types, rng)};"


def _operand(form: Form, shape: Shape, words: Sequence[str], types: Sequence[str], place: int) -> str:
    match shape.kind:
        case "policy":
            return "%d2"
        case "address":
            return "[%d1]"
        case "constant":
            return "1" if "wait_group" in words else _CONSTANTS.get(form.opcode, "1")
        case "label":
            return "TAB" if form.opcode == "brx" else "LAB"
        case "pointer":
            return "%d3"
        case "sink":
            return "_"
        case _:
            return _value(form, shape, words, types, place)


def _value(form: Form, shape: Shape, words: Sequence[str], types: Sequence[str], place: int) -> str:
    named = shape.type or "T"
    kind = types["TUVW".index(named)] if named in "TUVW" else named
    name = REGISTERS[BITS[kind] * shape.scale]
    count = shape.count
    if count == 1 and form.opcode not in _MATRICES:
        count = next((int(word[1:]) for word in words if word in ("v2", "v4", "v8")), 0)
    if count:
        return "{" + ", ".join(f"{name}{(i + place) % 8 + 1}" for i in range(count)) + "}"
    return f"{name}{place}|%p7" if shape.pair == "|P!" else f"{name}{place}"
