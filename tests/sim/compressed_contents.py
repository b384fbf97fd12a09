"""What the frames in tests/data/zstd hold; the zstd command of version 1.5 wrote them, at levels 1 and 19."""

from __future__ import annotations

import random

_WORDS = [b"add.f32 \t%f", b"ld.global.f32 \t", b"mov.u32 \t%r", b";\n\t", b"st.shared.u32 \t[", b"bra \t$L__BB0_"]


def _text() -> bytes:
    chosen = random.Random(1)
    return b"".join(chosen.choice(_WORDS) + str(chosen.randrange(50)).encode() for _ in range(12000))


def _bytes(symbols: bytes, count: int) -> bytes:
    chosen = random.Random(2)
    return bytes(chosen.choice(symbols) for _ in range(count))


CONTENTS = {
    "empty": b"",
    "one": b"x",
    "same": b"x" * 300_000,
    "text": _text(),
    "few": _bytes(b"aaaaaaaabbbc", 5000),
    "any": _bytes(bytes(range(256)), 3000),
    "again": (b"0123456789abcdef" * 10 + _bytes(b"xyz", 37)) * 200,
}
