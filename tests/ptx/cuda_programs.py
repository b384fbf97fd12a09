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


@cache
def headers() -> Path | None:
    """Find the CUDA headers, if they are installed."""
    try:
        found = [one for one in files("nvidia-cuda-runtime") or () if one.name == "cuda_fp16.h"]
    except PackageNotFoundError:
        return None
    return Path(str(found[0].locate())).parent if found else None


@cache
def ptx(name: str, architecture: str = "90", *options: str) -> bytes:
    """Compile programs/``name``.cu; skip the test where there is no NVRTC or there are no headers."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    include = headers()
    if include is None:
        pytest.skip("the CUDA headers are not installed")
    try:
        _, program = nvrtc.nvrtcCreateProgram((SOURCES / f"{name}.cu").read_bytes(), f"{name}.cu".encode(), 0, [], [])
    except RuntimeError as error:
        pytest.skip(f"no NVRTC: {error}")
    flags = [f"--gpu-architecture=compute_{architecture}", "--std=c++17", f"--include-path={include}", *options]
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
