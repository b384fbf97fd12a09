"""The cache of kernels where it cannot be used, is damaged, or is wanted by many processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from cumulticast.ptx import cache
from cumulticast.ptx.image import Image

pytestmark = pytest.mark.timeout(60)
TEXT = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }\n"
COMPILES = """
import sys, time
from cumulticast.ptx import kernel
from cumulticast.ptx.image import Image
made, number = kernel.compile_kernel, []
def slowly(*given):
    number.append(1)
    time.sleep(0.5)
    return made(*given)
kernel.compile_kernel = slowly
sys.stdin.read(1)
Image.load(sys.stdin.read().encode(), 90).kernels["nothing"].code()
print(len(number))
"""


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """Give an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CUDA_CACHE_DISABLE", raising=False)
    found = cache.directory()
    assert found is not None
    return found


def compiled() -> int:
    """Compile the kernel, or take it from the cache; answer the address of its code."""
    return Image.load(TEXT, 90).kernels["nothing"].code().address


def entries(place: Path) -> list[Path]:
    """List what the cache holds."""
    return [path for path in place.iterdir() if not path.name.startswith(".")]


def test_an_image_and_a_kernel_are_kept(place):
    assert compiled()
    assert len(entries(place)) == 2


@pytest.mark.parametrize("content", [b"", b"x" * 10, b"\0" * 5000])
def test_damaged_entries_are_made_anew(place, content):
    compiled()
    before = {path: path.read_bytes() for path in entries(place)}
    for path in before:
        path.write_bytes(content)
    assert compiled()
    assert {path: path.read_bytes() for path in entries(place)} == before


@pytest.mark.parametrize("what", ["file in the way", "directories in the way"])
def test_a_place_that_cannot_be_used_is_done_without(place, what):
    if what == "file in the way":
        place.parent.write_bytes(b"")
    else:
        compiled()
        for path in entries(place):
            path.unlink()
            path.mkdir()
    assert compiled()


def test_an_entry_is_read_even_where_its_time_cannot_be_set(place, monkeypatch):
    compiled()

    def refuse(*given: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "utime", refuse)
    assert all(cache.read(path.name) is not None for path in entries(place))


def test_processes_that_want_one_kernel_compile_it_once(place):
    command = [sys.executable, "-c", COMPILES]
    answers: list[int] = []
    with ExitStack() as jobs:
        ranks = [
            jobs.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for _ in range(4)
        ]
        for rank in ranks:
            assert rank.stdin is not None
            rank.stdin.write("x" + TEXT.decode())
            rank.stdin.close()
        for rank in ranks:
            assert rank.stdout is not None
            answers.append(int(rank.stdout.read()))
    assert sum(answers) == 1


def test_a_process_that_is_killed_holds_nobody_up(place):
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import time; from cumulticast.ptx import cache\n"
            "with cache.turn('ab'):\n    print(flush=True); time.sleep(99)",
        ],
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    holder.kill()
    with cache.turn("ab"):
        pass
    holder.wait()
    holder.stdout.close()


def test_an_entry_that_another_process_takes_away_meanwhile_does_not_stop_the_trimming(place, monkeypatch):
    compiled()
    old = entries(place)
    (place / "gone").symlink_to(place / "nowhere")
    monkeypatch.setenv("CUDA_CACHE_MAXSIZE", "100")
    cache.write("new", b"1")
    assert not [path for path in old if path.exists()]
    assert cache.read("new") == b"1"
