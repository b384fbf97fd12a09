"""Read inputs as a stream and pick the lines that may tell something.

100 MB of NCCL log hold a handful of telling lines. So lines that NCCL repeats by the thousand and that never tell
anything are blanked first, a block is then searched as bytes for the words that the signs name (``bytes.find`` runs at
a gigabyte a second), and only lines with such a word reach the signs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from cumulticast.why.decoding import NO_TEXT, lack, utf8
from cumulticast.why.observation import Place
from cumulticast.why.prefixes import Stripped, strip

BLOCK = 4 << 20
AROUND = 64 << 10  # bytes of context that stay readable before and behind the lines of a block
LONGEST = 4000  # characters of a line that are looked at
_HARD_SPACE = "\u00a0".encode()  # what web pages put in the place of spaces
#: What NCCL says of every channel and every collective.
_CHATTER = re.compile(
    rb"(?m)^[^\n]*?NCCL INFO (?:Channel |Trees? |Ring |\w+: opCount |Connected all |P2P Chunksize |threadThresholds "
    rb"|Setting affinity |\d+ coll channels|NET/|Using network |Bootstrap)[^\n]*"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line and its surroundings.

    Attributes
    ----------
    place
        Where it stands.
    raw
        The line as it stands.
    words
        The telling words that were found in it.
    """

    place: Place
    raw: str
    words: frozenset[str]
    _block: bytes
    _start: int
    _end: int

    @property
    def seen(self) -> Stripped:
        """The line without prefixes, and what these told."""
        return strip(self.raw)

    @property
    def text(self) -> str:
        """The line without prefixes."""
        return self.seen.text

    def following(self, count: int) -> list[Line]:
        """Answer up to ``count`` lines behind this one."""
        lines: list[Line] = []
        start, number = self._end + 1, self.place.number + 1
        while len(lines) < count and start < len(self._block):
            lines.append(made(self._block, start, number, self.place.file))
            start, number = lines[-1]._end + 1, number + 1
        return lines

    def preceding(self, count: int) -> list[Line]:
        """Answer up to ``count`` lines before this one, the nearest first."""
        lines: list[Line] = []
        end, number = self._start - 1, self.place.number - 1
        while len(lines) < count and end >= 0 and number > 0:
            start = self._block.rfind(b"\n", 0, end) + 1
            lines.append(made(self._block, start, number, self.place.file))
            end, number = start - 1, number - 1
        return lines


def made(
    block: bytes, start: int, number: int, file: str, words: frozenset[str] = frozenset(), hit: int | None = None
) -> Line:
    """Make the line that begins at ``start``; ``hit`` is where its first telling word is."""
    end = block.find(b"\n", start)
    end = len(block) if end < 0 else end
    begin = start if hit is None else _begin(block, start, end, hit)
    text = block[begin : min(end, begin + 4 * LONGEST)].decode("utf-8", "replace").rstrip("\r")[:LONGEST]
    return Line(Place(file, number), text, words, block, start, end)


def _begin(block: bytes, start: int, end: int, hit: int) -> int:
    """Answer where to read a line from: behind progress bars, which end with CR, and not too far before the hit."""
    begin = max(start, block.rfind(b"\r", start, hit) + 1)
    return begin if end - begin <= LONGEST else max(begin, hit - LONGEST // 2)


def telling_lines(
    stream: BinaryIO,
    file: str,
    words: Callable[[], Sequence[str]],
    lacking: Callable[[str], None] | None = None,
) -> Iterator[Line]:
    """Answer the lines of a stream that hold one of the words (lower case), in their order.

    Parameters
    ----------
    stream
        The input; it is read once, in blocks.
    file
        The name by which its lines are cited.
    words
        What to look for, asked for each block; case does not matter.
    lacking
        Told if the input is no text, and why.
    """
    number = 1  # of the line at `fresh`
    for block, fresh, last in _blocks(_heard(stream, lacking)):
        stop = len(block) if last else block.rfind(b"\n", 0, max(fresh, len(block) - AROUND)) + 1
        needles = {word: word.encode() for word in words()}
        for start, (found, hit) in _hits(block, fresh, stop, needles):
            number += block.count(b"\n", fresh, start)
            fresh = start
            yield made(block, start, number, file, frozenset(found), hit)
        number += block.count(b"\n", fresh, stop)


def _heard(stream: BinaryIO, lacking: Callable[[str], None] | None) -> Iterator[bytes]:
    """Answer a stream as UTF-8; of what begins as no text does nothing is read: a program has words of all kinds."""
    for position, piece in enumerate(utf8(stream, BLOCK)):
        why = lack(piece) if position == 0 else None
        if lacking is not None and why is not None:
            lacking(why)
        if why == NO_TEXT:
            return
        yield piece.replace(_HARD_SPACE, b" ")


def _blocks(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, int, bool]]:
    """Cut a text into blocks that overlap: the bytes, where the unread lines begin, and whether it is the last."""
    block, fresh = b"", 0
    for piece, last in _with_last(pieces):
        block += _CHATTER.sub(b"", piece)
        yield block, fresh, last
        stop = block.rfind(b"\n", 0, max(fresh, len(block) - AROUND)) + 1
        stop = max(stop, fresh)
        keep = max(0, block.rfind(b"\n", 0, max(0, stop - AROUND)) + 1)
        block, fresh = block[keep:], stop - keep


def _with_last(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Say of each piece whether it is the last; an empty stream has one empty piece."""
    held = b""
    for piece in pieces:
        if held:
            yield held, False
        held = piece
    yield held, True


def _hits(
    block: bytes, fresh: int, stop: int, needles: Mapping[str, bytes]
) -> Iterator[tuple[int, tuple[set[str], int]]]:
    """Answer where the lines with a needle begin, which needles they hold and where the first is, in order."""
    lower = block[fresh:stop].lower()
    found: dict[int, tuple[set[str], int]] = {}
    for word, needle in needles.items():
        at = lower.find(needle)
        while at >= 0:
            start = lower.rfind(b"\n", 0, at) + 1
            words, first = found.get(start, (set[str](), at))
            found[start] = (words | {word}, min(first, at))
            end = lower.find(b"\n", at)
            at = -1 if end < 0 else lower.find(needle, end)
    for start in sorted(found):
        words, first = found[start]
        yield fresh + start, (words, fresh + first)
