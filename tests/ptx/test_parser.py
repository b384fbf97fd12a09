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
    Relocation,
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


# ---- declarations


def test_initial_values_and_addresses_in_them() -> None:
    variables = parse(
        HEAD + ".global .b32 q; .const .align 8 .b8 a[4] = {1, -1}; .global .f32 f = 1.5;"
        ".global .f64 d[2] = {0d3FF0000000000000};"
        ".global .u16 m[2][2] = {{1, 2}, {3}}; .global .v2 .b32 v = {1, 2}; .global .u64 p[2] = {q, generic(q) + 4};"
        ".global .u8 b[9] = {7, 0xFF(q), 0xFF00(q), 0xFF0000(q), 0xFF000000(q)};"
    ).variables
    assert (variables["a"].initial, variables["a"].align, variables["a"].size) == (b"\1\xff", 8, 4)
    assert variables["f"].initial == bytes.fromhex("0000c03f")
    assert variables["d"].initial == bytes.fromhex("000000000000f03f")
    assert variables["m"].initial == bytes([1, 0, 2, 0, 3, 0, 0, 0])
    assert (variables["v"].initial, variables["v"].align) == (bytes([1, 0, 0, 0, 2, 0, 0, 0]), 8)
    assert variables["p"].relocations == (Relocation(0, "q", 0, 8), Relocation(8, "q", 4, 8, generic=True))
    assert variables["b"].relocations == (Relocation(1, "q", 0, 4),)
    assert variables["b"].initial[0] == 7


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (".global .f32 x = 1;", ".global .f32 x = 1.0;"),
        (".global .u32 x = 1.5;", ".global .b32 x = 1.5;"),
        (".global .b32 x[2] = {1, 2, 3};", ".global .b32 x[3] = {1, 2, 3};"),
        (".global .b32 x[2][2] = {1, 2};", ".global .b32 x[2][2] = {{1, 2}};"),
        (".global .b32 y; .global .b32 x = y;", ".global .b32 y; .global .b64 x = y;"),
        (".global .b64 x = y; .global .b32 y;", ".global .b32 y; .global .b64 x = y;"),
        (".shared .b32 x = 1;", ".const .b32 x = 1;"),
        (".global .b32 x[];", ".extern .global .b32 x[];"),
        (".global .align 3 .b32 x;", ".global .align 4 .b32 x;"),
        (".global .bf16 x;", ".global .b16 x;"),
        (".global .b32 x; .global .b32 x;", ".extern .global .b32 x; .global .b32 x;"),
        (".global .pred x;", ".global .b8 x;"),
        (".func f() { ret; } .func f() { ret; }", ".func f(); .func f() { ret; }"),
        (
            ".func f(.param .b32 a); .func f(.param .b64 a) { ret; }",
            ".func f(.param .b32 a); .func f(.param .b32 b) { ret; }",
        ),
        (".section .debug_info { .b8 1 ", ".section .debug_info { .b8 1 }"),
        ("/* ", "/* */"),
    ],
)
def test_declarations_and_their_neighbours(wrong: str, right: str) -> None:
    with pytest.raises(PtxError) as caught:
        parse(HEAD + wrong)
    assert (caught.value.status, caught.value.line) == (218, 4)
    parse(HEAD + right)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (".reg .b32 %r3;", ".reg .b32 %r20;"),
        (".reg .b32 p0;", ".reg .b32 p2;"),
        ("L: L:", "L: { L: }"),
        ("mov.b32 %r1, %r99;", "mov.b32 %r1, %r19;"),
        ("{ .reg .b32 q; } mov.b32 q, 1;", "{ .reg .b32 q; mov.b32 q, 1; }"),
        ("mov.b32 q, 1; .reg .b32 q;", ".reg .b32 q; mov.b32 q, 1;"),
        (";;", "ret;"),
        ("mov.b32 %r1, 1", "mov.b32 %r1, 1;"),
        ("mov.b32 %r1, 09;", "mov.b32 %r1, 07;"),
        ("mov.b32 %r1, 1/0;", "mov.b32 %r1, 1/1;"),
        ("ld.global.b32 %r1, [%d1-4];", "ld.global.b32 %r1, [%d1+-4];"),
        ("brx.idx %r1, T; L: T: .branchtargets L;", "T: .branchtargets L; brx.idx %r1, T; L:"),
    ],
)
def test_statements_and_their_neighbours(wrong: str, right: str) -> None:
    with pytest.raises(PtxError) as caught:
        kernel(wrong)
    assert (caught.value.status, caught.value.line) == (218, 6 if wrong != "mov.b32 %r1, 1" else 7)
    kernel(right)


def test_an_unknown_name_is_shown_the_nearest() -> None:
    with pytest.raises(PtxError, match=r"unknown symbol 'counter_'.*did you mean 'counter'"):
        kernel(".shared .b32 counter; mov.u32 %r1, counter_;")


def test_tables_prototypes_and_directives() -> None:
    text = (
        HEAD + ".visible .entry k() .maxntid 256, 2 .minnctapersm 3 .explicitcluster .reqnctapercluster 2, 1, 1\n{\n"
        '.pragma "nounroll"; .loc 1 2 3, function_name $L__x, inlined_at 1 2 3\n'
        "T: .branchtargets A, B; C: .calltargets f; P: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;\n"
        "A: B: ret; }"
    ).replace(".visible", ".func f() .noreturn { ret; } .visible")
    module_ = parse(text)
    found = module_.functions["k"]
    assert found.tables == {"T": ("A", "B"), "C": ("f",)}
    assert [one.size for one in (*found.prototypes["P"].returns, *found.prototypes["P"].parameters)] == [4, 8]
    assert found.directives == {
        "maxntid": (256, 2),
        "minnctapersm": (3,),
        "explicitcluster": (),
        "reqnctapercluster": (2, 1, 1),
    }
    assert module_.functions["f"].noreturn


def test_a_variable_of_a_block_gets_a_name_of_its_own() -> None:
    found = parse(
        HEAD
        + ".global .b32 s; .entry k() { .reg .b32 %r;"
        + " { .shared .b32 s; ld.shared.b32 %r, [s]; } ld.global.b32 %r, [s]; }"
    ).functions["k"]
    inner, outer = (one for one in found.body or () if isinstance(one, Instruction))
    assert (inner.operands[1], outer.operands[1]) == (Address(Symbol("s.1")), Address(Symbol("s")))
    assert list(found.variables) == ["s.1"]


def test_vector_registers_are_registers() -> None:
    (one,) = instructions(".reg .v2 .b32 %v; mov.b32 %v.y, %v.x;")
    assert one.operands == (Register("%v.y"), Register("%v.x"))
    (two,) = instructions(".reg .v2 .b32 %v; st.global.v2.b32 [%d1], %v;")
    assert two.operands[1] == Vector((Register("%v.x"), Register("%v.y")))
