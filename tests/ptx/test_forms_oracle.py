"""Single instructions, right and wrong, as ptxas 13.5 judged them: made from the table's rows and by mutating them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cumulticast.ptx import kernel
from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.forms import check
from cumulticast.ptx.parser import parse
from cumulticast.ptx.versions import read_target

#: One instruction in so many is compiled; CUMULTICAST_FUZZ_EXAMPLES compiles all.
SHARE = 1 if "CUMULTICAST_FUZZ_EXAMPLES" in os.environ else 8
ORACLE = json.loads(Path(__file__).with_name("data").joinpath("ptxas_forms.json").read_text())

_KERNEL = """.version 9.5
.target {target}
.address_size 64
.visible .entry k(.param .u64 p0, .param .u32 p1)
{{
.reg .pred %p<9>; .reg .b16 %h<12>; .reg .b32 %r<20>; .reg .b64 %d<12>; .reg .f32 %f<12>; .reg .f64 %g<12>;
.reg .b8 %c<12>; .reg .b128 %q<12>;
TAB: .branchtargets LAB; {line}
LAB:
ret;
}}
"""


def judge(target: str, line: str) -> str:
    """Give what is wrong with one instruction; empty if nothing."""
    known = read_target(target)
    assert known is not None
    try:
        check(parse(_KERNEL.format(target=target, line=line)), sm=known.sm)
    except PtxError as error:
        return str(error) or "?"
    return ""


@pytest.mark.parametrize("part", range(8))
def test_what_ptxas_accepts(part: int) -> None:
    cases = ORACLE["accepted"][part::8]
    assert len(cases) > 50
    assert {f"{target} {line}": reason for target, line in cases if (reason := judge(target, line))} == {}


@pytest.mark.parametrize("part", range(8))
def test_what_ptxas_accepts_compiles(part: int) -> None:
    """Whatever the operands: wider registers, constants, special registers."""
    failed: dict[str, str] = {}
    for target, line in ORACLE["accepted"][part :: 8 * SHARE]:
        try:
            kernel.compile_kernel(parse(_KERNEL.format(target=target, line=line)), "k", {})
        except Exception as error:  # its name and words, with the instruction
            failed[f"{target} {line}"] = repr(error)
    assert failed == {}


@pytest.mark.parametrize("part", range(8))
def test_what_ptxas_refuses(part: int) -> None:
    cases = ORACLE["refused"][part::8]
    assert len(cases) > 50
    assert [f"{target} {line}" for target, line in cases if not judge(target, line)] == []
