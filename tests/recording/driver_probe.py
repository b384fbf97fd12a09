"""Record a real CUDA driver's answers. It never creates a multicast object.

    python tests/recording/driver_probe.py --kind driver --out DIR     one GPU
    python tests/recording/driver_probe.py --kind peer --out DIR       two GPUs of one host
    python tests/recording/driver_probe.py --kind kernels --out DIR    one GPU; modules, launches, occupancy

A multicast object that goes wrong can put a whole host's GPUs out of service, so no step here creates one,
and the runner sets the variables that keep libraries from doing it. Every group runs in a fresh interpreter
with ``CUDA_LOG_FILE=stderr``; the groups live in ``probes/``. The file written has the form of
``tests/data/transcripts/h200-580.159-vmm.json`` (``machine``, ``groups``, ``log``), and besides ``log_step``
(the step that caused each line of ``log``) and ``log_raw`` (one group's lines as the driver wrote them).
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from probes import load  # noqa: E402
from recorder import GROUPS, MARK, Recorder  # noqa: E402

SAFE = {"NCCL_NVLS_ENABLE": "0", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NVSHMEM_DISABLE_NVLS": "1"}
RAW_GROUP = "contexts"
LOADING = "loading"
STAMP = re.compile(r"^(\[[^\]]*\])+(?=\[CUDA\])")
FORMAT = (
    "groups[name] = list of [step, status, [outputs as printed]]; each group ran in a fresh "
    "interpreter, after the steps cuInit, cuDeviceGet and, unless the group manages contexts itself, "
    "cuDevicePrimaryCtxRetain, cuCtxSetCurrent; a status that is text is a refusal of the binding "
    "(EXC), a symbol the driver lacks (MISSING) or the end of the process (CRASH); log[name] = the CUDA"
    " error log lines, times removed; log_step[name][i] = the step that caused log[name][i]; without "
    "those of the binding's own look-ups while it loads; log_raw = the lines of one group as written, "
    "those included"
)


def work(name: str) -> None:
    """Run one group in this process; steps go to the descriptor that was stdout."""
    from cuda.bindings import driver as cu

    chosen = GROUPS[name]
    out = os.dup(1)
    os.dup2(2, 1)
    step = Recorder(name, out)
    step.mark(LOADING)
    cu.cuDriverGetVersion()  # the binding looks up its functions here, those too new for the driver too
    step("cuInit", "cuInit", 0)
    step.device = step("cuDeviceGet", "cuDeviceGet", 0)
    if chosen.context:
        step.context = step("cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain", step.device, hide=True)
        step("cuCtxSetCurrent", "cuCtxSetCurrent", step.context)
    try:
        chosen.run(step)
    except Exception as problem:
        step.note("broke_off", status=f"EXC {type(problem).__name__}: {problem}")
        traceback.print_exc()
    step.note("end")
    os._exit(0)  # leave without tearing down: some groups end with work that never finishes


def attribute_log(text: str) -> list[tuple[str, str]]:
    """Pair each line of the log with the step whose marker stands before it."""
    step, pairs = "", []
    for line in text.splitlines():
        if line.startswith(MARK):
            step = line[len(MARK) :]
        elif "[CUDA]" in line:
            pairs.append((step, line))
        elif line.strip():
            print(f"  stderr at {step}: {line}")
    return pairs


def record(name: str, limit: float) -> tuple[list[list[object]], list[tuple[str, str]]]:
    """Run one group in its own interpreter; return its steps and its log."""
    environment = os.environ | SAFE | {"CUDA_LOG_FILE": "stderr"} | GROUPS[name].environment
    command = [sys.executable, str(HERE / "driver_probe.py"), "--group", name]
    environment = {key: value for key, value in environment.items() if value != "UNSET"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment, check=False)
        code, output, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        code, output, errors = "timeout", (late.stdout or b"").decode(), (late.stderr or b"").decode()
    steps = [json.loads(line) for line in output.splitlines()]
    if not steps or steps[-1][0] != "end":
        marks = [line[len(MARK) :] for line in errors.splitlines() if line.startswith(MARK)]
        steps.append([marks[-1] if marks else "start", "CRASH", [f"exit {code}"]])
    return [step for step in steps if step[0] != "end"], attribute_log(errors)


def machine() -> dict[str, object]:
    """Describe the machine, by nvidia-smi and a worker of its own."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    rows = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
    name, driver = rows[0].split(", ")
    probe = (
        "from cuda.bindings import driver as d; d.cuInit(0); attribute = d.CUdevice_attribute; "
        "print(d.cuDriverGetVersion()[1], "
        "d.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0)[1])"
    )
    said = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout
    version, multicast = (int(word) for word in said.split())
    return {
        "gpu": name,
        "driver": driver,
        "cuda": version,
        "cuda_bindings": importlib.metadata.version("cuda-bindings"),
        "gpus": len(rows),
        "multicast_supported": multicast,
        "date": datetime.date.today().isoformat(),
        "binding": "cuda.bindings.driver (v1)",
    }


def main() -> None:
    """Record the groups asked for and write one file."""
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--kind", default="driver", choices=("driver", "peer", "kernels", "graphs"))
    ask.add_argument("--only", default="", help="names of groups, separated by commas")
    ask.add_argument("--out", default=".", help="directory of the file written")
    ask.add_argument("--group", help=argparse.SUPPRESS)
    chosen = ask.parse_args()
    load()
    if chosen.group:
        work(chosen.group)
    names = [name for name in chosen.only.split(",") if name] or [n for n, g in GROUPS.items() if g.kind == chosen.kind]
    found = {"machine": machine(), "format": FORMAT, "groups": {}, "log": {}, "log_step": {}, "log_raw": {}}
    for name in names:
        steps, log = record(name, 60.0)
        found["groups"][name] = steps
        if name == RAW_GROUP or (chosen.kind == "peer" and name == names[0]):
            found["log_raw"][name] = [line for _, line in log]
        log = [pair for pair in log if pair[0] != LOADING]
        found["log"][name] = [STAMP.sub("", line) for _, line in log]
        found["log_step"][name] = [step for step, _ in log]
        print(f"{name}: {len(steps)} steps, {len(log)} log lines, last {steps[-1][:2]}")
    series = ".".join(str(found["machine"]["driver"]).split(".")[:2])
    target = Path(chosen.out) / f"h200-{series}-{chosen.kind}.json"
    target.write_text(json.dumps(found, indent=0) + "\n")
    print(target)


if __name__ == "__main__":
    main()
