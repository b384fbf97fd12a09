"""The two codes of Zstandard: finite states and Huffman's (RFC 8878, section 4), read from the end of their bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_LOG = 5
WEIGHTS_LOG = 6
MOST_BITS = 11  # of a literal's code


class Backward:
    """Bits from the last one back; before the first there are zeros.

    Attributes
    ----------
    left
        How many bits are left; negative: so many zeros were read.
    """

    def __init__(self, data: bytes) -> None:
        if not data or not data[-1]:
            raise ValueError("a stream of bits has no end")
        self._data = bytes(8) + data
        self.left = 8 * len(data) - 9 + data[-1].bit_length()

    def read(self, count: int) -> int:
        """Answer the next bits; the first of them is the highest."""
        self.left -= count
        at = self.left + 64
        if at < 0:
            raise ValueError("a stream of bits ends too early")
        word = int.from_bytes(self._data[at >> 3 : (at >> 3) + 8], "little")
        return word >> (at & 7) & ((1 << count) - 1)


@dataclass(frozen=True, slots=True)
class States:
    """A table of finite states: each gives a symbol, and the next state from a base and further bits."""

    symbols: tuple[int, ...]
    bits: tuple[int, ...]
    bases: tuple[int, ...]
    log: int

    @classmethod
    def of(cls, shares: Sequence[int], log: int) -> States:
        """Spread the shares of the symbols over the states; −1 is less than one."""
        size = 1 << log
        symbols, high = [0] * size, size
        for symbol, share in enumerate(shares):
            if share == -1:
                high -= 1
                symbols[high] = symbol
        at, step = 0, (size >> 1) + (size >> 3) + 3
        for symbol, share in enumerate(shares):
            for _ in range(share):
                symbols[at] = symbol
                at = (at + step) % size
                while at >= high:
                    at = (at + step) % size
        return cls(tuple(symbols), *_transitions(symbols, shares, log), log)

    def next(self, state: int, bits: Backward) -> int:
        """Answer the state that follows."""
        return self.bases[state] + bits.read(self.bits[state])


def _transitions(symbols: list[int], shares: Sequence[int], log: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    seen = [abs(share) for share in shares]
    bits: list[int] = []
    bases: list[int] = []
    for symbol in symbols:
        count = seen[symbol]
        seen[symbol] += 1
        bits.append(log + 1 - count.bit_length())
        bases.append((count << bits[-1]) - (1 << log))
    return tuple(bits), tuple(bases)


def read_shares(data: bytes, at: int, most_log: int) -> tuple[list[int], int, int]:
    """Read how the symbols of a table share its states; answers shares, log and where they end."""
    stream = int.from_bytes(data[at : at + 512], "little")
    log, used = (stream & 15) + LEAST_LOG, 4
    if log > most_log:
        raise ValueError(f"a table of 2^{log} states, more than 2^{most_log}")
    left, shares = 1 << log, list[int]()
    while left > 0 and len(shares) < 256:
        bits = (left + 1).bit_length()
        value, low = stream >> used & ((1 << bits) - 1), (1 << bits - 1) - 1
        limit = (1 << bits) - 1 - (left + 1)
        short = value & low < limit
        value = value & low if short else value - limit * (value > low)
        used += bits - short
        shares.append(value - 1)
        left -= abs(value - 1)
        more = 3 if value == 1 else 0
        while more == 3:
            more = stream >> used & 3
            used += 2
            shares += [0] * more
    if left:
        raise ValueError("the shares of a table do not add up")
    return shares, log, at + (used + 7) // 8


@dataclass(frozen=True, slots=True)
class Huffman:
    """Codes of literals: by the next ``log`` bits, the symbol and how many of them it takes."""

    symbols: bytes
    bits: bytes
    log: int

    @classmethod
    def of(cls, weights: list[int]) -> Huffman:
        """Make the codes of weights; the last symbol's is what is missing to a whole."""
        total = sum(1 << weight - 1 for weight in weights if weight)
        log = total.bit_length()
        rest = (1 << log) - total
        if not total or rest & rest - 1 or log > MOST_BITS:
            raise ValueError("the weights of literals do not add up")
        symbols, bits = bytearray(), bytearray()
        every = [*weights, rest.bit_length()]
        for weight in range(1, log + 1):
            for symbol, own in enumerate(every):
                if own == weight:
                    symbols += bytes([symbol]) * (1 << weight - 1)
                    bits += bytes([log + 1 - weight]) * (1 << weight - 1)
        return cls(bytes(symbols), bytes(bits), log)

    def decode(self, data: bytes) -> bytes:
        """Read a stream of literals to its end."""
        stream, out = Backward(data), bytearray()
        state, mask = stream.read(self.log), (1 << self.log) - 1
        while stream.left > -self.log:
            out.append(self.symbols[state])
            count = self.bits[state]
            state = (state << count | stream.read(count)) & mask
        if stream.left != -self.log:
            raise ValueError("a stream of literals ends in the middle of a code")
        return bytes(out)


def read_huffman(data: bytes) -> tuple[Huffman, int]:
    """Read the description of codes; answers where it ends."""
    head = data[0]
    if head >= 128:
        count = head - 127
        weights = [data[1 + k // 2] >> (0 if k % 2 else 4) & 15 for k in range(count)]
        return Huffman.of(weights), 1 + (count + 1) // 2
    shares, log, at = read_shares(data[: 1 + head], 1, WEIGHTS_LOG)
    return Huffman.of(_weights(States.of(shares, log), Backward(data[at : 1 + head]))), 1 + head


def _weights(table: States, bits: Backward) -> list[int]:
    """Read weights by two states in turn, until the bits are used up."""
    states = [bits.read(table.log), bits.read(table.log)]
    weights: list[int] = []
    while len(weights) < 256:
        which = len(weights) % 2
        weights.append(table.symbols[states[which]])
        states[which] = table.next(states[which], bits)
        if bits.left < 0:
            return [*weights, table.symbols[states[1 - which]]]
    raise ValueError("too many weights of literals")
