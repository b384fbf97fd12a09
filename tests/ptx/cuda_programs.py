"""CUDA C++ of the folder programs/, compiled by NVRTC once in a session, with either of its two code generators."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest
from grid import Fault, Grid

SOURCES = Path(__file__).with_name("programs")
#: NVRTC 13 writes different PTX up to sm_90 and from sm_100 on.
ARCHITECTURES = ("90", "100")
on_both = pytest.mark.parametrize("architecture", ARCHITECTURES)
#: For what does not hang upon the generator, as control flow does: the second one's text is run by the slow tests.
on_one_at_least = pytest.mark.parametrize("architecture", ["90", pytest.param("100", marks=pytest.mark.slow)])


HEADERS = {"nvidia-cuda-runtime": "cuda_fp16.h", "nvidia-cuda-cccl": "cccl/nv/target"}


@cache
def include_paths() -> tuple[Path, ...] | None:
    """Find the CUDA headers and those of the C++ library, if all are installed."""
    found: list[Path] = []
    for package, header in HEADERS.items():
        try:
            places = [one for one in files(package) or () if str(one).endswith(header)]
        except PackageNotFoundError:
            return None
        path = Path(str(places[0].locate()))
        found.append(path.parents[header.count("/") and 1])
    return tuple(found)


@cache
def ptx(name: str, architecture: str = "90", *options: str) -> bytes:
    """Compile programs/``name``.cu; skip the test where there is no NVRTC or there are no headers."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    paths = include_paths()
    if paths is None:
        pytest.skip(f"not all of {', '.join(HEADERS)} are installed")
    try:
        _, program = nvrtc.nvrtcCreateProgram((SOURCES / f"{name}.cu").read_bytes(), f"{name}.cu".encode(), 0, [], [])
    except RuntimeError as error:
        pytest.skip(f"no NVRTC: {error}")
    include = [f"--include-path={path}" for path in paths]
    flags = [f"--gpu-architecture=compute_{architecture}", "--std=c++17", *include, *options]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [flag.encode() for flag in flags])
    if status:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        raise AssertionError(log.decode())
    _, size = nvrtc.nvrtcGetPTXSize(program)
    text = b" " * size
    nvrtc.nvrtcGetPTX(program, text)
    nvrtc.nvrtcDestroyProgram(program)
    return text


@cache
def program(name: str, architecture: str = "90", *options: str, stack: int = 1024) -> Grid:
    """Answer the kernels of programs/``name``.cu."""
    return Grid(ptx(name, architecture, *options), stack=stack)


def well(fault: Fault) -> None:
    """Fail unless a kernel has come to its end."""
    assert fault.status == 0, fault
