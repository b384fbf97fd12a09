"""Bytes as UTF-8, whatever they come as: compressed by gzip (old logs are), UTF-16 with and without a mark, UTF-32."""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GZIP = b"\x1f\x8b"
EMPTY, NO_TEXT = "is empty", "is no text"
_LOOK = 1 << 16  # bytes by which a kind is told
_CONTROLS = bytes({*range(32), 127} - set(b"\0\a\b\t\n\v\f\r\x1b"))  # that no text and no terminal has


def utf8(stream: BinaryIO, block: int) -> Iterator[bytes]:
    """Answer a stream as UTF-8, in blocks of about ``block`` bytes; what has no mark is left as it is.

    What is damaged is read as far as it goes.
    """
    pieces = _pieces(stream, block)
    first = next(pieces, b"")
    if first.startswith(_GZIP):
        pieces = _unzipped(_again(first, pieces), block)
        first = next(pieces, b"")
    encoding = _encoding(first)
    whole = _again(first, pieces)
    return whole if encoding is None else _decoded(whole, encoding)


def lack(first: bytes) -> str | None:
    """Say why a text that begins so is none: it is empty, or no text. None when it is one."""
    look = first[:_LOOK].replace(b"\0", b"")  # a crash leaves whole blocks of zeros in a log
    if not look.strip():
        return EMPTY
    strange = len(look) - len(look.translate(None, _CONTROLS))
    return NO_TEXT if strange * 20 > len(look) else None


def _pieces(stream: BinaryIO, block: int) -> Iterator[bytes]:
    while piece := stream.read(block):
        yield piece


def _again(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _unzipped(pieces: Iterable[bytes], block: int) -> Iterator[bytes]:
    """Decompress, never more than a block at once; several members are one text."""
    member = zlib.decompressobj(wbits=31)
    for piece in pieces:
        rest = piece
        while rest:
            try:
                out = member.decompress(rest, block)
            except zlib.error:
                return
            if out:
                yield out
            rest = member.unused_data if member.eof else member.unconsumed_tail
            if member.eof:
                member = zlib.decompressobj(wbits=31)


def _encoding(first: bytes) -> str | None:
    """Tell by the mark, or by where the zero bytes of mostly Latin letters are."""
    marked = next((name for mark, name in _MARKS if first.startswith(mark)), None)
    if marked is not None:
        return marked
    look = first[: _LOOK & ~1]
    zeros = [look[side::2].count(0) * 2 for side in (0, 1)]
    most = len(look) * 0.8
    return "utf-16-be" if zeros[0] > most > zeros[1] else "utf-16-le" if zeros[1] > most > zeros[0] else None


def _decoded(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", "replace")
    yield decoder.decode(b"", True).encode("utf-8", "replace")
