"""Whole programs: every byte that they leave in memory is what an H200 left there, of the same PTX."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import gpu_answers
import numpy as np
import pytest
from cuda_programs import well
from gpu_programs import ESTIMATES, PROGRAMS, STACK, Program
from grid import Grid
from ptx_parts import parts

PROBE = Path(__file__).parents[1] / "recording" / "program_probe.py"
MODULES = {program.module for program in PROGRAMS}
#: What gives bits that no document states, or needs more than one GPU.
UNFIXED = re.compile(r"\.approx|\bdiv\.full|\bw?g?mma[._]|\bmultimem\.")


@cache
def module(name: str) -> Grid:
    """Answer the kernels of a module as it ran on the GPU."""
    return Grid(gpu_answers.text(name), stack=STACK)


def left(program: Program) -> list[np.ndarray]:
    """Run a program here; answer its arrays afterwards."""
    run, arguments = module(program.module), program.inputs()
    words = np.zeros(2, np.uint32)  # of the grid's barrier
    run.rights.allow(words.ctypes.data, words.nbytes)
    workspace = words.ctypes.data if program.cooperative else 0
    options = {"dynamic": program.dynamic, "cluster": program.cluster, "workspace": workspace}
    well(run(program.kernel, program.grid, program.block, arguments, **options))
    return [value for value in arguments if isinstance(value, np.ndarray)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_every_byte_is_an_h200s(program: Program) -> None:
    for n, array in enumerate(left(program)):
        assert not gpu_answers.differences(array, gpu_answers.recording()[f"{program.name}/{n}"]), f"array {n}"


def test_what_recorded_it_runs_here_and_brings_the_same_back(tmp_path: Path) -> None:
    (tmp_path / "groups.ptx").write_text(gpu_answers.text("groups"))
    command = [sys.executable, str(PROBE), "--one", str(tmp_path), "groups", str(tmp_path / "answers.npz")]
    subprocess.run([sys.executable, "-m", "cumulticast.cli", "run", "--", *command], check=True, timeout=60)
    with np.load(tmp_path / "answers.npz") as found:
        recorded = {name for name in gpu_answers.recording() if name.startswith("groups.")}
        assert set(found.files) == recorded
        assert not [n for n in recorded if gpu_answers.differences(found[n], gpu_answers.recording()[n])]


def test_all_programs_are_recorded_and_no_others() -> None:
    answered = {name.rsplit("/", 1)[0] for name in gpu_answers.recording()} - {"about", "ptx"}
    assert answered == {program.name for program in PROGRAMS}
    for name in MODULES:
        kernels = {part.name for part in parts(gpu_answers.text(name)) if part.kind == "entry"}
        assert kernels == {program.kernel for program in PROGRAMS if program.module == name}
    assert gpu_answers.about()["gpu"] == "NVIDIA H200"


def unfixed(text: str) -> set[str]:
    """Answer the kernels that hold, or call what holds, an instruction whose results are not fixed."""
    found = parts(text)
    names = {part.name for part in found if UNFIXED.search(part.text)}
    while more := {part.name for part in found if any(map(part.names, names))} - names:
        names |= more
    return names & {part.name for part in found if part.kind == "entry"}


def test_instructions_have_results_that_are_fixed() -> None:
    assert set().union(*(unfixed(gpu_answers.text(name)) for name in MODULES)) == ESTIMATES


def test_products_and_sums_are_rounded_apart_but_where_a_program_fuses_them() -> None:
    found = {part.name: part.text for part in parts(gpu_answers.text("parallel"))}
    assert "fma." not in found["saxpy"] and "mul.rn.f32" in found["saxpy"] and "add.rn.f32" in found["saxpy"]
    assert "fma.rn.f32" in found["multiply"]


@pytest.mark.parametrize(
    "instruction", ["ex2.approx.f32 %f1, %f2;", "wgmma.fence.sync.aligned;", "div.full.f32 %f, %g, %h;"]
)
def test_instructions_without_fixed_results_are_seen(instruction: str) -> None:
    assert UNFIXED.search(instruction) and not UNFIXED.search("ex2.rn.f32 %f1, %f2; div.rn.f32 %f, %g, %h;")


@pytest.mark.parametrize("at", [0, 511, 512, 1999])
def test_one_bit_that_differs_is_found(at: int) -> None:
    array = np.arange(2000, dtype=np.uint32).astype(np.uint8)
    recorded = gpu_answers.kept(array)
    assert not gpu_answers.differences(array, recorded)
    array[at] ^= 16
    (found,) = gpu_answers.differences(array, recorded)
    assert found.startswith(f"byte {at}:" if at < 512 else f"bytes {at // 512 * 512} to ")
    assert gpu_answers.differences(array[:-1], recorded)
