"""What `cumulticast trace --check` finds in small traces, and what it does not find in their good neighbours."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import cumulticast
from traced import HEADER, Line, line, write

from cumulticast.cli.trace_check import Check, Problem
from cumulticast.cli.trace_reader import Reader, Unreadable

MC, MEM, OBJ = 0x6D63_0000_0010, 0x6D63_0000_0020, {"mcHandle": 7}
PROP = {"numDevices": 2, "size": 2 << 20, "handleTypes": "FABRIC", "flags": 0}
CREATE = line("cuMulticastCreate", {"prop": PROP}, {"mcHandle": MC}, objects=OBJ)
IMPORT = line(
    "cuMemImportFromShareableHandle",
    {"osHandle": 3, "shHandleType": 1},
    {"handle": MC + 64},
    pid=200,
    tid=200,
    rank=1,
    objects={"handle": 7},
)
RELEASE = line("cuMemRelease", {"handle": MC}, objects={"handle": 7})
RELEASE_1 = line("cuMemRelease", {"handle": MC + 64}, pid=200, tid=200, rank=1, objects={"handle": 7})


def add(device: int, **more: Any) -> Line:
    return line("cuMulticastAddDevice", {"mcHandle": MC, "dev": device}, objects=OBJ, **more)


def bind(status: int = 0, call: str = "cuMulticastBindMem", **more: Any) -> Line:
    args = {"mcHandle": MC, "mcOffset": 0, "memHandle": MEM, "memOffset": 0, "size": 2 << 20, "flags": 0}
    return line(call, args, status=status, objects=OBJ, **more)


UNBIND = line("cuMulticastUnbind", {"mcHandle": MC, "dev": 0, "mcOffset": 0, "size": 2 << 20}, objects=OBJ)
ONE = {"pid": 200, "tid": 200, "rank": 1}


def check(path: Path, *lines: Line | str) -> list[Problem]:
    return Check().run(Reader(write(path / "t", *lines)))


def test_a_clean_trace(tmp_path: Path) -> None:
    trace = [CREATE, IMPORT, add(0), add(1, **ONE), bind(), UNBIND, RELEASE_1, RELEASE]
    assert check(tmp_path, *trace) == []


# ---- leaks


TAKEN = [
    ("cuMemCreate", {"size": 1}, {"handle": 5}, ("cuMemRelease", {"handle": 5})),
    ("cuMulticastCreate", {"prop": PROP}, {"mcHandle": 5}, ("cuMemRelease", {"handle": 5})),
    ("cuMemImportFromShareableHandle", {"osHandle": 1}, {"handle": 5}, ("cuMemRelease", {"handle": 5})),
    ("cuMemRetainAllocationHandle", {"addr": 1}, {"handle": 5}, ("cuMemRelease", {"handle": 5})),
    ("cuMemAddressReserve", {"size": 9, "addr": 0}, {"ptr": 5}, ("cuMemAddressFree", {"ptr": 5, "size": 9})),
    ("cuMemMap", {"ptr": 5, "size": 4, "handle": 2}, {}, ("cuMemUnmap", {"ptr": 5, "size": 4})),
    ("cuMemMap", {"ptr": 5, "size": 4, "handle": 2}, {}, ("cuMemUnmap", {"ptr": 2, "size": 7})),
    ("cuMemAlloc_v2", {"bytesize": 4}, {"dptr": 5}, ("cuMemFree_v2", {"dptr": 5})),
    ("cuMemAllocAsync_ptsz", {"bytesize": 4}, {"dptr": 5}, ("cuMemFreeAsync", {"dptr": 5})),
    ("cuDevicePrimaryCtxRetain", {"dev": 0}, {"pctx": 5}, ("cuDevicePrimaryCtxRelease_v2", {"dev": 0})),
    ("cuDevicePrimaryCtxRetain", {"dev": 0}, {"pctx": 5}, ("cuDevicePrimaryCtxReset_v2", {"dev": 0})),
    ("cuCtxCreate_v4", {"flags": 0, "dev": 0}, {"pctx": 5}, ("cuCtxDestroy_v2", {"ctx": 5})),
]


@pytest.mark.parametrize(("call", "args", "out", "end"), TAKEN)
def test_what_is_taken_has_to_be_given_back(
    tmp_path: Path, call: str, args: Line, out: Line, end: tuple[str, Line]
) -> None:
    taken, given = line(call, args, out), line(*end)
    (leak,) = check(tmp_path, taken)
    assert (leak.kind, leak.call, leak.line, leak.count, leak.ranks) == ("leak", call, 2, 1, {0})
    assert check(tmp_path, taken, given) == []
    refused = {**line(*end), "status": 1}
    assert [problem.kind for problem in check(tmp_path, taken, refused)] == ["failure", "leak"]
    other = {**given, "pid": 101}
    assert [problem.kind for problem in check(tmp_path, taken, other)] == ["leak"]
    assert check(tmp_path, {**taken, "status": 1}, {**taken, "status": 0}, given) == []


def test_each_reference_counts(tmp_path: Path) -> None:
    made = line("cuMemCreate", {"size": 1}, {"handle": 5})
    again = line("cuMemRetainAllocationHandle", {"addr": 1}, {"handle": 5})
    freed = line("cuMemRelease", {"handle": 5})
    assert len(check(tmp_path, made, again, freed)) == 1
    assert check(tmp_path, made, again, freed, freed) == []


def test_leaks_of_one_process_are_told_together_and_those_of_two_apart(tmp_path: Path) -> None:
    made = [line("cuMemCreate", {"size": 1}, {"handle": 5 + k}, pid=100 + k // 5, rank=k // 5) for k in range(8)]
    first, second = check(tmp_path, *made)
    assert (first.count, first.ranks, second.count, second.ranks) == (5, {0}, 3, {1})
    assert "5 handles never released" in first.message and "and 2 more" in first.message


def test_an_object_that_is_released_with_a_bind_in_place(tmp_path: Path) -> None:
    (leak,) = check(tmp_path, CREATE, add(0), add(1), bind(), RELEASE)
    assert (leak.kind, leak.line) == ("leak", 5)
    assert "released (line 6) with 1 binds in place" in leak.message
    assert check(tmp_path, CREATE, add(0), add(1), bind(), UNBIND, RELEASE) == []


def test_the_last_release_anywhere_is_what_counts(tmp_path: Path) -> None:
    begun = [CREATE, IMPORT, add(0), add(1), bind()]
    assert check(tmp_path, *begun, RELEASE, UNBIND, RELEASE_1) == []
    assert [problem.kind for problem in check(tmp_path, *begun, RELEASE, RELEASE_1, UNBIND)] == ["leak"]


def test_both_forms_of_a_bind_are_unbound(tmp_path: Path) -> None:
    newer = bind(call="cuMulticastBindMem_v2")
    newer["args"]["dev"] = 1
    other = {**UNBIND, "args": {**UNBIND["args"], "dev": 1}}
    begun = [CREATE, add(0), add(1), bind(), newer]
    assert check(tmp_path, *begun, UNBIND, other, RELEASE) == []
    (leak,) = check(tmp_path, *begun, other, RELEASE)
    assert leak.call == "cuMulticastBindMem"


# ---- findings, failures


def test_recorded_findings_are_grouped_with_their_first_line(tmp_path: Path) -> None:
    beyond = {"rule": "MC308", "message": "beyond"}
    trace = [line("cuX", finding=None), *(line("cuX", finding=beyond, rank=r, pid=100 + r) for r in (3, 1, 1))]
    (problem,) = check(tmp_path, *trace)
    found = (problem.kind, problem.rule, problem.count, problem.line, problem.ranks, problem.message)
    assert found == ("departure", "MC308", 3, 3, {1, 3}, "beyond")


def test_kinds_come_from_the_book_and_more_findings_count(tmp_path: Path) -> None:
    from cumulticast.rules import all_rules

    undefined, advice = (next(r for r in all_rules() if r.kind == kind) for kind in ("undefined", "advice"))
    said = [{"rule": code, "message": code} for code in (advice.code, undefined.code, "MC999")]
    problems = check(tmp_path, line("cuX", finding=said[0], more_findings=said[1:]))
    assert [(p.kind, p.rule) for p in problems] == [
        ("undefined", undefined.code),
        ("departure", "MC999"),
        ("advice", advice.code),
    ]


def test_failures_that_were_never_made_good(tmp_path: Path) -> None:
    refused = {"rule": "MC304", "message": "size 5"}
    bad = bind(1, refused=refused)
    (problem,) = check(tmp_path, bad, bad, bind(802, call="cuMulticastBindMem_v2", refused=None))
    assert (problem.kind, problem.count, problem.line) == ("failure", 3, 2)
    assert problem.message == "failed with 802 and never succeeded after that"
    (problem,) = check(tmp_path, bad)
    assert problem.rule == "MC304" and problem.message.endswith("after that: size 5")
    assert check(tmp_path, bad, bind()) == []
    assert len(check(tmp_path, bind(), bad)) == 1
    assert len(check(tmp_path, bad, {**bind(), **ONE})) == 1  # another's success helps nobody


def test_not_ready_is_an_answer(tmp_path: Path) -> None:
    assert check(tmp_path, line("cuStreamQuery", {"hStream": 0}, status=600)) == []
    assert len(check(tmp_path, line("cuStreamQuery", {"hStream": 0}, status=400))) == 1


# ---- waits, devices that never came


def waiting(seconds: float, t: float, **more: Any) -> Line:
    return {**bind(**more), "t": t, "duration_us": seconds * 1e6 + 50, "waited_us": seconds * 1e6}


def test_a_long_wait_and_who_ended_it(tmp_path: Path) -> None:
    """The waiter is woken inside of the call that adds the device: its line can come first."""
    last = {**add(1, **ONE), "t": 5.0, "duration_us": 900.0}
    trace = [CREATE, IMPORT, {**add(0), "t": 0.5}, waiting(4.0, 1.0002), last, UNBIND, RELEASE_1, RELEASE]
    (problem,) = check(tmp_path, *trace)
    assert (problem.kind, problem.call, problem.line) == ("wait", "cuMulticastBindMem", 5)
    assert problem.message == "rank 0 waited 4.0 s until rank 1 added device 1 (line 6)"
    trace[3] = waiting(0.99, 4.011)
    assert check(tmp_path, *trace) == []


def test_a_wait_that_nobody_ended(tmp_path: Path) -> None:
    why = {"rule": "MC360", "message": "nobody is left"}
    trace = [CREATE, IMPORT, add(0), waiting(1.2, 1.0, status=909, refused=why), RELEASE_1, RELEASE]
    missing, wait, failure = check(tmp_path, *trace)
    assert (missing.kind, missing.ranks) == ("missing-device", {1})
    assert "1 of 2 devices were never added" in missing.message and "rank 1 added none" in missing.message
    assert wait.message == "rank 0 waited 1.2 s and ended with 909: nobody is left"
    assert failure.kind == "failure"


def test_missing_devices_of_an_object_that_is_still_there(tmp_path: Path) -> None:
    kinds = [problem.kind for problem in check(tmp_path, CREATE, add(0))]
    assert kinds == ["missing-device", "leak"]
    assert check(tmp_path, CREATE, RELEASE) == []  # made and never used


def test_a_wait_for_an_object_from_nowhere(tmp_path: Path) -> None:
    (problem,) = check(tmp_path, waiting(2.0, 1.0))
    assert problem.message == "rank 0 waited 2.0 s and ended with 0: no reason recorded"


# ---- worlds, damage, the command


def test_worlds_do_not_mix(tmp_path: Path) -> None:
    made, freed = line("cuMemCreate", {"size": 1}, {"handle": 5}), line("cuMemRelease", {"handle": 5})
    other = json.dumps({**HEADER, "world": "/dev/shm/other"})
    assert [problem.kind for problem in check(tmp_path, made, other, freed)] == ["leak"]
    assert check(tmp_path, made, freed, other) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "no header"),
        (b"\n", "no header"),
        (b"\x80\x81\n", "no header"),
        (b"[1]\n", "no header"),
        (b'{"schema": 1}\n', "lacks the machine"),
        (b'{"schema": 2, "machine": "x", "world": "x", "profile": "x"}\n', "schema 2, this version reads 1"),
        (b'{"schema": {"a": "\\u001b[2J"}}\n', "this version reads 1"),
    ],
)
def test_a_file_that_is_no_trace(tmp_path: Path, text: bytes, why: str) -> None:
    path = tmp_path / "t"
    path.write_bytes(text)
    with pytest.raises(Unreadable, match=why):
        Check().run(Reader(path))
    for options in (["--check"], [], ["--perfetto", str(tmp_path / "out")]):
        done = cumulticast("trace", str(path), *options)
        assert (done.returncode, done.stdout) == (3, "") and why in done.stderr and "\x1b" not in done.stderr
        assert not (tmp_path / "out").exists()


def test_a_cut_off_last_line_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "t", line("cuInit"))
    path.write_text(path.read_text() + json.dumps(line("cuX", status=1))[:-5])
    done = cumulticast("trace", "--check", str(path))
    assert (done.returncode, done.stdout) == (0, "1 calls of 1 processes: no findings\n")
    assert done.stderr == "cumulticast trace: line 3 is cut off and was left out\n"


def test_damage_in_the_middle_leaves_the_answer_open(tmp_path: Path) -> None:
    whole = json.dumps(line("cuInit"))
    torn = whole[:40] + json.dumps(line("cuCtxGetCurrent"))  # a full disk cut one, and had room again
    path = write(tmp_path / "t", whole, torn, "rubbish", whole)
    reader = Reader(path)
    calls = [item.call for item in reader if hasattr(item, "call")]
    assert calls == ["cuInit", "cuCtxGetCurrent", "cuInit"] and reader.damaged == [3, 4]
    done = cumulticast("trace", "--check", str(path))
    assert done.returncode == 3 and "2 damaged lines were left out (3, 4)" in done.stderr
    path = write(path, "rubbish", line("cuInit", status=1))
    assert cumulticast("trace", "--check", str(path)).returncode == 1


def run(path: Path, *words: str, code: int) -> subprocess.CompletedProcess[str]:
    done = cumulticast("trace", str(path), *words)
    assert (done.returncode, done.stderr) == (code, ""), done.stderr
    return done


def test_check_as_text_and_as_json(tmp_path: Path) -> None:
    beyond = {"rule": "MC308", "message": "beyond \x1b[2J"}
    path = write(tmp_path / "t", line("cuMulticastBindMem", finding=beyond), line("cuMemCreate", {}, {"handle": 5}))
    text = run(path, "--check", code=1).stdout
    assert "departure  MC308 cuMulticastBindMem" in text and "beyond ?[2J" in text and "\x1b" not in text
    document = json.loads(run(path, "--check", "--json", code=1).stdout)
    assert (document["schema"], document["lines"], document["calls"], document["processes"]) == (1, 3, 2, 1)
    first, second = document["findings"]
    assert first == {
        "kind": "departure",
        "rule": "MC308",
        "call": "cuMulticastBindMem",
        "count": 1,
        "ranks": [0],
        "pids": [100],
        "line": 2,
        "message": "beyond ?[2J",
    }
    assert second["kind"] == "leak"


def test_the_summary_counts_by_call_and_rank(tmp_path: Path) -> None:
    trace = [line("cuA", status=1), line("cuA", rank=1, pid=9), line("cuB", rank=None, duration_us=5e6, waited_us=4e6)]
    path = write(tmp_path / "t", *trace)
    document = json.loads(run(path, "--json", code=0).stdout)
    totals = {row["call"]: row for row in document["calls"]}
    assert [(totals[c]["count"], totals[c]["failures"], totals[c]["total_us"]) for c in ("cuA", "cuB")] == [
        (2, 1, 20.0),
        (1, 0, 5e6),
    ]
    assert [row["rank"] for row in document["ranks"]] == ["rank 0", "rank 1", "pid 100"]
    rows = [row.split() for row in run(path, code=0).stdout.splitlines()]
    assert ["cuB", "1", "0", "5000.0", "5000000.0", "5000.0", "4000.0"] in rows
    assert ["rank", "1", "1", "0", "0.0", "10.0", "0.0", "0.0"] in rows


def test_usage(tmp_path: Path) -> None:
    done = cumulticast("trace", str(tmp_path / "none"))
    assert done.returncode == 2 and "No such file or directory" in done.stderr
    path = write(tmp_path / "t", line("cuInit"))
    before = path.read_bytes()
    done = cumulticast("trace", str(path), "--perfetto", str(path))
    assert done.returncode == 2 and path.read_bytes() == before
    done = cumulticast("trace", str(path), "--perfetto", str(tmp_path / "no" / "out"))
    assert done.returncode == 2 and "no/out: No such file or directory" in done.stderr


def test_a_large_trace_is_read_as_a_stream(tmp_path: Path) -> None:
    """20 000 calls (6 MB): memory stays flat."""
    import tracemalloc

    path = tmp_path / "t"
    some = [json.dumps(add(0, refused=None, t=1.5)), json.dumps(line("cuMemCreate", {"size": 1}, {"handle": 5}, t=1.6))]
    some += [json.dumps(line("cuMemRelease", {"handle": 5}, t=1.7)), json.dumps(line("cuInit", t=1.8))]
    with path.open("w") as file:
        file.write(json.dumps(HEADER) + "\n")
        for _ in range(50):
            file.write(("\n".join(some) + "\n") * 100)
    tracemalloc.start()
    try:
        assert Check().run(Reader(path)) == []
        assert tracemalloc.get_traced_memory()[1] < 3e6
    finally:
        tracemalloc.stop()
