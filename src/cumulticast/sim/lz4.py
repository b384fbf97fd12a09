"""The block format of LZ4, as fatbins compress with it (lz4_Block_format.md of the lz4 project)."""

from __future__ import annotations

SHORTEST = 4  # bytes of the shortest match
EXTENDED = 15  # a length that goes on in the following bytes


def decompress(data: bytes, size: int) -> bytes:
    """Undo the compression of a block.

    Parameters
    ----------
    data
        The block.
    size
        Bytes that it becomes; no more than these are made.

    Raises
    ------
    ValueError
        It is no such block.
    """
    out, at = bytearray(), 0
    try:
        while at < len(data) and len(out) < size:
            token = data[at]
            count, at = _length(data, at + 1, token >> 4)
            out += data[at : at + count]
            at += count
            if at >= len(data) or len(out) >= size:
                break
            distance = int.from_bytes(data[at : at + 2], "little")
            count, at = _length(data, at + 2, token & EXTENDED)
            _repeat(out, distance, min(count + SHORTEST, size - len(out)))
    except IndexError:
        raise ValueError("the block ends in the middle of a length") from None
    if len(out) != size:
        raise ValueError(f"the block holds {len(out)} bytes, not {size}")
    return bytes(out)


def _length(data: bytes, at: int, length: int) -> tuple[int, int]:
    """Answer a length that may go on from ``at``, and where it ends."""
    if length == EXTENDED:
        while True:
            more = data[at]
            at += 1
            length += more
            if more != 255:
                break
    return length, at


def _repeat(out: bytearray, distance: int, count: int) -> None:
    """Append ``count`` bytes that lie ``distance`` back; they may overlap with what is appended."""
    if not 0 < distance <= len(out):
        raise ValueError(f"a match begins {distance} bytes back of {len(out)}")
    while count > 0:
        piece = bytes(out[-distance:][:count])
        out += piece
        count -= len(piece)
