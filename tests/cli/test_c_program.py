"""C programs on the simulated driver: linked to it, opening it, and where no Python can start."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import files
from pathlib import Path

import pytest
from command_line import clean_environment, cumulticast, program

from cumulticast import sim

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answer a directory with both programs and links to the library."""
    place = tmp_path_factory.mktemp("c programs")
    for name in ("libcuda.so", "libcuda.so.1"):
        (place / name).symlink_to(sim.library_path())
    compile_c(place, "c_host", f"-I{cuda_include()}", f"-L{place}", "-lcuda")
    compile_c(place, "c_local", "-ldl")
    return place


def cuda_include() -> Path:
    """Answer where the wheel nvidia-cuda-runtime has cuda.h."""
    header = next(file for file in files("nvidia-cuda-runtime") or () if file.name == "cuda.h")
    return Path(str(header.locate())).parent


def compile_c(place: Path, name: str, *arguments: str) -> None:
    command = ["gcc", "-Wall", "-Werror", str(HERE / f"{name}.c"), "-o", str(place / name), *arguments]
    subprocess.run(command, check=True, timeout=60)


def test_a_linked_program_binds_maps_and_copies(built: Path) -> None:
    done = cumulticast("run", "--machine", "hgx-h100-8", "--", str(built / "c_host"))
    said = "8 devices, read back: written by the host, wrong bind: 1 CUDA_ERROR_INVALID_VALUE\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


def test_the_log_tells_a_c_program_why(built: Path) -> None:
    done = cumulticast("run", "--", str(built / "c_host"), env=clean_environment(CUDA_LOG_FILE="stderr"))
    reason, returning, *findings = done.stderr.splitlines()
    assert "[CUDA][E] MC304 multicast_bind_mem: size 4194303 is not a multiple of 2097152 (2 MiB)" in reason
    assert returning.endswith("[CUDA][E] Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMulticastBindMem")
    assert all("[CUDA][W] MC864" in line for line in findings), "it ends without giving its object back, no more"


def test_a_program_on_a_machine_without_multicast_is_refused(built: Path) -> None:
    done = cumulticast("run", "--machine", "hgx-a100-8", "--", str(built / "c_host"))
    assert done.returncode == 1
    assert done.stdout == "cuMulticastCreate(mc, &object) -> 801\n"


def test_a_program_that_opens_the_library_for_itself(built: Path) -> None:
    done = cumulticast("run", "--devices", "3", "--", str(built / "c_local"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0 3\n", "")


def test_a_broken_pythonhome_does_not_matter(built: Path) -> None:
    env = clean_environment(PYTHONHOME="/nowhere", PYTHONPATH="/nowhere", LD_LIBRARY_PATH=str(built))
    done = program(str(built / "c_local"), env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 0 8\n", "")


def test_without_an_interpreter_every_call_answers_999_and_the_program_lives(built: Path, tmp_path: Path) -> None:
    """CUMULTICAST_PYTHON names an environment in which nothing is installed, and the package is nowhere."""
    lonely = tmp_path / "libcuda.so.1"
    lonely.write_bytes(sim.library_path().read_bytes())  # a copy: its package is not beside it
    empty = tmp_path / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(empty)], check=True, timeout=60)
    env = clean_environment(LD_LIBRARY_PATH=str(tmp_path), CUMULTICAST_PYTHON=str(empty / "bin" / "python"))
    done = program(str(built / "c_local"), env=env)
    assert (done.returncode, done.stdout) == (0, "999 999 -1\n")
    assert "No module named 'cumulticast'" in done.stderr
    assert "every call answers 999" in done.stderr


def test_a_world_that_does_not_exist_answers_999(built: Path, tmp_path: Path) -> None:
    env = clean_environment(LD_LIBRARY_PATH=str(built), CUMULTICAST_WORLD=str(tmp_path / "nowhere"))
    done = program(str(built / "c_local"), env=env)
    assert (done.returncode, done.stdout) == (0, "999 999 -1\n")
    assert "is not a world" in done.stderr


def test_a_wrong_machine_answers_999_and_names_the_nearest(built: Path) -> None:
    env = clean_environment(LD_LIBRARY_PATH=str(built), CUMULTICAST_MACHINE="hgx-h100")
    done = program(str(built / "c_local"), env=env)
    assert (done.returncode, done.stdout) == (0, "999 999 -1\n")
    assert "nearest hgx-h100-8" in done.stderr
