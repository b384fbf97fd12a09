"""From kernels.cu to something that a device runs: NVRTC, its absence, what is kept, and the table of choices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collective_models import BFLOAT16
from collective_seats import Seated

from cumulticast import driver
from cumulticast.team import collectives
from cumulticast.team.collectives import KernelsUnavailable, modules, program, store
from cumulticast.team.collectives.choices import choices, choose
from cumulticast.team.collectives.kinds import Reduction, reduction
from cumulticast.team.collectives.program import Program, image_of
from cumulticast.team.collectives.protocol import HALF

SUM = Reduction("f32", "sum", "add.v4.f32")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Keep programs in a directory of the test's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CUDA_CACHE_DISABLE", raising=False)
    monkeypatch.setattr(program, "_compiled", {})
    return tmp_path / "cumulticast" / "collectives"


# ---- compiling


def entries(ptx: bytes) -> set[str]:
    return {line.split()[2].rstrip("(") for line in ptx.decode().splitlines() if line.startswith(".visible .entry")}


@pytest.mark.parametrize(
    ("capability", "multicast", "target"),
    [((8, 0), False, "sm_80"), ((9, 0), True, "sm_90"), ((10, 7), True, "sm_107")],
)
def test_a_program_is_for_its_device(capability: tuple[int, int], multicast: bool, target: str) -> None:
    peers = {"one_shot_peers", "two_shot_peers"}
    switched = {"one_shot_multicast", "two_shot_multicast"} if multicast else set()
    for which, more in ((SUM, set()), (None, {"barrier"})):
        text = image_of(Program(which, capability))
        assert entries(text) == peers | switched | more
        assert f".target {target}\n".encode() in text
        assert (b"multimem" in text) == multicast


def test_what_the_switch_cannot_do_has_no_kernel_for_it() -> None:
    assert reduction(np.dtype(np.float32), "min").form is None
    text = image_of(Program(reduction(np.dtype(np.float32), "min"), (9, 0)))
    assert entries(text) == {"one_shot_peers", "two_shot_peers"}


@pytest.mark.parametrize("which", [None, SUM, reduction(BFLOAT16, "sum")], ids=["copies", "f32", "bf16"])
def test_kernels_need_no_local_memory(which: Reduction | None) -> None:
    """ptxas says what it has spilled. Where there is local memory, the first launch may wait for the device."""
    from cuda.bindings import nvrtc

    wanted = Program(which, (9, 0), machine_code=True)
    texts = dict(program._texts())
    source = texts.pop(wanted.file)
    _, made = nvrtc.nvrtcCreateProgram(source, wanted.file, len(texts), list(texts.values()), list(texts))
    options = [*(option.encode() for option in wanted.options()), b"--ptxas-options=-v"]
    assert nvrtc.nvrtcCompileProgram(made, len(options), options)[0] == 0
    log = program._text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, made).decode()
    nvrtc.nvrtcDestroyProgram(made)
    kernels = 5 if which is None else 4
    assert log.count("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") == kernels, log


def test_an_architecture_that_nvrtc_does_not_know_yet() -> None:
    assert b".target sm_121\n" in image_of(Program(None, (99, 0)))


def test_a_device_that_is_too_old() -> None:
    with pytest.raises(KernelsUnavailable, match=r"compute capability 7.5 is too old for collectives: 8.0 at least"):
        image_of(Program(None, (7, 5)))


def test_without_nvrtc_the_error_names_the_extra(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cuda.bindings import nvrtc

    def none() -> None:
        raise RuntimeError("Failed to dlopen libnvrtc.so")

    program._nvrtc.cache_clear()
    monkeypatch.setattr(nvrtc, "nvrtcVersion", none)
    with pytest.raises(KernelsUnavailable, match=r"there is none \(Failed to dlopen.*cumulticast\[core\]"):
        image_of(Program(None, (9, 0)))
    monkeypatch.undo()
    assert image_of(Program(None, (9, 0)))


def test_a_driver_older_than_nvrtc_gets_machine_code(
    seated: Seated, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver here takes no machine code: what it was given is looked at instead."""
    given: list[bytes] = []
    load = modules._load

    def older(image: bytes) -> int:
        given.append(image)
        if image.startswith(b"\x7fELF"):
            return load(image_of(Program(None, (9, 0))))
        raise driver.UnsupportedPtxVersionError(driver.Result.ERROR_UNSUPPORTED_PTX_VERSION)

    monkeypatch.setattr(modules, "_load", older)
    seats = seated(2)
    collectives.barrier(seats)
    seats.synchronize()
    assert [image[:4] for image in given] == [b"//\n/", b"\x7fELF"] * 2


@pytest.mark.cuda_machine(machine="h200-vm-1")
def test_a_driver_that_takes_neither(seated: Seated, kept: Path) -> None:
    """The driver of this machine says 13.0, and takes no machine code as it is a software driver."""
    seats = seated(1, multicast=False)
    hint = r"NVRTC 13\.\d is newer than the driver \(CUDA 13.0\); pip install 'nvidia-cuda-nvrtc==13.0.\*' has one"
    with pytest.raises(KernelsUnavailable, match=hint):
        collectives.barrier(seats)


@pytest.mark.slow
def test_what_is_played_on_a_real_gpu() -> None:
    """tests/recording/collectives_on_one_gpu.py, here on a simulated one without multicast."""
    script = Path(__file__).parents[2] / "recording" / "collectives_on_one_gpu.py"
    machine = [sys.executable, "-m", "cumulticast.cli", "run", "--machine", "pcie-h100-2", "--devices", "1", "--"]
    done = subprocess.run([*machine, sys.executable, str(script), "2"], capture_output=True, text=True, timeout=55)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["good"] and said["results"]["played"] > 500 and "MULTICAST_SUPPORTED" in said["why_not"]


# ---- keeping


def test_a_program_is_compiled_once(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = image_of(Program(SUM, (9, 0)))
    (entry,) = kept.iterdir()
    monkeypatch.setattr(program, "_compiled", {})
    monkeypatch.setattr(program, "_compile", lambda which: pytest.fail("compiled again"))
    assert image_of(Program(SUM, (9, 0))) == first
    assert [entry] == list(kept.iterdir())


def made(text: bytes, log: list[bytes]) -> Callable[[], bytes]:
    def make() -> bytes:
        log.append(text)
        return text

    return make


@pytest.mark.parametrize(
    "damage",
    [lambda b: b[:-1], lambda b: b[:10], lambda b: b"", lambda b: b[:70] + b"?" + b[71:]],
    ids=["cut", "short", "empty", "other"],
)
def test_a_damaged_entry_is_made_anew(kept: Path, damage: Callable[[bytes], bytes]) -> None:
    log: list[bytes] = []
    store.kept([b"a"], made(b"x" * 100, log))
    (entry,) = kept.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert store.kept([b"a"], made(b"x" * 100, log)) == b"x" * 100
    assert entry.read_bytes() == whole and len(log) == 2
    assert store.kept([b"a"], made(b"never", log)) == b"x" * 100 and len(log) == 2


def test_entries_are_told_apart_by_all_parts(kept: Path) -> None:
    log: list[bytes] = []
    for parts in ([b"ab", b"c"], [b"a", b"bc"], [b"abc"]):
        assert store.kept(parts, made(repr(parts).encode(), log)) == repr(parts).encode()
    assert len(log) == 3


def test_many_make_the_same_entry_at_once(kept: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: store.kept([b"a"], lambda: os.urandom(4) and b"y" * 100_000), range(64)))
    assert set(found) == {b"y" * 100_000}
    assert len(list(kept.iterdir())) == 1


def test_keeping_can_be_turned_off_and_can_fail(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[bytes] = []
    monkeypatch.setenv("CUDA_CACHE_DISABLE", "1")
    for _ in range(2):
        assert store.kept([b"a"], made(b"z", log)) == b"z"
    assert len(log) == 2 and not kept.exists()
    monkeypatch.delenv("CUDA_CACHE_DISABLE")
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"a file where the directory should be")
    assert store.kept([b"a"], made(b"z", log)) == b"z"


# ---- choosing


def test_the_table_says_everything_once_and_fits_the_scratch() -> None:
    names = {(row.collective, row.path) for row in choices()}
    every = {
        (name, path)
        for name in ("all_reduce", "reduce_scatter", "all_gather", "broadcast")
        for path in ("multicast", "peers")
    }
    assert names == every and len(choices()) == len(every)
    assert all(0 <= row.one_shot_up_to <= HALF and row.measured for row in choices())
    assert (
        tomllib.loads(resources.files("cumulticast.team.collectives").joinpath("choices.toml").read_text())["schema"]
        == 1
    )


def test_the_size_chooses() -> None:
    for row in choices():
        path: Any = row.path
        assert choose(row.collective, path, row.one_shot_up_to) == "one_shot"
        assert choose(row.collective, path, row.one_shot_up_to + 1) == "two_shot"
        assert (
            choose(row.collective, path, 1 << 30, "two_shot")
            == choose(row.collective, path, 1, "two_shot")
            == "two_shot"
        )
