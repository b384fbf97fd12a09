"""The two compressions of fatbins: known frames, blocks made by hand, and bytes that are damaged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from compressed_contents import CONTENTS

from cumulticast.sim import fatbin, lz4, zstd

DATA = Path(__file__).parents[1] / "data"
FRAMES = sorted((DATA / "zstd").glob("*.zst"))


@pytest.mark.parametrize("path", FRAMES, ids=lambda path: path.stem)
def test_a_frame_of_zstd_gives_what_it_was_made_of(path):
    content = CONTENTS[path.name.split(".")[0]]
    assert zstd.decompress(path.read_bytes(), len(content)) == content


def test_every_content_has_frames():
    assert {path.name.split(".")[0] for path in FRAMES} == set(CONTENTS)


@pytest.mark.parametrize("name", ["text", "few", "again"])
def test_a_damaged_frame_is_an_error_and_never_anything_else(name):
    whole, size = (DATA / "zstd" / f"{name}.19.zst").read_bytes()[:4000], len(CONTENTS[name])
    chosen, refused = random.Random(3), 0
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[chosen.randrange(len(damaged))] ^= 1 << chosen.randrange(8)
        try:
            zstd.decompress(bytes(damaged[: chosen.randrange(len(damaged))]), size)
        except ValueError:
            refused += 1
    assert refused > 190


@pytest.mark.parametrize(("size", "says"), [(4999, "more than|not 4999"), (5001, "not 5001")])
def test_a_frame_of_another_size_than_said_is_refused(size, says):
    frame = (DATA / "zstd" / "few.19.zst").read_bytes()
    assert len(zstd.decompress(frame, 5000)) == 5000
    with pytest.raises(ValueError, match=says):
        zstd.decompress(frame, size)


@pytest.mark.parametrize(
    ("block", "content"),
    [
        (b"\x50hello", b"hello"),
        (b"\x1aa\x01\x00\x10b", b"a" + b"a" * 14 + b"b"),  # a match that overlaps with what it makes
        (b"\x1fa\x01\x00\x05\x10b", b"a" + b"a" * 24 + b"b"),  # a length that goes on
        (b"\xf0\xff\x0f" + b"z" * 285, b"z" * 285),
    ],
)
def test_a_block_of_lz4_gives_what_it_was_made_of(block, content):
    assert lz4.decompress(block, len(content)) == content


@pytest.mark.parametrize("block", [b"", b"\xf0", b"\xf0\xff", b"\x10a\x02\x00", b"\x10a\x00\x00", b"\x50hell"])
def test_a_damaged_block_of_lz4_is_an_error(block):
    with pytest.raises(ValueError, match=r"block|match"):
        lz4.decompress(block, 12)


def test_fatbins_hold_the_same_text_however_they_are_compressed():
    plain, *others = (
        next(fatbin.entries((DATA / "fatbins" / f"{name}.fatbin").read_bytes())) for name in ("plain", "lz4", "zstd")
    )
    assert plain.data.startswith(b".version 8.0\n.target sm_90\n")
    assert plain.arch == 90
    for other in others:
        assert other.data.rstrip(b"\0") == plain.data.rstrip(b"\0")


@pytest.mark.parametrize("end", [20, 100, 300])
def test_a_fatbin_that_is_cut_off_is_an_error(end):
    data = (DATA / "fatbins" / "zstd.fatbin").read_bytes()
    with pytest.raises(fatbin.Damaged, match=r"there are|reaches beyond"):
        list(fatbin.entries(data[:end]))


def test_the_newest_architecture_that_a_device_has_is_chosen():
    found = [fatbin.Entry(kind, arch, b"") for kind, arch in ((1, 80), (2, 90), (1, 89), (1, 100))]
    assert fatbin.best(found, 90) is found[2]
    assert fatbin.best(found, 100) is found[3]
    assert fatbin.best(found, 75) is None
