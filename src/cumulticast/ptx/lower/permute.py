"""prmt: choose four bytes of eight (PTX ISA 9.7.9)."""

from __future__ import annotations

from cumulticast.ptx.lower.emitter import LANES, Emitter, lowers
from cumulticast.ptx.lower.integer_types import join
from cumulticast.ptx.syntax import Instruction, Integer

#: What each mode chooses for c % 4 = 3, 2, 1, 0: four selectors of 16 bits, as the plain form has them in c.
MODES = {
    "f4e": 0x6543_5432_4321_3210,
    "b4e": 0x0123_7012_6701_5670,
    "rc8": 0x3333_2222_1111_0000,
    "ecl": 0x3333_3222_3211_3210,
    "ecr": 0x3210_2210_1110_0000,
    "rc16": 0x3232_1010_3232_1010,
}


@lowers("prmt")
def lower_prmt(em: Emitter, ins: Instruction) -> None:
    """Each four bits of c name a byte of ``{b, a}``; with bit 3 set, its sign is repeated."""
    a, b = em.get(ins.operands[1], "i32"), em.get(ins.operands[2], "i32")
    table = next((MODES[word] for word in ins.modifiers if word in MODES), None)
    c = ins.operands[3]
    if isinstance(c, Integer):
        selector = c.value & 0xFFFF if table is None else table >> 16 * (c.value & 3) & 0xFFFF
        value = permuted(em, a, b, selector)
    else:
        selectors = em.get(c, "i32")
        value = _permuted_by(em, a, b, selectors if table is None else _by_mode(em, table, selectors))
    em.set(ins.operands[0], "i32", value)


def permuted(em: Emitter, a: str, b: str, selector: int) -> str:
    """Choose by a selector known now: one shuffle of bytes, and a shift for the signs."""
    count = 4 * (LANES if em.vector else 1)
    bytes_ = f"<{count} x i8>"
    x, y = (em.emit(f"bitcast {em.t('i32')} {value} to {bytes_}") for value in (a, b))
    chosen = [selector >> 4 * i & 7 for i in range(4)]
    places = [at % 4 + lane + (count if at >= 4 else 0) for lane in range(0, count, 4) for at in chosen]
    mask = ", ".join(f"i32 {place}" for place in places)
    value = em.emit(f"shufflevector {bytes_} {x}, {bytes_} {y}, <{count} x i32> <{mask}>")
    signs = [bool(selector >> 4 * i & 8) for i in range(4)]
    if any(signs):
        amounts = ", ".join(f"i8 {7 if sign else 0}" for sign in signs * (count // 4))
        value = em.emit(f"ashr {bytes_} {value}, <{amounts}>")
    return em.emit(f"bitcast {bytes_} {value} to {em.t('i32')}")


def _by_mode(em: Emitter, table: int, c: str) -> str:
    """Look the selectors up."""
    c = em.resize("i32", "i64", em.op("and", "i32", c, em.const("i32", 3)))
    amount = em.op("shl", "i64", c, em.const("i64", 4))
    return em.resize("i64", "i32", em.op("lshr", "i64", em.const("i64", table), amount))


def _permuted_by(em: Emitter, a: str, b: str, selectors: str) -> str:
    source = join(em, [a, b], "i32", "i64")
    return join(em, [_byte(em, source, selectors, 4 * i) for i in range(4)], "i8", "i32")


def _byte(em: Emitter, source: str, selectors: str, at: int) -> str:
    """Choose one byte by the four bits of the selectors that begin at bit ``at``."""
    nibble = em.op("lshr", "i32", selectors, em.const("i32", at))
    place = em.op("shl", "i32", em.op("and", "i32", nibble, em.const("i32", 7)), em.const("i32", 3))
    byte = em.resize("i64", "i8", em.op("lshr", "i64", source, em.resize("i32", "i64", place)))
    by_sign = em.compare("icmp", "ne", "i32", em.op("and", "i32", nibble, em.const("i32", 8)), em.const("i32", 0))
    return em.select(by_sign, "i8", em.op("ashr", "i8", byte, em.const("i8", 7)), byte)
