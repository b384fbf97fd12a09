"""Every CUresult of CUDA 13.5 as one enumeration, read from the table beside this file."""

import os
from enum import EnumType, IntEnum
from typing import TYPE_CHECKING

_TABLE = os.path.join(os.path.dirname(__file__), "statuses.tsv")
_OURS = "~"  # marks a string that no runtime answers, so it is worded here


def read_table() -> tuple[tuple[int, str, str], ...]:
    """Return the rows (code, CUDA name, string) of ``statuses.tsv`` in its order."""
    with open(_TABLE, encoding="utf-8") as table:
        rows = [line.rstrip("\n").split("\t") for line in table if not line.startswith("#")]
    return tuple((int(code), name, text.removeprefix(_OURS)) for code, name, text in rows)


_TEXTS = {code: (name, text) for code, name, text in read_table()}


class _FromTable(EnumType):
    """Tells type checkers that members exist though they are read from a table."""

    if TYPE_CHECKING:

        def __getattr__(cls, name: str) -> "Status": ...


class Status(IntEnum, metaclass=_FromTable):
    """A CUresult: ``Status.INVALID_VALUE == 1``; the names drop ``CUDA_`` and ``ERROR_``."""

    _ignore_ = "_number _row"  # members from a loop: the recipe of the enum documentation
    for _number, _row in _TEXTS.items():
        vars()[_row[0].removeprefix("CUDA_").removeprefix("ERROR_")] = _number

    @property
    def cuda_name(self) -> str:
        """The C name, such as ``CUDA_ERROR_INVALID_VALUE``."""
        return _TEXTS[int(self)][0]

    @property
    def text(self) -> str:
        """The string that ``cuGetErrorString`` answers, such as ``invalid argument``."""
        return _TEXTS[int(self)][1]
