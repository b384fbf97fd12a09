"""What whole programs left in memory on a real GPU: read, compared, and (once, after a recording) written.

The file is an xz-compressed npz: ``about`` (GPU, driver, date), ``ptx/MODULE`` (the text that ran) and ``PROGRAM/n``:
what `kept` answers of the n-th array that the program was handed.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
from functools import cache
from pathlib import Path

import numpy as np

PLACE = Path(__file__).parent / "data" / "h200_programs.npz.xz"
#: Of an array are kept the first PIECE bytes, and for each PIECE bytes a digest of DIGEST bytes.
PIECE, DIGEST = 512, 8


@cache
def recording() -> dict[str, np.ndarray]:
    """Read the file."""
    with np.load(io.BytesIO(lzma.decompress(PLACE.read_bytes()))) as found:
        return {name: found[name] for name in found.files}


def text(module: str) -> str:
    """Answer the PTX of a module as it ran on the GPU."""
    return recording()[f"ptx/{module}"].tobytes().decode()


def about() -> dict[str, str]:
    """Answer GPU, driver and date."""
    return json.loads(str(recording()["about"]))


def write(texts: dict[str, str], answers: dict[str, np.ndarray]) -> None:
    """Put a recording in its place."""
    held = io.BytesIO()
    modules = {f"ptx/{name}": np.frombuffer(found.encode(), np.uint8) for name, found in texts.items()}
    np.savez(held, **modules, **answers)
    PLACE.write_bytes(lzma.compress(held.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def kept(array: np.ndarray) -> np.ndarray:
    """Answer what is kept of an array: the first bytes as they are, and a digest of each piece beyond them."""
    content = array.tobytes()
    pieces = [content[at : at + PIECE] for at in range(0, len(content), PIECE)]
    digests = [hashlib.blake2b(piece, digest_size=DIGEST).digest() for piece in pieces[1:]]
    return np.frombuffer(pieces[0] + b"".join(digests), np.uint8)


def differences(array: np.ndarray, recorded: np.ndarray) -> list[str]:
    """Say where an array is not what was recorded: byte by byte at its beginning, piece by piece beyond."""
    mine = kept(array)
    if len(mine) != len(recorded):
        return [f"{len(mine)} bytes are kept of it, {len(recorded)} were recorded"]
    unlike = np.nonzero(mine != recorded)[0]
    pieces = sorted({1 + int(at - PIECE) // DIGEST for at in unlike if at >= PIECE})
    found = [f"byte {at}: {mine[at]:#x}, recorded {recorded[at]:#x}" for at in unlike[unlike < PIECE]]
    return found + [f"bytes {piece * PIECE} to {piece * PIECE + PIECE - 1} differ" for piece in pieces]
