"""Modifiers that need a newer target or version wherever they stand, and rules between them."""

from __future__ import annotations

from ..versions import Target
from .notation import BITS

#: (least target, least version) of a word.
SINCE: dict[str, tuple[int, tuple[int, int]]] = {
    "cluster": (90, (7, 8)),
    "shared::cluster": (90, (7, 8)),
    "shared::cta": (0, (7, 8)),
    "param::entry": (0, (8, 3)),
    "param::func": (0, (8, 3)),
    "L2::cache_hint": (80, (7, 4)),
    "L2::64B": (75, (7, 4)),
    "L2::128B": (75, (7, 4)),
    "L2::256B": (80, (7, 4)),
}
_SHARED = ("shared", "shared::cta", "shared::cluster")
_ELSEWHERE = (*_SHARED, "local", "const", "param", "param::entry", "param::func")
_GLOBAL_WORDS = ("L2::cache_hint", "L2::64B", "L2::128B", "L2::256B")
_WIDE_VERSION = (8, 8)


def missing(modifiers: tuple[str, ...], target: Target, version: tuple[int, int]) -> str:
    """Say what a target or a version lacks for one of the words; empty if nothing."""
    for word in modifiers:
        sm, since = SINCE.get(word, (0, (0, 0)))
        if target.sm < sm:
            return f".{word} needs .target sm_{sm} or higher"
        if version < since:
            return f".{word} needs .version {since[0]}.{since[1]} or later"
    return ""


def wrong(opcode: str, modifiers: tuple[str, ...], target: Target, version: tuple[int, int]) -> str:
    """Say what is wrong with the words of an instruction whose form exists; empty if nothing."""
    reason = missing(modifiers, target, version)
    if not reason and opcode in ("ld", "st", "ldu", "mov"):
        reason = wrong_vector(opcode, modifiers, target, version)
    return reason or wrong_hint(modifiers)


def wrong_vector(opcode: str, modifiers: tuple[str, ...], target: Target, version: tuple[int, int]) -> str:
    """Say what is wrong with a vector of ld, st, mov: 128 bits at most, from sm_100 on 256; empty if nothing."""
    bits = vector_bits(modifiers)
    wide = bits == 256
    if wide and "b128" in modifiers:
        return "vector too large: 128 bits of .b128 are one register"
    if opcode == "mov" and wide:
        return "vector too large: mov moves 128 bits"
    halves = opcode == "st" and bits == 128
    if ("v8" in modifiers and not wide and not halves) or bits > 256:
        return "vector too large: v8 is for elements of 32 bits, v4 and v2 for 64 and less"
    if (wide or "v8" in modifiers) and (target.sm < 100 or version < _WIDE_VERSION):
        return "vectors of 256 bits and of 8 need .target sm_100 or higher and .version 8.8"
    if any(word.startswith("L2::evict") for word in modifiers) and not wide:
        return "L2 eviction needs a vector of 256 bits: .v8.b32 or .v4.b64"
    if wide and not set(_ELSEWHERE).isdisjoint(modifiers):
        return "vectors of 256 bits are for global memory"
    return ""


def vector_bits(modifiers: tuple[str, ...]) -> int:
    """Give the bits that a memory instruction moves."""
    width = next((int(word[1:]) for word in modifiers if word in ("v2", "v4", "v8")), 1)
    return width * next((BITS[word] for word in modifiers if word in BITS), 0)


def wrong_hint(modifiers: tuple[str, ...]) -> str:
    """Say what is wrong with cache words; empty if nothing."""
    if set(_ELSEWHERE).isdisjoint(modifiers) or "global" in modifiers:
        return ""
    odd = next((word for word in modifiers if word in _GLOBAL_WORDS), "")
    return f".{odd} is for global memory" if odd else ""
