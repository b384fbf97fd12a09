"""Logs as people have them: mixed, interleaved, cut off, damaged: never a traceback, never an invented fault."""

from __future__ import annotations

import io

import pytest
from explain_cases import CASES, Case
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cumulticast.why import explain, explain_streams

LINES = {case.id: b"".join(path.read_bytes() for path in case.inputs).split(b"\n") for case in CASES}
#: Texts without any fault: those whose verdict is calm, and programs that have nothing to do with GPUs.
CALM = [case for case in CASES if case.expected["verdict"] in ("healthy", "unrelated")]
PROGRAMS = [
    b"npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nnpm ERR! Failed at the build script.\n",
    b"gcc: error: foo.c: No such file or directory\nmake: *** [Makefile:3: foo.o] Error 1\n",
    b"2026-01-01T00:00:00Z INFO http: request took 802 ms, status 401\nGET /login 401 Unauthorized\n",
    b"ip route add multicast 224.0.0.0/4 dev eth0\nRTNETLINK answers: Operation not permitted\n",
    b"iperf -c 239.1.1.1 multicast ttl 8: sendto failed: Operation not permitted\n",
    b'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nValueError: invalid argument\n',
    b"OSError: [Errno 12] Cannot allocate memory\nKilled process 4242 (python3) total-vm:8388608kB\n",
    b"E: Unable to locate package nvidia-fabricmanager-580\n",
    b"sqlite3.OperationalError: database is locked\nsystemd[1]: nginx.service: Failed with result 'exit-code'.\n",
    b"wsl: nvidia-smi has failed because it couldn't communicate with the NVIDIA driver.\n",
    b"tar: Error is not recoverable: exiting now\nerror code 802\n",
    b"pod/coredns: Readiness probe failed: HTTP probe failed with statuscode: 503\n",
    b"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB\n",
    b"RuntimeError: CUDA error: device-side assert triggered\n",
    b"RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
    b"NVRM: Xid (PCI:0000:1b:00): 31, pid=77, name=python, Ch 00000008, intr 0. MMU Fault\n",
    b"NVRM: Xid (PCI:0000:1b:00): 13, pid=77, name=python, Graphics SM Warp Exception\n",
    b"nvidia-smi nvlink -s\nNVML: Unable to retrieve NVLink information as all links are inActive\n",
    b"RuntimeError: CUDA driver error: out of memory\n",
    b"RuntimeError: CUDA error: an illegal memory access was encountered\n",
]
QUICK = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def verdict(text: bytes) -> str:
    return explain(text).verdict


@pytest.mark.parametrize("text", PROGRAMS, ids=range(len(PROGRAMS)))
def test_other_programs_have_no_multicast_fault(text: bytes) -> None:
    assert verdict(text) == "unrelated"


@pytest.mark.parametrize("case", CALM, ids=lambda case: case.id)
@QUICK
@given(data=st.data())
def test_a_calm_log_never_becomes_a_fault(case: Case, data: st.DataObject) -> None:
    """Lines are left out, cut, repeated; what is left has no fault either."""
    kept = data.draw(st.lists(st.sampled_from(LINES[case.id]), max_size=60))
    cut = data.draw(st.integers(0, 200))
    noise = data.draw(st.sampled_from(PROGRAMS))
    probe = case.expected["status"]["code"] == 800  # a refusal without what shows that it is handled is open
    if not probe:
        assert verdict(b"\n".join([*kept, noise])[: len(b"\n".join(kept)) + len(noise) - cut]) != "fault"


SECTION = """    Fabric
        State                                          : Completed
        Status                                         : Success
        Health
            Summary                                    : Healthy
            Bandwidth                                  : Full
            Route Unhealthy                            : False
            Incorrect Configuration                    : None
            Partition Assigned                         : True
"""


def test_a_section_that_is_cut_off_anywhere_is_no_fault() -> None:
    for end in range(len(SECTION)):
        assert explain(SECTION[:end].encode()).verdict != "fault", SECTION[:end]
    for good, bad in (("Success", "Failure"), ("Healthy", "Unhealthy"), ("Full", "Degraded"), (": False", ": True")):
        assert explain(SECTION.replace(good, bad, 1).encode()).verdict == "fault", bad


@QUICK
@given(st.lists(st.sampled_from(PROGRAMS), max_size=6), st.binary(max_size=300))
def test_other_programs_with_junk_have_no_fault(texts: list[bytes], junk: bytes) -> None:
    assert verdict(b"".join([*texts, junk])) in ("unrelated", "uncertain", "healthy")


@QUICK
@given(st.data())
def test_mixtures_and_damage_never_raise(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(LINES)), min_size=1, max_size=4))
    pool = [line for name in names for line in LINES[name]]
    order = data.draw(st.lists(st.integers(0, len(pool) - 1), max_size=80))
    junk = data.draw(st.binary(max_size=80))
    text = bytearray(b"\n".join([pool[place] for place in order]) + junk)
    for place in data.draw(st.lists(st.integers(0, max(0, len(text) - 1)), max_size=20)):
        if text:
            text[place % len(text)] = data.draw(st.integers(0, 255))
    inputs = [("a.log", io.BytesIO(bytes(text))), ("b.log", io.BytesIO(junk))]
    answer = explain_streams(inputs)
    assert answer.as_dict()["verdict"] in ("fault", "unsupported", "healthy", "unrelated", "uncertain")
    assert str(answer)
    ends = {name: size.count(b"\n") + 1 for name, size in (("a.log", bytes(text)), ("b.log", junk))}
    for line in answer.evidence:
        name, _, number = line.rpartition(":")
        assert 1 <= int(number) <= ends[name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_beginning_of_a_log_is_answered(case: Case) -> None:
    lines = LINES[case.id]
    for end in range(0, len(lines), max(1, len(lines) // 12)):
        answer = explain(b"\n".join(lines[:end]))
        if case.expected["verdict"] in ("healthy", "unrelated"):
            assert answer.verdict != "fault" or case.expected["status"]["code"] == 800


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""], ids=["bom", "plain"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize(
    "prefix",
    [
        b"", b"> > ", b"2025-04-04T16:57:57.7153695Z ", b"[pod/train-0/main] ", b"[1,3]<stderr>:", b"[rank3]: ",
        b"(RayWorkerWrapper pid=10858, ip=200.18.66.58) ", b"\x1b[36m(WorkerDict pid=1)\x1b[0m ", b"[default3]:",
        b"> 2025-04-04T16:57:57.7153695Z [pod/train-0/main] [rank3]: ", b"May 06 07:02:10 h trainer[5120]: ",
        b"(Worker_TP3 pid=418) ERROR 02-19 10:46:04 [multiproc_executor.py:863] ", b"3: ", b"[trainer0|3]:",
        b"[2026-01-09 08:18:31 TP3] ",
    ],
)  # fmt: skip
def test_prefixes_ends_of_lines_and_marks(prefix: bytes, end: bytes, mark: bytes) -> None:
    log = [
        b"h:1:2 [3] NCCL INFO NCCL version 2.26.2+cuda12.9",
        b"h:1:2 [3] transport/nvls.cc:254 NCCL WARN Cuda failure 401 "
        b"'the operation cannot be performed in the present state'",
    ]
    answer = explain(mark + end.join(prefix + line for line in log))
    assert (answer.cause, answer.code, answer.call) == ("fabric-bad-state", 401, "cuMulticastBindMem")
    assert answer.evidence == ["text:2"]
    assert answer.first_rank == 3


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "utf-32"])
def test_encodings(encoding: str) -> None:
    text = (
        "caf\u00e9 \u2192\nCUDA error 401 'the operation cannot be performed in the present state' cuMulticastBindMem\n"
    )
    marked = text if encoding != "utf-16-le" else "\ufeff" + text
    answer = explain(marked.encode(encoding))
    assert (answer.cause, answer.evidence) == ("fabric-bad-state", ["text:2"])
