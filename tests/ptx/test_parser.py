"""PTX text to values: names, blocks, constants, operands, and the heads of functions."""

from __future__ import annotations

import pytest

from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.parser import parse
from cumulticast.ptx.syntax import (
    Address,
    Float,
    Function,
    Instruction,
    Integer,
    Label,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<9>; .reg .f32 %f<9>;\n"


def module(body: str, top: str = "") -> Module:
    """Parse a kernel ``k`` around these statements, which begin in line 6."""
    return parse(f"{HEAD}{top}.visible .entry k(.param .u64 p0, .param .u32 p1) {{\n{REGISTERS}{body}\n}}\n")


def kernel(body: str) -> Function:
    return module(body).functions["k"]


def instructions(body: str) -> list[Instruction]:
    return [one for one in kernel(body).body or () if isinstance(one, Instruction)]


def only(operand: str) -> Operand:
    """Give the value of one operand."""
    return instructions(f"foo {operand};")[0].operands[0]


def test_an_instruction_keeps_its_words_operands_guard_and_line() -> None:
    (one,) = instructions("\n@!%p1 ld.relaxed.gpu.global.L1::no_allocate.v2.f32 {%f1, %f2}, [%d3+8];")
    expected = Instruction(
        "ld",
        ("relaxed", "gpu", "global", "L1::no_allocate", "v2", "f32"),
        (Vector((Register("%f1"), Register("%f2"))), Address(Register("%d3"), 8)),
        Register("%p1"),
        True,
        7,
    )
    assert one == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("%r1", Register("%r1")),
        ("%tid.x", Special("%tid.x")),
        ("%clock64", Special("%clock64")),
        ("!%p1", Negated(Register("%p1"))),
        ("%p1|%p2", Pair(Register("%p1"), Register("%p2"))),
        ("%r1|_", Pair(Register("%r1"), Sink())),
        ("_", Sink()),
        ("{%r1, _, 3}", Vector((Register("%r1"), Sink(), Integer(3)))),
        ("[p0]", Address(Symbol("p0"))),
        ("[p0+4]", Address(Symbol("p0"), 4)),
        ("[%d1+-4]", Address(Register("%d1"), -4)),
        ("[64]", Address(Integer(64))),
        ("p0+4", Symbol("p0", 4)),
        ("WARP_SZ", Integer(32)),
        ("0f3F800000", Float(0x3F800000, single=True)),
        ("0d3FF0000000000000", Float(0x3FF0000000000000, single=False)),
        ("-0f3F800000", Float(0xBF800000, single=True)),
        ("1.5", Float(0x3FF8000000000000, single=False)),
        (".5", Float(0x3FE0000000000000, single=False)),
        ("1e2", Float(0x4059000000000000, single=False)),
    ],
)
def test_operands(text: str, value: Operand) -> None:
    assert only(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("014", 12),
        ("0xC", 12),
        ("0b1100", 12),
        ("-1", -1),
        ("0xffffffffffffffff", 2**64 - 1),
        ("0x1ffffffffffffffff", 2**64 - 1),
        ("~0", 2**64 - 1),
        ("-0x8000000000000000", 2**63),
        ("(.s64)0xffffffffffffffff", -1),
        ("2+3*4", 14),
        ("(2+3)*4", 20),
        ("10-4-3", 3),
        ("-7/2", -3),
        ("-7 % 2", -1),
        ("-8>>1", -4),
        ("1<<4|1", 17),
        ("1<2 ? 5 : 6", 5),
        ("0 ? 5 : 1 ? 7 : 8", 7),
        ("!5", 0),
        ("3 && 0 || 4", 1),
    ],
)
def test_integer_constants_are_computed_in_64_bits(text: str, value: int) -> None:
    assert only(text) == Integer(value)


def test_a_block_declares_names_anew() -> None:
    first, second, third = instructions("mov.b32 %r1, 1; { .reg .b32 %r1; mov.b32 %r1, 2; } mov.b32 %r1, 3;")
    assert first.operands[0] == third.operands[0] != second.operands[0]
    assert {first.operands[0], second.operands[0]} == {Register("%r1"), Register("%r1.1")}


def test_two_blocks_may_use_one_label() -> None:
    body = kernel("{ L: bra L; } { bra L; L: }").body or []
    assert body[0] == Label("L", 6)
    assert [one.operands for one in body if isinstance(one, Instruction)] == [(Symbol("L"),), (Symbol("L.1"),)]
    assert body[-1] == Label("L.1", 6)


def test_a_label_of_an_inner_block_is_not_seen_outside() -> None:
    assert instructions("{ bra L; } L: ret;")[0].operands == (Symbol("L"),)
    with pytest.raises(PtxError, match="line 6: unknown symbol 'L'"):
        kernel("bra L; { L: }")


def test_registers_of_a_span_exist_once_they_are_used() -> None:
    found = kernel(".reg .b64 %big<100000000>; mov.b64 %big99999999, 1;").registers
    assert found == {"%big99999999": "b64"}
    with pytest.raises(PtxError, match="unknown symbol '%big5'"):
        kernel(".reg .b64 %big<5>; mov.b64 %big5, 1;")


def test_statuses_of_what_is_no_ptx_and_of_wrong_ptx() -> None:
    for text in ("", "hello", b"\x7fELF\0\1", "// .version 9.0", b"\0" + HEAD.encode()):
        with pytest.raises(PtxError) as caught:
            parse(text)
        assert caught.value.status == 200
    with pytest.raises(PtxError) as caught:
        parse(HEAD + "\n.visible .entry k( {}")
    assert (caught.value.status, caught.value.line) == (218, 5)
    assert parse(HEAD + "\0 anything").target == "sm_90"
