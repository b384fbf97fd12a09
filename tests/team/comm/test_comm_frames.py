"""Messages survive any cutting of the stream; whatever is none is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cumulticast.team.comm.frames import HEADER_LIMIT, MAGIC, PREFIX, Frame, FrameError, FrameReader

LIMIT = 1000


def raw(header: bytes, payload: bytes = b"", magic: bytes = MAGIC) -> bytes:
    return PREFIX.pack(magic, len(header), len(payload)) + header + payload


@given(st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=LIMIT)), max_size=5), st.data())
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(
    said: list[tuple[str, bytes]], data: st.DataObject
) -> None:
    frames = [Frame({"do": text}, payload) for text, payload in said]
    stream = b"".join(frame.encode() for frame in frames)
    reader, got = FrameReader(LIMIT), list[Frame]()
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        got += reader.feed(stream[:cut])
        stream = stream[cut:]
    assert got == frames


@given(st.binary(min_size=1, max_size=300))
def test_other_bytes_are_refused_or_waited_with_and_nothing_else(noise: bytes) -> None:
    try:
        frames = list(FrameReader(LIMIT).feed(noise))
    except FrameError:
        return
    assert not frames and MAGIC.startswith(noise[:4])


@pytest.mark.parametrize("first", [b"G", b"GET / HTTP/1.1\r\n", b"\x16\x03\x01", b"cuMd"])
def test_a_wrong_beginning_is_seen_at_once(first: bytes) -> None:
    with pytest.raises(FrameError, match="begins with"):
        list(FrameReader(LIMIT).feed(first))


@pytest.mark.parametrize("header", [b"[]", b"3", b"{", b"\xff\xfe", b"[" * 5000, b'"x"'])
def test_a_header_that_is_no_object_is_refused(header: bytes) -> None:
    with pytest.raises(FrameError):
        list(FrameReader(LIMIT).feed(raw(header)))
    assert list(FrameReader(LIMIT).feed(raw(b"{}"))) == [Frame({})]


def test_sizes_are_not_believed_beyond_the_limits() -> None:
    assert list(FrameReader(LIMIT).feed(raw(b"{}", bytes(LIMIT)))) == [Frame({}, bytes(LIMIT))]
    for prefix in (PREFIX.pack(MAGIC, 2, LIMIT + 1), PREFIX.pack(MAGIC, HEADER_LIMIT + 1, 0)):
        with pytest.raises(FrameError, match="at most"):
            list(FrameReader(LIMIT).feed(prefix))


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (Frame.text, ["x", ""], [1, None, []]),
        (Frame.number, [0, 7], [-1, True, 1.5, "1", None]),
        (Frame.seconds, [0, 1.5], [-1.0, float("nan"), 1e10, "1", None]),
        (Frame.numbers, [[], [0, 3]], [[-1], [True], ["1"], 3, None]),
    ],
)
def test_entries_are_of_the_kind_that_is_asked_for(read: object, good: list[object], bad: list[object]) -> None:
    assert callable(read)
    for value in good:
        wanted = tuple(value) if isinstance(value, list) else value
        assert read(Frame({"x": json.loads(json.dumps(value))}), "x") == wanted
    for value in bad:
        with pytest.raises(FrameError):
            read(Frame({"x": value}), "x")


@pytest.mark.parametrize("value", [None, [], {"x": "late"}, "3"])
def test_culprits_are_ranks_and_texts(value: object) -> None:
    with pytest.raises(FrameError):
        Frame({"culprits": value}).culprits()
    assert Frame({"culprits": {"3": "late", "-1": "gone"}}).culprits() == {3: "late", -1: "gone"}
