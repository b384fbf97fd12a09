"""Carry every form of mma out on a real GPU (sm_90): python mma_probe.py ANSWERS.npz. Nothing here touches multicast.

Inputs are those of tests/ptx/mma_model.py and matrix_model.py. Kept are D's registers,
[trial][register and lane], by the form's name, and the memory that the kernel of ldmatrix and the like leaves.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ptx"))
import matrix_model
import mma_model

HEADER = ".version 8.7\n.target sm_90\n.address_size 64\n"


def call(function, *arguments):
    status, *outputs = function(*arguments)
    assert int(status) == 0, (function.__name__, status)
    return outputs[0] if outputs else None


def carry_out(cu, text: str, blocks: int, host: np.ndarray) -> None:
    """Run the kernel ``k``, one warp a block, on memory that it reads and writes."""
    module = call(cu.cuModuleLoadData, (HEADER + text).encode() + b"\0")
    function = call(cu.cuModuleGetFunction, module, b"k")
    memory = call(cu.cuMemAlloc, host.nbytes)
    call(cu.cuMemcpyHtoD, memory, host.ctypes.data, host.nbytes)
    arguments = ((int(memory),), (ctypes.c_uint64,))
    call(cu.cuLaunchKernel, function, blocks, 1, 1, 32, 1, 1, 0, 0, arguments, 0)
    call(cu.cuCtxSynchronize)
    call(cu.cuMemcpyDtoH, host.ctypes.data, memory, host.nbytes)
    call(cu.cuMemFree, memory)
    call(cu.cuModuleUnload, module)


def products(cu, form: mma_model.Form) -> np.ndarray:
    """Answer D's registers of one form, for all trials."""
    host = np.concatenate([mma_model.image(form, *mma_model.inputs(form, trial)) for trial in mma_model.TRIALS])
    carry_out(cu, mma_model.kernel(form), len(mma_model.TRIALS), host)
    blocks = host.reshape(len(mma_model.TRIALS), -1)
    return blocks[:, -mma_model.registers(form)["d"] * mma_model.LANES :]


def main(answers: str) -> None:
    """Run all forms and keep what they answered."""
    from cuda.bindings import driver as cu

    call(cu.cuInit, 0)
    device = call(cu.cuDeviceGet, 0)
    call(cu.cuCtxSetCurrent, call(cu.cuDevicePrimaryCtxRetain, device))
    results = {form.name: products(cu, form) for form in mma_model.FORMS}
    results["matrices"] = matrix_model.memory()
    carry_out(cu, matrix_model.kernel(name="k"), 1, results["matrices"])
    about = {
        "gpu": call(cu.cuDeviceGetName, 128, device).decode().split("\0")[0].strip(),
        "cuda": call(cu.cuDriverGetVersion),
        "date": datetime.date.today().isoformat(),
    }
    np.savez_compressed(answers, about=np.array(json.dumps(about)), **results)
    print(json.dumps(about), len(results))


if __name__ == "__main__":
    main(sys.argv[1])
