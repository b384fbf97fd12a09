"""Decompression of Zstandard frames (RFC 8878), as fatbins of CUDA 12.8 and later are compressed.

Python has none before 3.14. Dictionaries are not needed, and checksums are not looked at. Whatever is wrong with the
bytes: ValueError.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cumulticast.sim import zstd_entropy as entropy
from cumulticast.sim.zstd_entropy import Backward, Huffman, States

MAGIC = 0xFD2FB528
RAW, RLE, COMPRESSED, TREELESS = range(4)
PREDEFINED, SINGLE, DESCRIBED, REPEATED = range(4)

# Code → (least value, further bits): RFC 8878, tables 15 and 16; of offsets it is (1 << code, code).
LITERAL_LENGTHS = [(code, 0) for code in range(16)] + [
    *((16, 1), (18, 1), (20, 1), (22, 1), (24, 2), (28, 2), (32, 3), (40, 3), (48, 4), (64, 6)),
    *((1 << bits, bits) for bits in range(7, 17)),
]
MATCH_LENGTHS = [(code + 3, 0) for code in range(32)] + [
    *((35, 1), (37, 1), (39, 1), (41, 1), (43, 2), (47, 2), (51, 3), (59, 3), (67, 4), (83, 4), (99, 5)),
    *(((1 << bits) + 3, bits) for bits in range(7, 17)),
]


@dataclass(frozen=True, slots=True)
class Field:
    """One of the three numbers of a sequence: how its codes are described, and their usual distribution."""

    usual: tuple[int, ...]
    usual_log: int
    most_log: int


# RFC 8878, section 3.1.1.3.2.2
FIELDS = (
    Field((4, 3, *[2] * 11, 1, 1, 1, *[2] * 9, 3, 2, *[1] * 5, *[-1] * 4), 6, 9),
    Field((*[1] * 6, 2, 2, 2, *[1] * 15, *[-1] * 5), 5, 8),
    Field((1, 4, 3, *[2] * 6, *[1] * 37, *[-1] * 7), 6, 9),
)


@dataclass(slots=True)
class Frame:
    """What blocks leave to the next one, and what has come out so far."""

    size: int
    out: bytearray = field(default_factory=bytearray)
    offsets: list[int] = field(default_factory=lambda: [1, 4, 8])
    huffman: Huffman | None = None
    tables: list[States | None] = field(default_factory=lambda: [None, None, None])


def decompress(data: bytes, size: int) -> bytes:
    """Undo the compression of one frame that becomes ``size`` bytes.

    Raises
    ------
    ValueError
        It is no such frame.
    """
    frame = Frame(size)
    try:
        at, last = _header(data), False
        while not last and len(frame.out) <= size:
            head = data[at] | data[at + 1] << 8 | data[at + 2] << 16
            last, kind, length = bool(head & 1), head >> 1 & 3, head >> 3
            at = _block(frame, data, at + 3, kind, length)
    except (IndexError, OverflowError):
        raise ValueError("the frame ends too early") from None
    if len(frame.out) != size:
        raise ValueError(f"the frame holds {len(frame.out)} bytes, not {size}")
    return bytes(frame.out)


def _header(data: bytes) -> int:
    """Check the head of a frame, and answer where its blocks begin."""
    if int.from_bytes(data[:4], "little") != MAGIC:
        raise ValueError("it is no frame of zstd")
    flags = data[4]
    single = flags >> 5 & 1
    dictionary = (0, 1, 2, 4)[flags & 3]
    if any(data[6 - single : 6 - single + dictionary]):
        raise ValueError("it needs a dictionary")
    return 6 - single + dictionary + (single, 2, 4, 8)[flags >> 6]


def _block(frame: Frame, data: bytes, at: int, kind: int, length: int) -> int:
    """Add what a block holds, and answer where it ends."""
    if kind == RLE:
        frame.out += data[at : at + 1] * length
        return at + 1
    content = data[at : at + length]
    if len(content) < length or kind > COMPRESSED:
        raise ValueError("a block reaches beyond the frame, or is of no known kind")
    if kind == RAW:
        frame.out += content
    else:
        literals, begin = _literals(frame, content)
        _sequences(frame, content, begin, literals)
    return at + length


# ---- literals


def _literals(frame: Frame, data: bytes) -> tuple[bytes, int]:
    """Read the bytes that sequences copy, and answer where these begin."""
    kind, form = data[0] & 3, data[0] >> 2 & 3
    if kind <= RLE:
        length, shift = ((1, 3), (2, 4), (1, 3), (3, 4))[form]
        count = int.from_bytes(data[:length], "little") >> shift
        if kind == RLE:
            return data[length : length + 1] * count, length + 1
        return data[length : length + count], length + count
    length, bits = ((3, 10), (3, 10), (4, 14), (5, 18))[form]
    head, mask = int.from_bytes(data[:length], "little") >> 4, (1 << bits) - 1
    count, packed = head & mask, head >> bits & mask
    return _packed(frame, data[length : length + packed], kind, count, streams=4 if form else 1), length + packed


def _packed(frame: Frame, data: bytes, kind: int, count: int, streams: int) -> bytes:
    """Read literals that are packed by Huffman's codes, in one stream or four."""
    at = 0
    if kind == COMPRESSED:
        frame.huffman, at = entropy.read_huffman(data)
    if frame.huffman is None:
        raise ValueError("literals without codes")
    if streams == 1:
        literals = frame.huffman.decode(data[at:])
    else:
        ends = [int.from_bytes(data[at + 2 * k : at + 2 * k + 2], "little") for k in range(3)]
        at += 6
        pieces: list[bytes] = []
        for length in ends:
            pieces.append(frame.huffman.decode(data[at : at + length]))
            at += length
        literals = b"".join([*pieces, frame.huffman.decode(data[at:])])
    if len(literals) != count:
        raise ValueError(f"{len(literals)} literals, not {count}")
    return literals


# ---- sequences


def _sequences(frame: Frame, data: bytes, at: int, literals: bytes) -> None:
    """Carry out the sequences of a block: so many literals, then so many bytes again from so far back."""
    count, at = _count(data, at)
    taken = 0
    if count:
        modes = data[at]
        at = _tables(frame, data, at + 1, (modes >> 6, modes >> 4 & 3, modes >> 2 & 3))
        bits = Backward(data[at:])
        tables = [table for table in frame.tables if table is not None]
        states = [bits.read(table.log) for table in tables]
        for left in range(count - 1, -1, -1):
            run, offset, length = _sequence(tables, states, bits)
            frame.out += literals[taken : taken + run]
            taken += run
            _repeat(frame.out, _distance(frame.offsets, offset, run), length)
            if len(frame.out) > frame.size:
                raise ValueError(f"the frame holds more than {frame.size} bytes")
            for which in (0, 2, 1) if left else ():
                states[which] = tables[which].next(states[which], bits)
    frame.out += literals[taken:]


def _count(data: bytes, at: int) -> tuple[int, int]:
    first = data[at]
    if first < 128:
        return first, at + 1
    if first < 255:
        return (first - 128 << 8) + data[at + 1], at + 2
    return data[at + 1] + (data[at + 2] << 8) + 0x7F00, at + 3


def _tables(frame: Frame, data: bytes, at: int, modes: tuple[int, int, int]) -> int:
    """Make the tables of literal lengths, offsets and match lengths, in this order."""
    for which, (mode, about) in enumerate(zip(modes, FIELDS, strict=True)):
        if mode == PREDEFINED:
            frame.tables[which] = States.of(about.usual, about.usual_log)
        elif mode == SINGLE:
            frame.tables[which] = States((data[at],), (0,), (0,), 0)
            at += 1
        elif mode == DESCRIBED:
            shares, log, at = entropy.read_shares(data, at, about.most_log)
            frame.tables[which] = States.of(shares, log)
        elif frame.tables[which] is None:
            raise ValueError("a table is to be repeated that there was not")
    return at


def _sequence(tables: list[States], states: list[int], bits: Backward) -> tuple[int, int, int]:
    """Read one sequence: literals to copy, offset code value, bytes to repeat."""
    run, offset, length = (table.symbols[state] for table, state in zip(tables, states, strict=True))
    far = (1 << offset) + bits.read(offset)
    least, more = MATCH_LENGTHS[length]
    again = least + bits.read(more)
    least, more = LITERAL_LENGTHS[run]
    return least + bits.read(more), far, again


def _distance(recent: list[int], offset: int, run: int) -> int:
    """Answer how far back a match lies; the three last distances have short names (RFC 8878, 3.1.1.5)."""
    if offset > 3:
        recent[:] = [offset - 3, recent[0], recent[1]]
        return recent[0]
    which = offset - 1 + (run == 0)
    found = recent[which] if which < 3 else recent[0] - 1
    recent[:] = [found, *recent[: min(which, 2)], *recent[min(which, 2) + 1 :]]
    return found


def _repeat(out: bytearray, distance: int, count: int) -> None:
    """Append ``count`` bytes from ``distance`` back; they may overlap with what is appended."""
    if not 0 < distance <= len(out):
        raise ValueError(f"a match begins {distance} bytes back of {len(out)}")
    while count > 0:
        begin = len(out) - distance
        piece = out[begin : begin + count]
        out += piece
        count -= len(piece)
