"""How the table of instruction forms is written, and what it is read into.

One row is one form, close to the PTX ISA's own notation::

    add .RND? .ftz? .sat? .f32          =T T T
    mad.hi .sat .s32                    =T T T T
    set .FCMP .u32|s32|f32 .f32         =T U U
    min .ftz? .NaN? .f32                =T T T T                    @100 @8.8

* The first word is the opcode; words glued to it (``mad.hi``, ``lop3``) come right behind it, the first of all.
* ``.a|b`` is one modifier out of several, ``?`` behind it makes it optional; a name in capitals is a set of ``SETS``.
  Modifiers may be written in any order, types among themselves in theirs: ptxas reads them so.
* Then the operands. ``T`` is a value of the first type modifier, ``U`` of the second, ``V``, ``W``; ``2T`` is twice as
  wide as T; ``b32`` is a value of that type. ``=`` a destination; ``~`` a register may be wider (ld, st, cvt); ``*`` a
  vector as ``.v2``, ``.v4``, ``.v8`` say; ``4*`` a vector of four; ``|P`` a second, optional destination (``|P!``: not
  optional); ``_`` may be left out by writing ``_``; ``?`` may be missing.
  ``[]`` an address, ``#`` a constant, ``:`` a label, ``M`` what mov moves, ``A`` what is an address without brackets,
  ``H`` the cache policy that ``.L2::cache_hint`` asks for, ``R`` a register of the first type and nothing else.
* ``@90`` the least compute capability times ten, ``@8.8`` the least ``.version``, ``@name`` a set of targets of
  ``versions.TARGETS``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

from ..syntax import TYPE_BITS

#: Types that only cvt and mma know.
OTHER_TYPES = {
    "e2m1": 4,
    "e2m1x2": 8,
    "e2m1x4": 16,
    "e2m3": 8,
    "e3m2": 8,
    "e2m3x2": 16,
    "e3m2x2": 16,
    "e2m3x4": 32,
    "e3m2x4": 32,
    "ue8m0x2": 16,
    "u8x4": 32,
    "s8x4": 32,
    "s2f6x2": 16,
    "ue5m3x2": 16,
    "u4": 4,
    "s4": 4,
    "b1": 1,
}

BITS = {**TYPE_BITS, **OTHER_TYPES}

SETS = {
    "RND": "rn rz rm rp",
    "INT": "rni rzi rmi rpi",
    "EQ": "eq ne",
    "SCMP": "eq ne lt le gt ge",
    "UCMP": "eq ne lt le gt ge lo ls hi hs",
    "FCMP": "eq ne lt le gt ge equ neu ltu leu gtu geu num nan",
    "BOOL": "and or xor",
    "I16": "u16 s16",
    "I32": "u32 s32",
    "I64": "u64 s64",
    "I": "u16 u32 u64 s16 s32 s64",
    "S": "s16 s32 s64",
    "U": "u16 u32 u64",
    "B": "b16 b32 b64",
    "SCOPE": "cta cluster gpu sys",
    "VEC": "v2 v4",
    "LDTYPE": "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64",
    "INTEGER": "u8 u16 u32 u64 s8 s16 s32 s64",
    "VECTOR": "v2 v4 v8",
    "GLOBAL": "global",
    "MEMSPACE": "global shared shared::cta shared::cluster",
    "ANYSPACE": "const global local param param::entry param::func shared shared::cta shared::cluster",
    "STSPACE": "global local param param::func shared shared::cta shared::cluster",
    "GENSPACE": "global shared shared::cta shared::cluster",
    "SHARED": "shared shared::cta shared::cluster",
    "COP": "ca cg cs lu cv",
    "WOP": "wb cg cs wt",
    "L1E": "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate",
    "L2E": "L2::evict_normal L2::evict_first L2::evict_last",
    "PRIMARY": "L2::evict_normal L2::evict_first L2::evict_last L2::evict_unchanged",
    "SECOND": "L2::evict_first L2::evict_unchanged",
    "HINT": "L2::cache_hint",
    "L2P": "L2::64B L2::128B L2::256B",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """One modifier of a form: the words it can be, and whether it can be left out."""

    words: frozenset[str]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """One operand of a form.

    Attributes
    ----------
    kind
        value, address, constant, label, move, pointer, policy, register or sink (``_`` and nothing else).
    type
        A type, or T, U, V, W for those of the modifiers.
    scale
        The value is so many times as wide as the type.
    pair
        ``|P`` or ``|P!`` where a predicate may or must be a second destination.
    count
        0 a single value; 1 as the vector modifier says; else a vector of so many.
    """

    kind: str
    type: str = ""
    scale: int = 1
    count: int = 0
    destination: bool = False
    wider: bool = False
    pair: str = ""
    sink: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """One row of the table.

    Attributes
    ----------
    head
        The words right behind the opcode.
    needs
        Sets of targets that have it, all of which must hold; "90" is every one from sm_90 on.
    since
        The least ``.version``.
    text
        The row without its operands, for messages.
    """

    opcode: str
    head: tuple[str, ...]
    choices: tuple[Choice, ...]
    types: tuple[frozenset[str], ...]
    shapes: tuple[Shape, ...]
    needs: tuple[str, ...]
    since: tuple[int, int]
    text: str


_SHAPE = re.compile(
    r"(?P<destination>=)?(?P<wider>~)?(?P<count>\d?\*)?(?P<scale>\d)?(?P<core>\[\]|\#|:|[MAHR]|_|[TUVW]|[a-z]\w*?)"
    r"(?P<pair>\|P!?)?(?P<sink>_)?(?P<optional>\?)?\Z"
)
_KINDS = {
    "[]": "address",
    "#": "constant",
    ":": "label",
    "M": "move",
    "A": "pointer",
    "H": "policy",
    "R": "register",
    "_": "sink",
}


def read_row(row: str) -> list[Form]:
    """Read one row of the table: one form for each of the heads that it names."""
    first, *words = row.split()
    opcode, *heads = first.split(".")
    return [_read(".".join((opcode, *head)), words) for head in product(*(head.split("|") for head in heads))]


def _read(first: str, words: list[str]) -> Form:
    opcode, *head = first.split(".")
    modifiers = [_choice(word) for word in words if word[0] == "."]
    needs = [word[1:] for word in words if word[0] == "@"]
    versions = [tuple(map(int, word.split("."))) for word in needs if "." in word]
    return Form(
        opcode,
        tuple(head),
        tuple(one for one in modifiers if not one.words <= BITS.keys()),
        tuple(one.words for one in modifiers if one.words <= BITS.keys()),
        tuple(_shape(word) for word in words if word[0] not in ".@"),
        tuple(word for word in needs if "." not in word),
        (versions[0][0], versions[0][1]) if versions else (0, 0),
        first + "".join(_spelled(word) for word in words if word[0] == "."),
    )


def _choice(word: str) -> Choice:
    names = word[1:].removesuffix("?").split("|")
    words = [one for name in names for one in SETS.get(name, name).split()]
    return Choice(frozenset(words), word.endswith("?"))


def _spelled(word: str) -> str:
    """Write a modifier for a message: all its words, in braces if it is optional."""
    choice = "|".join(SETS.get(name, name).replace(" ", "|") for name in word[1:].removesuffix("?").split("|"))
    return f"{{.{choice}}}" if word[-1] == "?" else f".{choice}"


def _shape(word: str) -> Shape:
    found = _SHAPE.match(word)
    if found is None:
        raise ValueError(f"the table of forms has an operand that means nothing: {word}")
    count = found["count"]
    return Shape(
        _KINDS.get(found["core"], "value"),
        _type_of(found["core"]),
        int(found["scale"] or 1),
        int(count[:-1] or 1) if count else 0,
        found["destination"] is not None,
        found["wider"] is not None,
        found["pair"] or "",
        found["sink"] is not None,
        found["optional"] is not None,
    )


def _type_of(core: str) -> str:
    return "T" if core in "MR" else "" if core in _KINDS else core
