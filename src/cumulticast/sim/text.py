"""C strings whose address a program keeps: names and descriptions of statuses."""

from __future__ import annotations

import ctypes


class Texts:
    """Strings that live as long as the process."""

    def __init__(self) -> None:
        self._kept: dict[str, ctypes.Array[ctypes.c_char]] = {}

    def address(self, text: str) -> int:
        """Answer where the NUL-terminated text lies; the same text has one address."""
        if text not in self._kept:
            self._kept[text] = ctypes.create_string_buffer(text.encode())
        return ctypes.addressof(self._kept[text])


TEXTS = Texts()
