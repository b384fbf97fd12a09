"""The checker: versions, targets, forms, operands, calls and limits; every refusal beside what passes one step away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.forms import book, check, match
from cumulticast.ptx.parser import parse
from cumulticast.ptx.versions import read_target

DATA = Path(__file__).with_name("data")
REGISTERS = (
    ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %g<9>;"
    " .reg .u32 %u<9>; .reg .b128 %q<9>;"
)


def module(body: str = "", *, top: str = "", target: str = "sm_90", version: str = "9.5") -> str:
    """Give the text of a kernel around these statements, which begin in line 7."""
    head = f".version {version}\n.target {target}\n.address_size 64\n{top}\n"
    return f"{head}.visible .entry k(.param .u64 p0, .param .u32 p1) {{\n{REGISTERS}\n{body}\nret;\n}}\n"


def accepted(text: str, sm: int = 90) -> None:
    check(parse(text), sm=sm)


def refused(text: str, match: str, *, sm: int = 90, status: int = 218) -> PtxError:
    with pytest.raises(PtxError, match=match) as caught:
        check(parse(text), sm=sm)
    assert caught.value.status == status
    return caught.value


# ---- versions and targets


def test_a_newer_version_is_222_and_ours_passes() -> None:
    accepted(module(version="9.5"))
    refused(module(version="9.6"), "9.6 is newer than 9.5", status=222)
    refused(module(version="10.0"), "10.0 is newer", status=222)
    with pytest.raises(PtxError) as caught:
        check(parse(module(version="9.5")), sm=90, version=(9, 4))
    assert caught.value.status == 222


def test_a_version_that_never_was_or_does_not_know_the_target() -> None:
    accepted(module(version="8.4"))
    refused(module(version="7.9"), "there is no .version 7.9")
    accepted(".version 7.8\n.target sm_90\n")
    refused(".version 7.7\n.target sm_90\n", "does not know .target sm_90")


@pytest.mark.parametrize(
    ("target", "runs", "does_not"),
    [
        ("sm_90", (90, 100, 121), (80, 89)),
        ("sm_90a", (90,), (100, 103)),
        ("sm_100a", (100,), (103, 110)),
        ("sm_100f", (100, 103, 107), (90, 110, 120)),
        ("sm_103f", (103, 107), (100, 110)),
        ("sm_120f", (120, 121), (110, 100)),
        ("sm_110f", (110,), (107, 120)),
    ],
)
def test_which_devices_run_a_target(target: str, runs: tuple[int, ...], does_not: tuple[int, ...]) -> None:
    for sm in runs:
        accepted(module(target=target), sm)
    for sm in does_not:
        refused(module(target=target), f"{target} does not run on a device of sm_{sm}", sm=sm)


def test_targets_that_do_not_exist() -> None:
    refused(module(target="sm_91"), "sm_91 is no architecture")
    refused(module(target="sm_80a"), "sm_80a is no architecture")


# ---- forms


def test_an_unknown_instruction_names_line_and_neighbour() -> None:
    error = refused(module("bar.sync 0;\nfaa.rn.f32 %f1, %f2, %f3, %f4;"), "unknown instruction 'faa'.*nearest is fma")
    assert error.line == 8
    accepted(module("bar.sync 0;\nfma.rn.f32 %f1, %f2, %f3, %f4;"))


def test_an_illegal_modifier_names_the_nearest_form() -> None:
    refused(module("add.ftz.s32 %r1, %r2, %r3;"), r"no such form: add.ftz.s32; the nearest is add")
    refused(module("fma.f32 %f1, %f2, %f3, %f4;"), r"the nearest is fma.rn\|rz\|rm\|rp\{.ftz\}\{.sat\}.f32")
    accepted(module("add.ftz.f32 %f1, %f2, %f3; fma.rz.f32 %f1, %f2, %f3, %f4;"))


@pytest.mark.parametrize(
    "statement",
    [
        "wgmma.fence.sync.aligned;",
        "tcgen05.wait::ld.sync.aligned;",
        "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%d1], 16;",
        "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [tex_a, {%f1,%f2}];",
        "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2}], [%r3];",
        "cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%d1, {%r2}];",
        "vadd.u32.u32.u32 %r1, %r2, %r3;",
        "cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;",
        "cvt.rn.satfinite.s2f6x2.f32 %h1, %f1, %f2;",
        "isspacep.const %p1, %d1;",
        "stacksave.u64 %d1;",
    ],
)
def test_what_is_not_simulated_says_so(statement: str) -> None:
    error = refused(module(f"ret;\n{statement}"), f"{statement.split()[0].rstrip(';')} is not simulated")
    assert error.line == 8


def test_selectors_of_video_instructions_are_not_simulated_and_plain_registers_are() -> None:
    error = refused(module("vadd4.u32.u32.u32 %r1, %r2.b3210, %r3, %r4;"), r"selector .b3210 of %r2: is not simulated")
    assert error.line == 7
    accepted(module("vadd4.u32.u32.u32 %r1, %r2, %r3, %r4;"))
    refused(module("vadd4.u32.u32.u32 %r1, 5, %r3, %r4;"), "operand 2: a register is expected")


def test_copies_of_stretches_and_what_they_need() -> None:
    copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
    copy += " [%r1], [%d1], %r2, [%r3], %h1;"
    accepted(module(copy))
    refused(module(copy, target="sm_80"), "needs .target sm_90", sm=80)
    refused(module("cp.async.bulk.shared::cta.global.bulk_group [%r1], [%d1], %r2;"), "no such form")
    accepted(module("st.bulk.weak.shared::cta [%r1], 200, 0;", target="sm_100"), sm=100)
    refused(module("st.bulk.weak.shared::cta [%r1], 200, 1;", target="sm_100"), "0 is expected", sm=100)
    accepted(module("setmaxnreg.dec.sync.aligned.u32 24;", target="sm_90a"))
    refused(module("setmaxnreg.dec.sync.aligned.u32 16;", target="sm_90a"), "multiple of 8 from 24 to 256")
    refused(module("setmaxnreg.dec.sync.aligned.u32 24;"), "does not exist on .target sm_90")


def test_a_form_of_a_newer_target_or_version_says_what_it_needs() -> None:
    text = "redux.sync.add.u32 %r1, %r2, -1;"
    refused(module(text, target="sm_75"), "needs .target sm_80 or higher")
    accepted(module(text, target="sm_80"))
    load = "multimem.ld_reduce.relaxed.sys.global.add.acc::f32.f16x2 %r1, [%d1];"
    refused(module(load, version="8.1").replace(".reg .b128 %q<9>;", ""), "needs .version 8.2 or later")
    accepted(module(load, version="8.2").replace(".reg .b128 %q<9>;", ""))
    wide = "ld.global.v8.b32 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%d1];"
    refused(module(wide), "256 bits.* need .target sm_100")
    accepted(module(wide, target="sm_100"), sm=100)


def _ordered(form: str) -> tuple[str, ...]:
    """Give the modifiers of a form of the matrix with those that it leaves out."""
    first, *rest = form.split(".")
    return (first, "relaxed", "sys", "global", *rest)


def test_every_multimem_form_on_every_target_as_ptxas_has_it() -> None:
    matrix = json.loads((DATA / "ptxas_multimem_matrix.json").read_text())
    fitting = {form: match.fitting("multimem", _ordered(form)) for form in matrix["candidates"]}
    for name, forms in matrix["accepted"].items():
        target = read_target(name)
        assert target is not None
        ours = {form for form, found in fitting.items() if any(not match.missing(one, target, (9, 5)) for one in found)}
        assert ours == set(forms), name


def test_every_row_of_the_table_can_be_read_and_is_written_once() -> None:
    rows = [row for opcode in book.rows() for row in book.rows()[opcode]]
    assert sum(len(book.forms(opcode)) for opcode in book.rows()) >= len(rows) > 300
    assert len({" ".join(row.split()) for row in rows}) == len(rows)


# ---- operands

_OPERANDS = [
    # wrong, reason, right
    ("add.u32 %r1, %r2;", "2 operands where 3", "add.u32 %r1, %r2, 1;"),
    ("add.u32 %r1, %r2, %d3;", r"operand 3: %d3 is .b64", "add.u64 %d1, %d2, %d3;"),
    ("add.u32 %r1, %r2, %f3;", r"%f3 is .f32, which does not fit .u32", "add.u32 %r1, %u2, %r3;"),
    ("mov.f32 %u1, %f1;", r"%u1 is .u32", "mov.b32 %u1, %f1;"),
    ("add.f32 %f1, %f2, 1;", "constant does not fit", "add.f32 %f1, %f2, 1.0;"),
    ("add.u32 %r1, %r2, 1.0;", "constant does not fit", "mov.b32 %r1, 0f3F800000;"),
    ("add.u32 1, %r2, %r3;", "register is expected as destination", "add.u32 %r1, 2, 3;"),
    ("add.u32 %r1, %tid.x, 1;", "read with mov or cvt only", "mov.u32 %r1, %tid.x;"),
    ("mov.u32 _, %r1;", "register is expected as destination", "atom.global.add.u32 _, [%d1], 1;"),
    ("mul.wide.u32 %r1, %r2, %r3;", r"%r1 is .b32, which does not fit 64 bits", "mul.wide.u32 %d1, %r2, %r3;"),
    ("setp.eq.u32 %r1, %r2, %r3;", r"%r1 is .b32", "setp.eq.u32 %p1|%p2, %r2, %r3;"),
    ("setp.eq.f16 %p1|%p2, %h1, %h2;", "operand 1", "setp.eq.f16x2 %p1|%p2, %r1, %r2;"),
    ("selp.b32 %r1, %r2, %r3, %r4;", r"%r4 is .b32", "selp.b32 %r1, %r2, %r3, !%p1;"),
    ("elect.sync %r1, -1;", r"second destination", "elect.sync %r1|%p1, -1;"),
    ("ld.global.b64 %r1, [%d1];", r"%r1 is .b32", "ld.global.b32 %d1, [%d1];"),
    ("ld.global.f32 %u1, [%d1];", r"%u1 is .u32", "ld.global.b32 %u1, [%d1];"),
    ("ld.global.f32 %g1, [%d1];", r"%g1 is .f64", "ld.global.f32 %d1, [%d1];"),
    ("ld.global.b32 %r1, [%r1];", "32-bit address", "ld.shared.b32 %r1, [%r1];"),
    ("ld.global.b32 %r1, [%g1];", "an address is of integers", "ld.global.b32 %r1, [%d1+4];"),
    ("ld.global.b32 %r1, [64];", "for .local only", "ld.local.b32 %r1, [64];"),
    ("ld.global.b32 %r1, [p1];", "p1 is a .param variable", "ld.param.b32 %r1, [p1];"),
    ("ld.global.b32 %r1, %d1;", "an address in", "ld.global.b32 %r1, [%d1];"),
    ("ld.global.v2.f32 %f1, [%d1];", "a vector of 2", "ld.global.v2.f32 {%f1, _}, [%d1];"),
    ("ld.global.v2.b32 {%r1, %d2}, [%d1];", "one width", "ld.global.v2.b32 {%d1, %d2}, [%d1];"),
    ("st.global.v2.f32 [%d1], {%f1, _};", "_ is not a source", "st.global.v2.f32 [%d1], {%f1, 0f00000000};"),
    ("ld.global.L2::cache_hint.f32 %f1, [%d1];", "2 operands", "ld.global.L2::cache_hint.f32 %f1, [%d1], %d2;"),
    ("ld.global.f32 %f1, [%d1], %d2;", "3 operands", "ld.global.f32 %f1, [%d1];"),
    ("mov.b64 {%h1, %h2}, %d1;", r"%h1 is .b16", "mov.b64 {%r1, %r2}, %d1;"),
    ("mov.b64 %d1, {%r1, %r2, %r3};", "3 registers do not make up", "mov.b64 %d1, {%h1, %h2, %h3, %h4};"),
    ("mov.b32 {%r1, %r2}, {%r3, %r4};", "a vector is moved", "mov.v2.b32 {%r1, %r2}, {%r3, %r4};"),
    ("mov.u64 %d1, %tid.x;", r"%tid.x is .u32", "mov.u64 %d1, %clock64;"),
    ("mov.f64 %g1, p0;", "an address does not fit", "mov.u64 %d1, p0;"),
    ("mov.u64 %d1, LABEL;", "LABEL cannot be moved", "bra LABEL;"),
    ("bra k;", "a label of this function", "bra.uni LABEL;"),
    ("@%r1 bra LABEL;", r"the guard %r1 is no predicate", "@!%p1 bra LABEL;"),
    ("bar.sync 16;", "there are 16 barriers", "bar.sync 15;"),
    ("bar.sync 0, 33;", "a multiple of 32", "bar.sync 0, 64;"),
    ("cp.async.cg.shared.global [%r1], [%d1], 8;", "copies 16 bytes", "cp.async.ca.shared.global [%r1], [%d1], 8;"),
    ("mbarrier.arrive.release.shared.b64 %d1, [%r1];", "needs a scope", "mbarrier.arrive.shared.b64 %d1, [%r1];"),
    ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g1,%g2},%g1,{%g3},{%g1,%g2};", "a vector of 1",
     "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g1,%g2},{%g1},{%g3},{%g1,%g2};"),
    ("lop3.b32 %r1, %r2, %r3, %r4, %r5;", "integer constant", "lop3.b32 %r1, %r2, %r3, %r4, 0x96;"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "reason", "right"), _OPERANDS, ids=[wrong for wrong, _, _ in _OPERANDS])
def test_operands_and_their_neighbours(wrong: str, reason: str, right: str) -> None:
    error = refused(module(f"LABEL:\n{wrong}"), reason)
    assert error.line == 8
    accepted(module(f"LABEL:\n{right}"))


# ---- calls

_CALLEE = ".func (.param .b32 back) f(.param .b64 a) { st.param.b32 [back], 1; ret; }"
_CALL = ".param .b64 x; .param .b32 y; .param .b32 z; "


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("call f, (x);", "0 results where 1"),
        ("call (y), f;", "0 arguments where 1"),
        ("call (y), f, (x, x);", "2 arguments where 1"),
        ("call (y), f, (z);", "4 bytes where a has 8"),
        ("call.foo (y), f, (x);", "no form call.foo"),
        ("call (y), %d1, (x);", "names a .callprototype"),
        ("call (y), k, (x);", "k is no function"),
    ],
)
def test_calls_match_their_functions(wrong: str, reason: str) -> None:
    refused(module(_CALL + wrong, top=_CALLEE), reason)
    accepted(module(_CALL + "call.uni (y), f, (x);", top=_CALLEE))
    indirect = "P: .callprototype (.param .b32 _) _ (.param .b64 _); call (y), %d1, (x), P;"
    accepted(module(_CALL + indirect, top=_CALLEE))


def test_functions_that_are_defined_nowhere_unless_the_driver_has_them() -> None:
    declared = ".extern .func (.param .b32 r) {name} (.param .b64 a, .param .b64 b);"
    body = ".param .b64 x; .param .b32 y;\ncall (y), {name}, (x, x);"
    accepted(module(body.format(name="vprintf"), top=declared.format(name="vprintf")))
    error = refused(module(body.format(name="mine"), top=declared.format(name="mine")), "unresolved function 'mine'")
    assert error.line == 8
    accepted(module(top=declared.format(name="mine")))


def test_variables_that_are_defined_nowhere() -> None:
    body = "ld.global.b32 %r1, [x];"
    refused(module(body, top=".extern .global .b32 x;"), "unresolved variable 'x'")
    accepted(module(body, top=".extern .global .b32 x; .visible .global .b32 x;"))


# ---- limits


def test_static_shared_memory_counts_what_a_kernel_may_reach() -> None:
    accepted(module(".shared .b8 s[49152];"))
    refused(module(".shared .b8 s[49153];"), "k uses too much shared memory: 49153 bytes, there are 49152")
    callee = ".shared .b8 t[4096]; .func f() { .reg .b32 %r; ld.shared.b32 %r, [t]; ret; }"
    refused(module(".shared .b8 s[45060]; call f;", top=callee), "49[0-9]* bytes")
    accepted(module(".shared .b8 s[45056]; call f;", top=callee))
    accepted(module(".shared .b8 s[49152];", top=callee))
    accepted(module(".shared .b8 s[49152]; mov.u32 %r1, dyn;", top=".extern .shared .b8 dyn[];"))


def test_constant_memory_and_parameters() -> None:
    accepted(module(top=".const .b8 c[65536];"))
    refused(module(top=".const .b8 c[65537];"), "65537 bytes of .const")
    accepted(".version 9.5\n.target sm_90\n.entry k(.param .b8 p[32764]) { ret; }")
    refused(".version 9.5\n.target sm_90\n.entry k(.param .b8 p[32765]) { ret; }", "32765 bytes of parameters")
