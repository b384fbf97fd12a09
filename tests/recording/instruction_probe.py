"""Carry the instructions of instruction_questions.py out on a real GPU: no part of this package is needed there.

    python instruction_probe.py QUESTIONS.npz ANSWERS.npz      one kernel per group, a thread per input
    python instruction_probe.py --check QUESTIONS.npz PTXAS    only compile: which instructions does ptxas refuse?

Every input and every result has 8 bytes of memory. Nothing here touches multicast.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HEADER = ".version 9.0\n.target {target}\n.address_size 64\n"
BYTES = {
    "b8": 1,
    "b16": 2,
    "u16": 2,
    "b32": 4,
    "u32": 4,
    "s32": 4,
    "f32": 4,
    "b64": 8,
    "u64": 8,
    "s64": 8,
    "f64": 8,
    "s16": 2,
}


def kernel(name: str, group: dict, registers: dict[str, str], count: int) -> str:
    """Write the kernel of a group: load the inputs of a thread, carry each line out, store each result."""
    declared = [".reg .b64 %base, %place;", ".reg .b32 %thread, %bool;"]
    text = ["ld.param.u64 %base, [io];", "mov.u32 %thread, %tid.x;", "mov.u32 %bool, %ctaid.x;"]
    text += ["mad.lo.u32 %thread, %bool, 256, %thread;", "mad.wide.u32 %place, %thread, 8, %base;"]
    for i, (register, kind) in enumerate(group["types"].items()):
        declared.append(f".reg .{registers[kind]} {register};")
        text.append(f"ld.global.{registers[kind]} {register}, [%place + {i * count * 8}];")
    for i, (line, kind) in enumerate(group["lines"].items()):
        at = (len(group["types"]) + i) * count * 8
        declared.append(f".reg .{registers[kind]} %d{i};")
        text.append(line.format(d=f"%d{i}"))
        if kind == "pred":
            text += [f"selp.u32 %bool, 1, 0, %d{i};", f"st.global.b32 [%place + {at}], %bool;"]
        else:
            text.append(f"st.global.{registers[kind]} [%place + {at}], %d{i};")
    return "\n".join([f".visible .entry {name}(.param .u64 io)\n{{", *declared, *text, "ret;\n}\n"])


def read(path: str) -> tuple[dict, dict[str, str], dict[str, np.ndarray]]:
    """Answer groups, registers and arrays of a file of questions."""
    with np.load(path) as found:
        arrays = {key: found[key] for key in found.files if key != "questions"}
        questions = json.loads(str(found["questions"]))
    return questions["groups"], questions["registers"], arrays


def check(path: str, ptxas: str) -> None:
    """Say which instructions ptxas refuses, one at a time where a group is refused."""
    groups, registers, _ = read(path)
    for name, group in groups.items():
        if refused(ptxas, kernel("k", group, registers, 256)):
            for line, kind in group["lines"].items():
                reason = refused(ptxas, kernel("k", {"types": group["types"], "lines": {line: kind}}, registers, 256))
                if reason:
                    print(name, line, reason.splitlines()[0])


def refused(ptxas: str, text: str) -> str:
    """Compile for sm_90; answer ptxas' complaint, or nothing."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "k.ptx"
        source.write_text(HEADER.format(target="sm_90") + text)
        done = subprocess.run([ptxas, "-arch=sm_90", source, "-o", f"{place}/k.cubin"], capture_output=True, text=True)
        return done.stderr if done.returncode else ""


def ask(path: str, answers: str) -> None:
    """Run every group and write its results as arrays ``group``: instructions by inputs, 8 bytes each."""
    from cuda.bindings import driver as cu

    def call(function, *arguments):
        status, *outputs = function(*arguments)
        assert int(status) == 0, (function.__name__, status)
        return outputs[0] if outputs else None

    groups, registers, arrays = read(path)
    call(cu.cuInit, 0)
    device = call(cu.cuDeviceGet, 0)
    call(cu.cuCtxSetCurrent, call(cu.cuDevicePrimaryCtxRetain, device))
    results: dict[str, np.ndarray] = {}
    for name, group in groups.items():
        inputs = [arrays[f"{name}/{register}"].astype(np.uint64) for register in group["types"]]
        count, rows = len(inputs[0]), len(group["lines"])
        host = np.concatenate([*inputs, np.zeros(rows * count, np.uint64)])
        module = call(
            cu.cuModuleLoadData, (HEADER.format(target="sm_90") + kernel("k", group, registers, count)).encode() + b"\0"
        )
        function = call(cu.cuModuleGetFunction, module, b"k")
        memory = call(cu.cuMemAlloc, host.nbytes)
        call(cu.cuMemcpyHtoD, memory, host.ctypes.data, host.nbytes)
        call(
            cu.cuLaunchKernel,
            function,
            count // 256,
            1,
            1,
            256,
            1,
            1,
            0,
            0,
            ((int(memory),), (ctypes.c_uint64,)),
            0,
        )
        call(cu.cuCtxSynchronize)
        call(cu.cuMemcpyDtoH, host.ctypes.data, memory, host.nbytes)
        call(cu.cuMemFree, memory)
        results[name] = host[len(inputs) * count :].reshape(rows, count)
        print(name, rows, count, flush=True)
    about = {
        "gpu": call(cu.cuDeviceGetName, 128, device).decode().split("\0")[0].strip(),
        "cuda": call(cu.cuDriverGetVersion),
        "driver": Path("/proc/driver/nvidia/version").read_text().split("\n")[0]
        if Path("/proc/driver/nvidia/version").exists()
        else "",
        "date": datetime.date.today().isoformat(),
    }
    np.savez_compressed(answers, about=np.array(json.dumps(about)), **results)
    print(json.dumps(about))


if __name__ == "__main__":
    check(*sys.argv[2:]) if sys.argv[1] == "--check" else ask(*sys.argv[1:])
