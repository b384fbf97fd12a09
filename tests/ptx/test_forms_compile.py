"""Whatever form the table accepts compiles: none of them is refused, or fails, only when a kernel is launched."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from form_lines import KERNEL, line

from cumulticast.ptx import kernel, machine_code
from cumulticast.ptx.errors import PtxError
from cumulticast.ptx.forms import book, check, match
from cumulticast.ptx.forms.notation import Form
from cumulticast.ptx.lower import all_lowerings
from cumulticast.ptx.lower.emitter import LOWERINGS
from cumulticast.ptx.parser import parse

TARGETS = ("sm_107a", "sm_100a", "sm_120a", "sm_90a")
#: What ends a block: nothing behind it would be compiled.
ENDS = ("bra", "brx", "exit", "ret", "trap", "brkpt")
#: All registers hold what differs between the lanes.
VARYING = "\n".join(
    ["mov.u32 %r1, %laneid; setp.eq.u32 %p1, %r1, 3; cvt.u64.u32 %d1, %r1; cvt.u16.u32 %h1, %r1; cvt.u8.u32 %c1, %r1;"]
    + ["mov.b128 %q1, {%d1, %d1};"]
    + [f"mov.pred %p{i}, %p1; mov.b64 %d{i}, %d1; mov.b128 %q{i}, %q1;" for i in range(2, 9)]
    + [f"mov.b16 %h{i}, %h1; mov.b32 %r{i}, %r1; cvt.u8.u32 %c{i}, %r1;" for i in range(2, 9)]
)
FORMS = [form for opcode in book.rows() for form in book.forms(opcode)]
PARTS = 12


def accepted_line(form: Form, rng: random.Random) -> tuple[str, str]:
    """Draw an instruction of the form that some target accepts: not every combination of its words exists."""
    reason = ""
    for _ in range(2000):  # few of the words of st with L2 eviction go together
        text = line(form, rng)
        for target in TARGETS:
            try:
                check(parse(KERNEL.format(version="9.5", target=target, line=text)), sm=int(target[3:].rstrip("a")))
            except PtxError as error:
                reason = str(error)
            else:
                return target, text
    raise AssertionError(f"no target accepts {form.text}: {reason}")


def batches(lines: list[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Put instructions of one target together; those that end a block stand alone."""
    together: dict[str, list[str]] = {}
    for target, text in lines:
        if text.split()[0].rstrip(";").split(".")[0] in ENDS:
            yield target, [text]
        else:
            together.setdefault(target, []).append(text)
    yield from together.items()


def kept(text: str) -> str:
    """Store what an instruction wrote, or the optimiser would leave it out."""
    first = text.partition(" ")[2].split("}" if " {" in text.partition(",")[0] else ",")[0]
    names = dict.fromkeys(re.findall(r"%[crhdqp]\d", "" if "[" in first else first))
    return text + "".join(_stored(name) for name in names)


def _stored(name: str) -> str:
    if name[1] == "p":
        return f" selp.b32 %r9, 1, 2, {name}; st.volatile.global.b32 [%d8], %r9;"
    bits = {"c": 8, "h": 16, "r": 32, "d": 64, "q": 128}[name[1]]
    return f" st.volatile.global.b{bits} [%d8], {name};"


def compiled(target: str, lines: list[str]) -> None:
    text = KERNEL.format(version="9.5", target=target, line="\n".join(map(kept, lines)))
    module = parse(text)
    check(module, sm=int(target[3:].rstrip("a")))
    machine_code.link(kernel.compile_kernel(module, "k", {}).code)  # of what the runtime has, nothing else


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("before", [[], [VARYING]], ids=["uniform", "varying"])
def test_every_form_compiles(part: int, before: list[str]) -> None:
    rng = random.Random(part)
    lines = [accepted_line(form, rng) for form in FORMS[part::PARTS]]
    for target, texts in batches(lines):
        try:
            compiled(target, [*before, *texts])
        except Exception as error:  # name the instruction, whatever went wrong
            for text in texts:
                try:
                    compiled(target, [*before, text])
                except Exception as single:
                    raise AssertionError(f"{target}: {text}") from single
            raise AssertionError(f"{target}: only together: {texts}") from error


def test_whatever_is_lowered_has_a_form_and_the_other_way_round() -> None:
    all_lowerings()
    made = {"vprintf", "assertfail", "device_malloc", "device_free", "barrier_result"}  # of calls and barriers
    lowered = {name.split(".")[0] for name in LOWERINGS} - made
    flow = {*ENDS, "call", "nanosleep"}
    assert lowered - book.rows().keys() == set()
    assert book.rows().keys() - lowered - flow == set()
    assert not [name for name in lowered if match.unsimulated(name, ())]
