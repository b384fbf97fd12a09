"""Which form an instruction's modifiers make, and what to say when they make none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

from ..versions import Target, has
from . import book
from .notation import BITS, Choice, Form

#: First words of what is not simulated, whatever follows; "*" stands for any word in between.
UNSIMULATED: tuple[tuple[str, ...], ...] = (
    ("wgmma",),
    ("tcgen05",),
    ("wmma",),
    ("tex",),
    ("tld4",),
    ("txq",),
    ("istypep",),
    ("suld",),
    ("sust",),
    ("sured",),
    ("suq",),
    ("tensormap",),
    ("clusterlaunchcontrol",),
    ("mma", "sp"),
    ("mma", "sp::ordered_metadata"),
    ("mma", "block_scale"),
    ("mma", "kind::f8f6f4"),
    ("cp", "tensor"),
    ("cp", "ignore_oob"),
    ("alloca",),
    ("stacksave",),
    ("stackrestore",),
    ("isspacep", "const"),
    ("fence", "tensormap::generic"),
)

#: Words of forms that exist and are not simulated: stochastic rounding, scaled and some small formats.
UNSIMULATED_WORDS = frozenset(
    [
        *("e2m1x4", "e2m3x4", "e3m2x4", "s2f6x2", "ue5m3x2", "u8x4", "s8x4", "rs", "scaled::n2::ue8m0"),
        *("b8x16", "b6x16_p32", "b4x16_p64", "e2m1", "e2m3", "e3m2"),
    ]
)

#: The video instructions on one number; those on two and four are simulated.
_VIDEO = tuple(f"v{name}" for name in ("add", "sub", "absdiff", "min", "max", "shl", "shr", "mad", "set"))


def unsimulated(opcode: str, modifiers: tuple[str, ...]) -> bool:
    """Tell whether real hardware has the instruction and this simulator does not."""
    if opcode in _VIDEO or (
        opcode in ("cvt", "mma", "ldmatrix", "stmatrix", "add", "sub", "min", "max") and _odd(modifiers)
    ):
        return True
    return any(opcode == first and set(rest) <= set(modifiers) for first, *rest in UNSIMULATED)


def _odd(modifiers: tuple[str, ...]) -> bool:
    return not UNSIMULATED_WORDS.isdisjoint(modifiers)


def fitting(opcode: str, modifiers: tuple[str, ...]) -> list[Form]:
    """Give the forms that these modifiers make, whatever the target."""
    return [form for form in book.forms(opcode) if fits(form, modifiers)]


def exists(opcode: str) -> bool:
    """Tell whether there is an instruction of this name."""
    return opcode in book.rows()


def fits(form: Form, modifiers: tuple[str, ...]) -> bool:
    """Tell whether the modifiers make this form."""
    return _distance(form, modifiers) == 0


def _distance(form: Form, modifiers: tuple[str, ...]) -> int:
    """Count the words that are wrong, too many or missing."""
    head = len(form.head)
    wrong = 0 if modifiers[:head] == form.head else 2
    rest = modifiers[head:] if not wrong else [word for word in modifiers if word not in form.head]
    types = [word for word in rest if word in BITS]
    wrong += abs(len(types) - len(form.types))
    wrong += sum(word not in choice for word, choice in zip(types, form.types, strict=False))
    return wrong + _misplaced(form.choices, [word for word in rest if word not in BITS])


def _misplaced(choices: Iterable[Choice], words: list[str]) -> int:
    """Count words that no open choice takes, and choices that must be made and are not."""
    left, wrong = list(choices), 0
    for word in words:
        place = next((choice for choice in left if word in choice.words), None)
        if place is None:
            wrong += 1
        else:
            left.remove(place)
    return wrong + sum(not choice.optional for choice in left)


def nearest(opcode: str, modifiers: tuple[str, ...]) -> str:
    """Name the form that differs least from these modifiers."""
    best = min(book.forms(opcode), key=lambda form: _distance(form, modifiers))
    return best.text


def nearest_opcode(opcode: str) -> str:
    """Name the instruction that is written most alike; empty if none is."""
    near = difflib.get_close_matches(opcode, list(islice(book.rows(), 1000)), n=1)
    return near[0] if near else ""


def missing(form: Form, target: Target, version: tuple[int, int]) -> str:
    """Say what a target or a version lacks for a form; empty if nothing."""
    if version < form.since:
        return f"needs .version {form.since[0]}.{form.since[1]} or later"
    for need in form.needs:
        if not has(target, need):
            return f"needs .target sm_{need} or higher" if need.isdigit() else f"does not exist on .target {target}"
    return ""
