"""Kernels: against numpy and plain C on the same machine in the same run; how long a kernel takes to start."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROUNDS = 7


def run() -> list[dict]:
    """Measure in a process of its own, whose kernels no cache knows."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        command = [sys.executable, str(Path(__file__)), cache]
        found = [subprocess.run(command, env=environment, check=True, capture_output=True, text=True) for _ in range(2)]
    first, second = (json.loads(one.stdout.splitlines()[-1]) for one in found)
    return [
        _at_least("all-reduce kernel, 8 x 64 MiB, against plain C", first["all_reduce"], 0.6),
        _at_least("add, 16 Mi floats, a thread each, against numpy", first["add"], 0.6),
        _at_least("add, 16 Mi floats, grid-stride, against numpy", first["add_strided"], 0.4),
        _at_most("some 1500 lines of PTX: load, get function, launch", first["start"], "s", 1.5),
        _at_most("the same from the cache on disk", second["start"] * 1e3, "ms", 10),
        _at_most("an empty launch", first["launch"] * 1e6, "us", 50),
        _at_most("an empty launch and its end", first["launch_and_end"] * 1e6, "us", None),
    ]


def _at_least(name: str, value: float, bound: float) -> dict:
    return {"name": name, "value": value, "unit": "x", "bound": f">= {bound}", "holds": value >= bound}


def _at_most(name: str, value: float, unit: str, bound: float | None) -> dict:
    holds = bound is None or value <= bound
    return {"name": name, "value": value, "unit": unit, "bound": "" if bound is None else f"<= {bound}", "holds": holds}


# ---- the measuring process

DEVICES = 8
SIZE = 64 << 20
COUNT = 16 << 20


def compiled(source: str) -> bytes:
    """Compile CUDA C++ to PTX."""
    from cuda.bindings import nvrtc

    program = _good(nvrtc.nvrtcCreateProgram(source.encode(), b"bench.cu", 0, [], []))
    _good(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_90"]))
    text = bytes(_good(nvrtc.nvrtcGetPTXSize(program)))
    _good(nvrtc.nvrtcGetPTX(program, text))
    return text


def _good(answer: tuple) -> object:
    status, *values = answer
    assert int(status) == 0, status
    return values[0] if values else None


def best(work: object, rounds: int = ROUNDS) -> float:
    """Answer the shortest time of several."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


class Bench:
    """Device 0 of a simulated machine, and the kernels."""

    def __init__(self) -> None:
        import cumulticast.sim as sim

        sim.start(machine="hgx-h100-8")
        from cuda.bindings import driver

        self.cu = driver
        _good(driver.cuInit(0))
        _good(driver.cuCtxSetCurrent(_good(driver.cuDevicePrimaryCtxRetain(0))))
        self.module = _good(driver.cuModuleLoadData(compiled((HERE / "kernels.cu").read_text())))

    def launch(self, name: bytes, grid: int, block: int, values: tuple = (), types: tuple = ()) -> None:
        """Launch into the default stream."""
        function = _good(self.cu.cuModuleGetFunction(self.module, name))
        given = (values, types) if values else 0
        _good(self.cu.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, 0, given, 0))

    def end(self) -> None:
        """Wait for all work."""
        _good(self.cu.cuCtxSynchronize())

    # ---- how fast

    def elementwise(self) -> tuple[float, float]:
        """Compare both ways of adding with numpy's."""
        import numpy as np

        places = [int(_good(self.cu.cuMemAlloc(4 * COUNT))) for _ in range(3)]
        for place in places:
            _good(self.cu.cuMemsetD32(place, 0x3F800000, COUNT))
        values, types = (*places, COUNT), (ctypes.c_void_p,) * 3 + (ctypes.c_int,)

        def kernel(name: bytes, grid: int) -> float:
            def work() -> None:
                self.launch(name, grid, 256, values, types)
                self.end()

            work()
            return best(work)

        a, b = np.ones(COUNT, np.float32), np.ones(COUNT, np.float32)
        c = a + b
        numpy = best(lambda: np.add(a, b, out=c))
        return numpy / kernel(b"add", COUNT // 256), numpy / kernel(b"add_strided", 132)

    def all_reduce(self) -> float:
        """Compare the kernel with the loop in C, which finds its replicas where the simulator would put them."""
        address = self.multicast()
        values, types = (address, SIZE // 4), (ctypes.c_void_p, ctypes.c_int)

        def kernel() -> None:
            self.launch(b"all_reduce", SIZE // 16 // 256, 256, values, types)
            self.end()

        kernel()
        return best(self.plain_c()) / best(kernel)

    def multicast(self) -> int:
        """Bind 64 MiB of each device and answer the multicast address."""
        cu = self.cu
        prop = cu.CUmulticastObjectProp()
        prop.numDevices, prop.size = DEVICES, SIZE
        handle = _good(cu.cuMulticastCreate(prop))
        for device in range(DEVICES):
            _good(cu.cuMulticastAddDevice(handle, device))
        for device in range(DEVICES):
            memory = cu.CUmemAllocationProp()
            memory.type = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
            memory.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
            memory.location.id = device
            _good(cu.cuMulticastBindMem(handle, 0, _good(cu.cuMemCreate(SIZE, memory, 0)), 0, SIZE, 0))
        address = _good(cu.cuMemAddressReserve(SIZE, 0, 0, 0))
        _good(cu.cuMemMap(address, SIZE, 0, cu.CUmemGenericAllocationHandle(int(handle)), 0))
        access = cu.CUmemAccessDesc()
        access.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        access.flags = cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        _good(cu.cuMemSetAccess(address, SIZE, [access], 1))
        return int(address)

    def plain_c(self) -> object:
        """Build the loop in C and answer how to run it, on as many threads as kernels use."""
        import numpy as np

        place = Path(sys.argv[1]) / "all_reduce.so"
        command = ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-pthread", "-o", str(place)]
        subprocess.run([*command, str(HERE / "all_reduce.c")], check=True)
        stride = SIZE + 17 * 4096
        memory = np.zeros(DEVICES * stride // 4, np.float32)
        memory.fill(0)  # pages that were never written would be one and the same
        function = ctypes.CDLL(str(place)).all_reduce
        function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_size_t, ctypes.c_int]
        threads = len(os.sched_getaffinity(0))

        return lambda: function(memory.ctypes.data, stride // 4, DEVICES, SIZE // 4, threads)

    # ---- how soon

    def start(self) -> float:
        """Load 500 lines of PTX that this process has not seen, get the function, launch it."""
        text = compiled(LONG)
        begin = time.perf_counter()
        module = _good(self.cu.cuModuleLoadData(text))
        function = _good(self.cu.cuModuleGetFunction(module, b"long_one"))
        place = int(_good(self.cu.cuMemAlloc(4096)))
        _good(self.cu.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, ((place,), (ctypes.c_void_p,)), 0))
        self.end()
        return time.perf_counter() - begin

    def launches(self, *, wait: bool) -> float:
        """Time an empty launch, alone or to its end."""
        function = _good(self.cu.cuModuleGetFunction(self.module, b"empty"))
        launch, end = self.cu.cuLaunchKernel, self.cu.cuCtxSynchronize

        def work() -> None:
            for _ in range(200):
                launch(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0)
                if wait:
                    end()

        seconds = best(work) / 200
        self.end()
        return seconds


ROUND = """
    for (int i = threadIdx.x; i < n; i += 32) {{
        float x = p[i] * {k}.5f + s[(i + {k}) & 63];
        if (x > {k}) x = x / ({k} + i); else x = sqrtf(x * x + {k});
        s[i & 63] = x; __syncwarp();
        acc += __shfl_xor_sync(~0u, x, {shift});
    }}
"""
LONG = (
    'extern "C" __global__ void long_one(float *p) { __shared__ float s[64]; float acc = 0; int n = 64;'
    + "".join(ROUND.format(k=k, shift=1 << k % 5) for k in range(1, 9))
    + "p[threadIdx.x] = acc; }"
)


def main() -> None:
    """Measure everything and print it."""
    bench = Bench()
    start = bench.start()
    add, strided = bench.elementwise()
    found = {
        "start": start,
        "add": add,
        "add_strided": strided,
        "all_reduce": bench.all_reduce(),
        "launch": bench.launches(wait=False),
        "launch_and_end": bench.launches(wait=True),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
