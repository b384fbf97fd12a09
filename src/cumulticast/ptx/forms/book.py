"""All rows of the table, by opcode; a row is read when somebody first asks for its opcode."""

from __future__ import annotations

from functools import cache

from . import (
    atomics,
    bulk,
    conversion,
    floating,
    integer,
    logic,
    matrix,
    memory,
    multimem,
    synchronisation,
    video,
)
from .notation import Form, read_row

_TABLES = (integer, floating, logic, conversion, video, memory, bulk, atomics, synchronisation, matrix, multimem)


@cache
def rows() -> dict[str, tuple[str, ...]]:
    """Give every row's text by opcode."""
    found: dict[str, list[str]] = {}
    for table in _TABLES:
        for row in table.ROWS.split("\n"):
            if row.strip():
                found.setdefault(row.split()[0].split(".")[0], []).append(row)
    return {opcode: tuple(rows) for opcode, rows in found.items()}


@cache
def forms(opcode: str) -> tuple[Form, ...]:
    """Give the forms of an opcode; none if there is no such instruction."""
    return tuple(one for row in rows().get(opcode, ()) for one in read_row(row))
