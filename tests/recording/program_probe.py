"""Run the programs of tests/ptx/gpu_programs.py on a real GPU: numpy and cuda-bindings are all that it needs.

    python program_probe.py --ptx FOLDER                  here: compile with NVRTC, one MODULE.ptx each
    python program_probe.py FOLDER ANSWERS.npz            there: run all, each module in a process of its own, 60 s
    python program_probe.py --join FOLDER ANSWERS.npz     here: put texts and answers into tests/ptx/data

Nothing here touches multicast.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ptx"))
from gpu_programs import MODULES, PROGRAMS, STACK, Program

SECONDS = 60
#: The PTX ISA that the driver recorded knows (CUDA 13.0): NVRTC writes its own, newer one at the head of every text.
VERSION = ".version 9.0"


def compile_all(folder: str) -> None:
    """Write the PTX of every module, without the kernels that the table does not launch."""
    import cuda_programs
    import ptx_parts

    for module, (source, *options) in MODULES.items():
        text = cuda_programs.ptx(source, "90", "--fmad=false", *options).decode().rstrip("\0 \n") + "\n"
        text = re.sub(r"^\.version .*", VERSION, text, count=1, flags=re.MULTILINE)
        wanted = {program.kernel for program in PROGRAMS if program.module == module}
        (Path(folder) / f"{module}.ptx").write_text(ptx_parts.only(text, wanted))


def call(function: Any, *arguments: Any) -> Any:
    status, *outputs = function(*arguments)
    assert int(status) == 0, (function.__name__, status)
    return outputs[0] if outputs else None


def context(cu: Any) -> Any:
    """Make the first device's context current; answer the device."""
    call(cu.cuInit, 0)
    device = call(cu.cuDeviceGet, 0)
    call(cu.cuCtxSetCurrent, call(cu.cuDevicePrimaryCtxRetain, device))
    call(cu.cuCtxSetLimit, cu.CUlimit.CU_LIMIT_STACK_SIZE, STACK)
    return device


def shape(cu: Any, program: Program) -> Any:
    """Write the launch down."""
    config = cu.CUlaunchConfig()
    for side, grid, block in zip("XYZ", (*program.grid, 1, 1), (*program.block, 1, 1), strict=False):
        setattr(config, f"gridDim{side}", grid)
        setattr(config, f"blockDim{side}", block)
    config.sharedMemBytes = program.dynamic
    attributes = []
    if program.cooperative:
        one = cu.CUlaunchAttribute()
        one.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        one.value.cooperative = 1
        attributes.append(one)
    if program.cluster != (1, 1, 1):
        one = cu.CUlaunchAttribute()
        one.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        one.value.clusterDim.x, one.value.clusterDim.y, one.value.clusterDim.z = program.cluster
        attributes.append(one)
    config.attrs, config.numAttrs = attributes, len(attributes)
    return config


def launch(cu: Any, module: Any, program: Program) -> list[np.ndarray]:
    """Run one program; answer its arrays afterwards."""
    held, packed = [], []
    for value in program.inputs():
        content = np.array(value)
        if isinstance(value, np.ndarray):
            memory = call(cu.cuMemAlloc, value.nbytes)
            call(cu.cuMemcpyHtoD, memory, value.ctypes.data, value.nbytes)
            held.append((memory, value))
            content = np.array(int(memory), np.uint64)
        packed.append(content)
    addresses = (ctypes.c_void_p * len(packed))(*(value.ctypes.data for value in packed))
    function = call(cu.cuModuleGetFunction, module, program.kernel.encode())
    call(cu.cuLaunchKernelEx, shape(cu, program), function, ctypes.addressof(addresses), 0)
    call(cu.cuCtxSynchronize)
    for memory, value in held:
        call(cu.cuMemcpyDtoH, value.ctypes.data, memory, value.nbytes)
        call(cu.cuMemFree, memory)
    return [value for _, value in held]


def one(folder: str, module: str, answers: str) -> None:
    """Run the programs of one module, and write what its arrays hold after each, in full."""
    from cuda.bindings import driver as cu

    device = context(cu)
    results: dict[str, np.ndarray] = {}
    if module == "about":
        results["about"] = np.array(json.dumps(machine(cu, device)))
    else:
        loaded = call(cu.cuModuleLoadData, (Path(folder) / f"{module}.ptx").read_bytes() + b"\0")
        for program in PROGRAMS:
            if program.module == module:
                print(program.name, flush=True)
                arrays = launch(cu, loaded, program)
                results |= {f"{program.name}/{n}": array.view(np.uint8) for n, array in enumerate(arrays)}
                np.savez_compressed(answers, **results)
    np.savez_compressed(answers, **results)


def machine(cu: Any, device: Any) -> dict[str, Any]:
    """Say what ran."""
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return {
        "gpu": call(cu.cuDeviceGetName, 128, device).decode().split("\0")[0].strip(),
        "cuda": call(cu.cuDriverGetVersion),
        "driver": subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip(),
        "date": datetime.date.today().isoformat(),
    }


def ask(folder: str, answers: str) -> None:
    """Run all modules, one after the other; what one of them breaks, the others do not see."""
    results: dict[str, np.ndarray] = {}
    for module in ["about", *MODULES]:
        place = Path(f"{answers}.{module}.npz")
        command = [sys.executable, __file__, "--one", folder, module, str(place)]
        try:
            status = subprocess.run(command, timeout=SECONDS, check=False).returncode
        except subprocess.TimeoutExpired:
            status = "did not end"
        print("==", module, status, flush=True)
        if place.exists():
            with np.load(place) as found:
                results |= {name: found[name] for name in found.files}
            place.unlink()
    np.savez_compressed(answers, **results)


def join(folder: str, answers: str) -> None:
    """Keep the texts, and of each array its first bytes and its digests."""
    import gpu_answers

    texts = {module: (Path(folder) / f"{module}.ptx").read_text() for module in MODULES}
    with np.load(answers) as found:
        gpu_answers.write(texts, {n: found[n] if n == "about" else gpu_answers.kept(found[n]) for n in found.files})


if __name__ == "__main__":
    tasks = {"--ptx": compile_all, "--one": one, "--join": join}
    tasks[sys.argv[1]](*sys.argv[2:]) if sys.argv[1] in tasks else ask(*sys.argv[1:])
