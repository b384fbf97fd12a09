"""Reading as a stream: the same lines and numbers whatever the blocks, and no more memory than a few blocks."""

from __future__ import annotations

import gzip
import io
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cumulticast.why import explain, explain_streams, reading
from cumulticast.why.prefixes import strip, time_of
from cumulticast.why.reading import telling_lines

WORDS = ("alpha", "beta gamma")
PIECES = st.sampled_from(
    [b"alpha", b"BETA gamma", b"\n", b"\n\n", b"\r\n", b"x", b"\xff\x00", b"NCCL INFO Channel 1", b"gamma"]
)


def found(data: bytes) -> list[tuple[int, str, frozenset[str]]]:
    lines = telling_lines(io.BytesIO(data), "f", lambda: WORDS)
    return [(line.place.number, line.raw, line.words) for line in lines]


def expected(data: bytes) -> list[tuple[int, str, frozenset[str]]]:
    answer: list[tuple[int, str, frozenset[str]]] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        text = line.decode("utf-8", "replace").rstrip("\r")
        words = frozenset(word for word in WORDS if word.encode() in line.lower())
        if words and b"NCCL INFO Channel 1" not in line:
            answer.append((number, text, words))
    return answer


@settings(deadline=None)
@given(st.lists(PIECES, max_size=60).map(b"".join))
def test_lines_are_those_of_the_text(data: bytes) -> None:
    assert found(data) == [one for one in expected(data) if "NCCL INFO" not in one[1]]


@pytest.mark.parametrize(("block", "around"), [(64, 16), (7, 64), (200, 1), (1000, 1000)])
def test_the_size_of_blocks_does_not_matter(monkeypatch: pytest.MonkeyPatch, block: int, around: int) -> None:
    data = b"".join(
        b"line %d %s\n" % (n, b"alpha" if n % 7 == 0 else b"beta gamma" if n % 11 == 0 else b"-") for n in range(300)
    )
    whole = found(data)
    assert len(whole) == 67
    monkeypatch.setattr(reading, "BLOCK", block)
    monkeypatch.setattr(reading, "AROUND", around)
    assert found(data) == whole


def test_neighbours_are_numbered() -> None:
    (line,) = telling_lines(io.BytesIO(b"one\ntwo\nthree alpha\nfour\nfive"), "f", lambda: WORDS)
    assert [(near.place.number, near.text) for near in line.following(5)] == [(4, "four"), (5, "five")]
    assert [(near.place.number, near.text) for near in line.preceding(5)] == [(2, "two"), (1, "one")]


def test_a_large_log_needs_little_memory() -> None:
    class Endless(io.RawIOBase):
        left = 24 << 20

        def read(self, size: int = -1) -> bytes:
            size = min(size, self.left)
            self.left -= size
            return (b"node:1:2 [0] NCCL TRACE something long that says nothing\n" * (size // 57 + 1))[:size]

    tracemalloc.start()
    explain_streams([("big", Endless())])  # type: ignore[list-item]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 << 20


def test_one_endless_line_is_cut() -> None:
    answer = explain_streams([("f", io.BytesIO(b"cuMulticastBindMem CUDA error 401 " + b"x" * (9 << 20)))])
    assert answer.code == 401
    assert len(answer.quotes[0].text) <= reading.LONGEST


@pytest.mark.parametrize(
    ("line", "text", "rank", "host"),
    [
        ("[rank3]: hello", "hello", 3, None),
        ("[1,8]<stderr>:hello", "hello", 8, None),
        ("(Worker_TP2 pid=418) ERROR 02-19 10:46:04 [multiproc_executor.py:863] hello", "hello", 2, None),
        ("May 06 07:02:10 gpu-7 trainer[5120]: hello", "hello", None, "gpu-7"),
        ("\x1b[36m(RayWorker pid=1, ip=1.2.3.4)\x1b[0m \x1b[1mhello\x1b[0m", "hello", None, None),
        ("[Mar 03 2026 08:30:12] [INFO] [tid 401990] hello", "hello", None, None),
        ("[2026-01-09 08:18:31 DP0 TP4 EP4] hello", "hello", 4, None),
        ("[rank5]:[E228 11:12:33.902118801 ProcessGroupNCCL.cpp:688] hello", "hello", 5, None),
        ("  indented", "  indented", None, None),
        ("[CUDA_ERROR_NOT_PERMITTED] hello", "[CUDA_ERROR_NOT_PERMITTED] hello", None, None),
        ("[SymmDeviceMemory] hello", "[SymmDeviceMemory] hello", None, None),
        ('{"log":"[rank1]: hello\\n","stream":"stderr","time":"2026-01-01T00:00:00Z"}', "hello", 1, None),
        ("2026-01-01T00:00:00.123456789Z stderr F [rank1]: hello", "hello", 1, None),
    ],
)
def test_prefixes_come_off_and_tell(line: str, text: str, rank: int | None, host: str | None) -> None:
    seen = strip(line)
    assert (seen.text, seen.rank, seen.host) == (text, rank, host)


@pytest.mark.parametrize(
    ("stamp", "day"),
    [
        ("2026-03-03 08:41:39", (2026, 3, 3)),
        ("Mar 03 2026 08:30:12", (2026, 3, 3)),
        ("Mar  3 08:30:12", (1900, 3, 3)),
        ("Tue 2025-05-20 11:27:40 UTC", (2025, 5, 20)),
        ("Feb 30 2026 08:30:12", None),
        ("08:30:12", None),
    ],
)
def test_times(stamp: str, day: tuple[int, int, int] | None) -> None:
    moment = time_of(stamp)
    assert (None if moment is None else (moment.year, moment.month, moment.day)) == day


VERSION = b"h:1:2 [3] NCCL INFO NCCL version 2.26.2+cuda12.9\n"
STATE = b"'the operation cannot be performed in the present state'"
FAILURE = b"h:1:2 [3] transport/nvls.cc:254 NCCL WARN Cuda failure 401 " + STATE
LOG = VERSION + FAILURE + b"\n"
BAR = b"Loading:  20%|##        | 3/10 [00:01<00:02, 1.2it/s]\r"


@pytest.mark.parametrize(
    "text",
    [
        LOG,
        VERSION + BAR * 2 + FAILURE,
        VERSION + BAR * 500 + FAILURE,
        VERSION + b"x" * 10_000 + b" " + FAILURE,
        VERSION + FAILURE + b" " + b"x" * 10_000,
        gzip.compress(LOG, mtime=0),
        gzip.compress(VERSION, mtime=0) + gzip.compress(FAILURE, mtime=0),
        gzip.compress(LOG * 3, mtime=0)[:-9],
        LOG.decode().encode("utf-16-le"),
        LOG.decode().encode("utf-16-be"),
        LOG.replace(b" ", "\u00a0".encode()),
    ],
    ids=[
        "plain",
        "bar",
        "bars",
        "far behind",
        "far before",
        "gzip",
        "members",
        "cut gzip",
        "utf-16-le",
        "utf-16-be",
        "hard spaces",
    ],
)
def test_a_failure_is_found_in_whatever_form_it_comes(text: bytes) -> None:
    answer = explain(text)
    assert (answer.code, answer.call, answer.evidence[0]) == (401, "cuMulticastBindMem", "text:2")


@pytest.mark.parametrize(
    "damage", [b"", b"\x1f\x8b", b"\x1f\x8b" + b"junk" * 9, gzip.compress(LOG, mtime=0)[:8] + b"junk" * 9]
)
def test_damaged_gzip_is_no_text(damage: bytes) -> None:
    assert explain(damage).verdict == "uncertain"


def test_a_bomb_is_read_in_pieces() -> None:
    bomb = gzip.compress(b"\n" * (32 << 20) + LOG)
    tracemalloc.start()
    answer = explain(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (answer.code, answer.evidence) == (401, [f"text:{(32 << 20) + 2}"])
    assert peak < 32 << 20


@pytest.mark.parametrize("width", [10, 3000])
def test_a_line_that_is_not_too_long_is_read_whole(width: int) -> None:
    call = '"call": "cuMulticastBindMem", "status": 401, "duration_us": 5'
    for rank, told in ((3, 3), (-1, None)):
        answer = explain(f'{{"pad": "{"x" * width}", "rank": {rank}, {call}}}\n'.encode())
        assert (answer.code, answer.call, answer.first_rank) == (401, "cuMulticastBindMem", told)


@pytest.mark.parametrize("status", ["0", "true", "12345", "401.0", "-1", '"401"', "null", "[]", "{}", "9" * 3900])
def test_a_trace_with_no_status_of_a_failure(status: str) -> None:
    assert explain(f'{{"call": "cuMulticastBindMem", "status": {status}, "duration_us": 5}}\n'.encode()).code is None


@pytest.mark.parametrize("opening", ["[", "{", '{"a":', '{"a":['])
def test_brackets_without_end(opening: str) -> None:
    for text in (opening * 900 + '"duration_us" "finding": {', '{"duration_us": ' + opening * 900):
        assert explain(text.encode()).verdict == "unrelated"


def test_a_quote_does_nothing_to_a_terminal() -> None:
    answer = explain(LOG.replace(b"WARN ", b"WARN \x1b[2J\x1b]0;title\x07\x9b1m\x08\x1bc"))
    assert answer.code == 401
    assert str(answer).replace("\n", " ").isprintable()
