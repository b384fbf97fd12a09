"""Programs that know nothing of us: in C, with nvidia-ml-py, and nvitop."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import files
from pathlib import Path

import pytest
from command_line import clean_environment, cumulticast

HERE = Path(__file__).parent
PYNVML = """
import pynvml as n, os, sys
n.nvmlInit()
first = n.nvmlDeviceGetHandleByIndex(0)
print(n.nvmlDeviceGetCount(), n.nvmlDeviceGetName(first), n.nvmlSystemGetDriverVersion())
maps = open("/proc/self/maps").read()
print("libcuda.so" in maps, "libnvidia-ml.so" in maps, flush=True)
pid = os.fork()
if not pid:
    print("child", n.nvmlDeviceGetMemoryInfo(first).used > 0, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
n.nvmlShutdown()
"""
HOLDER = """
import sys, time
from cuda.bindings import driver as cu
cu.cuInit(0)
cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(2)[1])
cu.cuMemAlloc(32 << 20)
print("held", flush=True)
sys.stdin.read()
"""
WATCHER = f"""
import subprocess, sys
holder = subprocess.Popen([sys.executable, "-c", {HOLDER!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
holder.stdout.readline()
import pynvml as n
n.nvmlInit()
seen = [n.nvmlDeviceGetComputeRunningProcesses(n.nvmlDeviceGetHandleByIndex(k)) for k in range(4)]
print([[(one.pid == holder.pid, one.usedGpuMemory) for one in device] for device in seen])
print(n.nvmlSystemGetProcessName(holder.pid) == sys.executable)
holder.kill()
holder.wait()
print(n.nvmlDeviceGetComputeRunningProcesses(n.nvmlDeviceGetHandleByIndex(2)))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from cumulticast.launch import library

    place = tmp_path_factory.mktemp("nvml program")
    (place / "libnvidia-ml.so").symlink_to(library("libnvml"))
    header = next(file for file in files("nvidia-nvml-dev") or () if file.name == "nvml.h")
    include = Path(str(header.locate())).parent
    command = ["gcc", "-Wall", "-Werror", f"-I{include}", str(HERE / "nvml_host.c"), "-o", str(place / "nvml_host")]
    subprocess.run([*command, f"-L{place}", "-lnvidia-ml"], check=True, timeout=60)
    return place / "nvml_host"


def test_a_c_program_asks_without_cuda(built: Path) -> None:
    done = cumulticast("run", "--machine", "hgx-h200-8", "--", str(built))
    assert (done.returncode, done.stdout) == (0, "Uninitialized, 8 x NVIDIA H200, fabric 0 3\n"), done.stderr
    done = cumulticast("run", "--devices", "2", "--fault", "fm=stopped", "--", str(built))
    assert (done.returncode, done.stdout) == (0, "Uninitialized, 2 x NVIDIA H100 80GB HBM3, fabric 0 1\n"), done.stderr


def test_a_c_program_whose_world_is_gone_gets_999(built: Path, tmp_path: Path) -> None:
    env = clean_environment(CUMULTICAST_WORLD=str(tmp_path / "gone"), LD_LIBRARY_PATH=str(_beside()))
    done = subprocess.run([str(built)], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "Unknown Error\n")
    assert "there is no such directory" in done.stderr


def _beside() -> Path:
    from cumulticast.launch import library

    return library("libnvml").parent


def test_nvidia_ml_py_needs_no_cuda_and_outlives_a_fork() -> None:
    done = cumulticast("run", "--devices", "3", "--", sys.executable, "-c", PYNVML)
    lines = ["3 NVIDIA H100 80GB HBM3 615.71", "False True", "child True"]
    assert (done.returncode, done.stdout.splitlines()) == (0, lines), done.stderr


def test_another_process_is_seen_with_its_memory_until_it_dies() -> None:
    done = cumulticast("run", "--devices", "4", "--", sys.executable, "-c", WATCHER)
    lines = ["[[], [], [(True, 33554432)], []]", "True", "[]"]
    assert (done.returncode, done.stdout.splitlines()) == (0, lines), done.stderr


def test_nvitop_shows_the_machine() -> None:
    done = cumulticast("run", "--devices", "2", "--", sys.executable, "-m", "nvitop", "--once", "--ascii")
    assert done.returncode == 0, done.stderr
    assert "Driver Version: 615.71" in done.stdout
    assert "CUDA Driver Version: 13.5" in done.stdout
    assert done.stdout.count("H100 80GB HBM3") == 2
    assert done.stdout.count("/ 79.65GiB") == 2
