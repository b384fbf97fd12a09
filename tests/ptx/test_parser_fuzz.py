"""Whatever the text, parse and check raise PtxError or nothing: mutations of real PTX, and hostile texts by hand.

What passes both also compiles, every kernel of it, but for what says PtxError.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulticast.ptx import kernel
from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.forms import check
from cumulticast.ptx.lexer import tokenize
from cumulticast.ptx.parser import parse
from cumulticast.ptx.syntax import Module

NVRTC = Path(__file__).with_name("data") / "nvrtc"
TEXTS = {name: (NVRTC / f"{name}.ptx").read_text() for name in ("basic-90", "mma-100", "half-90")}
HEAD = ".version 9.5\n.target sm_90\n.address_size 64\n"
EXAMPLES = int(os.environ.get("CUMULTICAST_FUZZ_EXAMPLES", "60"))


def survives(text: str | bytes) -> PtxError | None:
    """Parse and check; give the error, if there is one. Anything but a PtxError fails the test."""
    try:
        module = parse(text)
        check(module, sm=90)
    except PtxError as error:
        found = error
    else:
        return compiles(module)
    assert found.status in (200, 218, 222)
    assert found.reason
    assert found.line >= 0
    return found


def compiles(module: Module) -> PtxError | None:
    """Compile all kernels; give the first error that is one of the text's: 218."""
    numbers = {name: number for number, name in enumerate(module.variables)}
    kernels = [one for one in module.functions.values() if one.kernel and one.body is not None]
    found = None
    for one in kernels:
        try:
            kernel.compile_kernel(module, one.name, numbers)
        except PtxError as error:
            found = found or error
    assert found is None or (found.status == 218 and found.reason)
    return found


_PIECES = st.one_of(
    st.sampled_from(
        [*';{}[]()<>,:@!+-*/%|?=_"\0\n', "<<", ".", "::", "generic(", "0f", "0x", "/*", "//", ".section", "%tid"]
    ),
    st.sampled_from(sorted({one for text in TEXTS.values() for one in tokenize(text).texts if len(one) < 40})),
    st.integers().map(str),
    st.text(max_size=6),
)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_mutated_texts(name: str, data: st.DataObject) -> None:
    text = TEXTS[name]
    start = data.draw(st.integers(0, max(0, len(text) - 4000)), label="window")
    text = HEAD + text[start : start + 4000] if start > 300 else text[:4000]
    for _ in range(data.draw(st.integers(1, 6), label="changes")):
        at = data.draw(st.integers(0, len(text)), label="at")
        gone = data.draw(st.sampled_from([0, 0, 1, 2, 5, 40]), label="gone")
        text = text[:at] + data.draw(_PIECES, label="piece") + text[at + gone :]
    survives(text)


_INSTRUCTION = re.compile(r"\s+(@!?%p\d+ )?[a-z].*;")
_REGISTER = re.compile(r"(%[a-z]+)\d+")
_OTHERS = ("0", "1", "-1", "0x7fffffff", "%tid.x", "%clock", "_")
_PROGRAMS = {name: (NVRTC / f"{name}.ptx").read_text().split("\n") for name in ("gemm-90", "half-90", "mma-90-G")}


def changed(lines: list[str], data: st.DataObject) -> None:
    """Change one instruction so that the text most often stays PTX: then the compiler gets it."""
    places = [at for at, line in enumerate(lines) if _INSTRUCTION.match(line)]
    at, other = (data.draw(st.sampled_from(places), label=label) for label in ("line", "other"))
    found = _REGISTER.search(lines[at])
    match data.draw(st.sampled_from(["drop", "copy", "swap", "insert", "guard", "register", "operand"]), label="how"):
        case "drop":
            lines[at] = ""
        case "copy":
            lines[at] = lines[other]
        case "swap":
            lines[at], lines[other] = lines[other], lines[at]
        case "insert":
            lines[at] += "\n" + lines[other]
        case "guard":
            lines[at] = f"@{data.draw(st.sampled_from(['', '!']))}%p1 {lines[at].strip()}"
        case "register" if found:
            lines[at] = lines[at].replace(found[0], f"{found[1]}{data.draw(st.integers(1, 12))}", 1)
        case "operand" if found:
            lines[at] = lines[at].replace(found[0], data.draw(st.sampled_from(_OTHERS)), 1)
        case _:
            pass


@settings(max_examples=max(EXAMPLES // 6, 1), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(_PROGRAMS)), st.data())
def test_changed_programs_compile_or_say_why_not(name: str, data: st.DataObject) -> None:
    lines = list(_PROGRAMS[name])
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        changed(lines, data)
    survives("\n".join(lines))


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(_PIECES, max_size=40))
def test_random_words_in_a_kernel(words: list[str]) -> None:
    survives(f"{HEAD}.visible .entry k(.param .u64 p) {{ .reg .b32 %r<9>; {' '.join(words)} }}")


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.binary(max_size=200))
def test_bytes(data: bytes) -> None:
    error = survives(data)
    assert error is not None and error.status == 200
    survives(HEAD.encode() + data)


_DEEP = 100_000


@pytest.mark.parametrize(
    "text",
    [
        ".entry k() {" + "{" * _DEEP,
        ".entry k() {" + "{" * _DEEP + "}" * _DEEP + "}",
        ".entry k() { .reg .b32 %r; mov.b32 %r, " + "(" * _DEEP + "1" + ")" * _DEEP + "; }",
        ".entry k() { .reg .b32 %r; mov.b32 %r, " + "-" * _DEEP + "1; }",
        ".entry k() { .reg .b32 %r; mov.b32 %r, " + "1?" * _DEEP + "1; }",
        ".entry k() { .reg .b32 %r; mov.b32 %r, " + "9" * _DEEP + "; }",
        ".entry k() { .reg .b32 %r; mov.b32 %r, 0x" + "f" * _DEEP + "; }",
        ".entry k() { .reg .f64 %r; mov.f64 %r, 1e999999; }",
        ".entry k() { .reg .f64 %r; mov.f64 %r, 1e" + "9" * _DEEP + "; }",
        ".entry k() { .reg .b32 %r<99999999999999999999999>; mov.b32 %r7, 1; }",
        ".entry k() { .reg .b32 %r<9>; mov.b32 %r" + "7" * _DEEP + ", 1; }",
        ".global .b8 x" + "[1]" * _DEEP + ";",
        ".global .b8 x[99999999][99999999][99999999];",
        ".global .b8 x[2] = " + "{" * _DEEP + "1" + "}" * _DEEP + ";",
        ".global .b32 x[4] = {1, 2, 3, 4, 5};",
        ".global .align 99999999999999999999 .b32 x;",
        ".global .b32 x = 1 << 99999999999999;",
        ".global .b32 x = 1 / 0;",
        '.file 1 "' + "x" * _DEEP,
        "/*" * _DEEP,
        "/* x" * _DEEP,
        '"' * _DEEP,
        '"\\' * _DEEP,
        "0x" * _DEEP,
        ".a::" * _DEEP,
        ".section .debug_info {" * _DEEP,
    ],
    ids=lambda text: text[:40],
)
def test_hostile_texts_end_soon(text: str) -> None:
    error = survives(HEAD + text)
    if "{" * _DEEP in text or "(" * _DEEP in text:
        assert error is not None and error.status == 218
