"""What users choose in words: which memory kernels meet."""

from __future__ import annotations

PLAIN, ADVERSARIAL = "plain", "adversarial"
SEED_BITS = 64


def seed_of(memory: str) -> int | None:
    """Read a choice of memory: ``plain`` (None), ``adversarial`` (seed 0), ``adversarial:SEED``.

    Raises
    ------
    ValueError
        It is none of them.
    """
    kind, colon, seed = memory.partition(":")
    if kind == PLAIN and not colon:
        return None
    if kind == ADVERSARIAL and not colon:
        return 0
    if kind == ADVERSARIAL and seed.isascii() and seed.isdecimal() and int(seed) < 1 << SEED_BITS:
        return int(seed)
    raise ValueError(f"memory {memory!r} is none of plain, adversarial, adversarial:SEED (below 2**{SEED_BITS})")
