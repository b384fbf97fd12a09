"""Directives that change nothing here (debug information, hints) and those of a function's head.

Source: PTX ISA, chapter "Directives".
"""

from __future__ import annotations

from . import expressions
from .cursor import Cursor

#: Of a function: ``.maxntid 256, 1, 1``; how many numbers each may have.
NUMBERED = {
    ".maxntid": 3,
    ".reqntid": 3,
    ".minnctapersm": 1,
    ".maxnctapersm": 1,
    ".maxnreg": 1,
    ".reqnctapercluster": 3,
    ".maxclusterrank": 1,
    ".abi_preserve": 1,
    ".abi_preserve_control": 1,
}
FLAGS = (".explicitcluster", ".blocksareclusters")


def skip_debug(cursor: Cursor) -> bool:
    """Step over ``.loc``, ``.file``, ``.section``, ``.pragma``; tell whether one stood there."""
    if cursor.kind == "section":
        _section(cursor)
    elif cursor.text == ".loc":
        _loc(cursor)
    elif cursor.text == ".file":
        _file(cursor)
    elif cursor.text == ".pragma":
        _pragma(cursor)
    else:
        return False
    return True


def _section(cursor: Cursor) -> None:
    if not cursor.text.endswith("}"):
        cursor.fail("a .section without end")
    cursor.at += 1


def _loc(cursor: Cursor) -> None:
    """``.loc 1 3 4, function_name $L__info_string0 + 4, inlined_at 1 2 3``: no semicolon ends it."""
    cursor.at += 1
    _numbers(cursor)
    while cursor.text == ",":
        cursor.at += 1
        word = cursor.name()
        if word == "function_name":
            cursor.name()
            if cursor.take("+"):
                cursor.next_of("number", "an offset")
        elif word == "inlined_at":
            _numbers(cursor)
        else:
            cursor.fail(f"unknown attribute {word!r} of .loc", cursor.at - 1)


def _numbers(cursor: Cursor) -> None:
    for _ in range(3):
        cursor.next_of("number", "a number")


def _file(cursor: Cursor) -> None:
    cursor.at += 1
    cursor.next_of("number", "a number")
    cursor.next_of("string", "a file name")
    while cursor.take(","):
        cursor.next_of("number", "a number")


def _pragma(cursor: Cursor) -> None:
    cursor.at += 1
    cursor.next_of("string", "a string")
    while cursor.take(","):
        cursor.next_of("string", "a string")
    cursor.expect(";")


def performance(cursor: Cursor, found: dict[str, tuple[int, ...]]) -> bool:
    """Read one directive of a function's head into ``found``; tell whether one stood there."""
    word = cursor.text
    if word in FLAGS:
        cursor.at += 1
        found[word[1:]] = ()
    elif word in NUMBERED:
        at = cursor.at
        cursor.at += 1
        found[word[1:]] = _arguments(cursor, NUMBERED[word], at)
    else:
        return False
    return True


def _arguments(cursor: Cursor, most: int, at: int) -> tuple[int, ...]:
    values = [expressions.whole(cursor)]
    while cursor.take(","):
        values.append(expressions.whole(cursor))
    if len(values) > most or min(values) < 0 or max(values) >= 1 << 31:
        cursor.fail(f"wrong numbers for {cursor.texts[at]}: {', '.join(map(str, values))}", at)
    return tuple(values)
