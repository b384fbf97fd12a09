"""Whatever stands in a file, the reader, the check, the summary and the drawing end, and say 0, 1 or 3."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_trace_check import CREATE, IMPORT, RELEASE, RELEASE_1, UNBIND, add, bind, waiting
from test_trace_perfetto import validate
from traced import HEADER, KEYS, line

from cumulticast.cli import main

GOOD = [CREATE, IMPORT, add(0), add(1), bind(), waiting(2.0, 1.0), UNBIND, RELEASE_1, RELEASE]
CALLS = [one["call"] for one in GOOD] + ["cuMemMap", "cuMemUnmap", "cuMemAddressReserve", "cuDevicePrimaryCtxReset"]
MANY = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("\ud800")
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
NAMES = [*KEYS, "objects", "waited_us", "more_findings", "refused", "schema"]
PARAMS = ["mcHandle", "handle", "ptr", "size", "dev", "mcOffset", "prop", "pctx"]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A good line of which some values are anything."""
    one: dict[str, Any] = json.loads(json.dumps(draw(st.sampled_from(GOOD))))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.sampled_from(["top", "args", "out", "objects", "call"]))
        if place == "call":
            one["call"] = draw(st.sampled_from(CALLS))
        elif place == "top":
            one[draw(st.sampled_from(NAMES))] = draw(VALUES)
        elif isinstance(one.get(place), dict):
            one[place][draw(st.sampled_from(PARAMS))] = draw(VALUES)
    return json.dumps(one)


LINES = st.lists(mutated() | VALUES.map(json.dumps) | st.text(max_size=60), max_size=12)


def all_ways(place: Path, content: bytes) -> None:
    path, out = place / "t", place / "out.json"
    path.write_bytes(content)
    out.unlink(missing_ok=True)
    for options in (["--check"], ["--check", "--json"], [], ["--json"], ["--perfetto", str(out)]):
        said, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            assert main(["trace", str(path), *options]) in (0, 1, 3)
        said.getvalue().encode()  # nothing that a stream cannot take
        if "--json" in options and said.getvalue():
            json.loads(said.getvalue())
    if out.exists():
        validate(json.loads(out.read_text())["traceEvents"])


@MANY
@given(content=st.binary(max_size=400))
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    all_ways(tmp_path, content)


@MANY
@given(content=st.binary(max_size=400))
def test_any_bytes_behind_a_header(tmp_path: Path, content: bytes) -> None:
    all_ways(tmp_path, json.dumps(HEADER).encode() + b"\n" + content)


@MANY
@given(lines=LINES)
def test_any_lines(tmp_path: Path, lines: list[str]) -> None:
    text = "\n".join([json.dumps(HEADER), *lines]) + "\n"
    all_ways(tmp_path, text.encode("utf-8", "surrogatepass"))


@MANY
@given(cut=st.integers(0, 4000), at=st.integers(0, 4000), noise=st.binary(max_size=5))
def test_a_good_trace_cut_and_scratched(tmp_path: Path, cut: int, at: int, noise: bytes) -> None:
    whole = "\n".join(map(json.dumps, [HEADER, *GOOD])).encode() + b"\n"
    all_ways(tmp_path, (whole[:at] + noise + whole[at + len(noise) :])[:cut])


@pytest.mark.parametrize(
    "rest",
    [
        b"[" * 100_000 + b"\n",
        b'{"t": ' * 30_000 + b"\n",
        b'{"t": ' + b"9" * 10_000 + b"}\n",
        b'{"t": 1e999, "call": "cuInit"}\n',
        json.dumps(line("cuInit", t=float("nan"))).encode() + b"\n",
        b"x" * (3 << 20),
        b"x" * (3 << 20) + b"\n" + json.dumps(line("cuInit")).encode() + b"\n",
        b"\x00" * 5000 + b"\n" * 5000,
    ],
    ids=["nested", "nested heads", "long number", "infinite", "nan", "no end", "very long line", "nothing"],
)
def test_lines_that_were_made_to_hurt(tmp_path: Path, rest: bytes) -> None:
    all_ways(tmp_path, json.dumps(HEADER).encode() + b"\n" + rest)
