"""Whatever the text, parse and check raise PtxError or nothing: mutations of real PTX, and hostile texts by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.forms import check
from cumulticast.ptx.lexer import tokenize
from cumulticast.ptx.parser import parse

NVRTC = Path(__file__).with_name("data") / "nvrtc"
TEXTS = {name: (NVRTC / f"{name}.ptx").read_text() for name in ("basic-90", "mma-100", "half-90")}
HEAD = ".version 9.5\n.target sm_90\n.address_size 64\n"
EXAMPLES = int(os.environ.get("CUMULTICAST_FUZZ_EXAMPLES", "60"))


def survives(text: str | bytes) -> PtxError | None:
    """Parse and check; give the error, if there is one. Anything but a PtxError fails the test."""
    try:
        check(parse(text), sm=90)
    except PtxError as error:
        found = error
    else:
        return None
    assert found.status in (200, 218, 222)
    assert found.reason
    assert found.line >= 0
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
