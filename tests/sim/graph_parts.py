"""What tests of graphs and captures build theirs of."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import ClassVar

from cuda.bindings import driver as cu

from answers import ok

GLOBAL, THREAD_LOCAL, RELAXED = (cu.CUstreamCaptureMode(mode) for mode in range(3))
NONE, ACTIVE, INVALIDATED = range(3)
PTX = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p, .param .u32 n) {
    .reg .b64 %rd<2>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
    ld.global.u32 %r2, [%rd1]; add.u32 %r3, %r2, %r1; st.global.u32 [%rd1], %r3; ret;
}
.visible .entry double(.param .u64 p) {
    .reg .b64 %rd<2>; .reg .b32 %r<3>;
    ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; shl.b32 %r2, %r1, 1; st.global.u32 [%rd1], %r2; ret;
}
.visible .entry meet(.param .u64 mine, .param .u64 other) {
    .reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [mine]; ld.param.u64 %rd2, [other];
    mov.u32 %r1, 1; st.release.sys.global.u32 [%rd1], %r1;
wait: ld.acquire.sys.global.u32 %r2, [%rd2]; setp.eq.u32 %p1, %r2, 0; @%p1 bra wait; ret;
}
\0"""
HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Words:
    """Some 32-bit words of device memory, zero at first."""

    def __init__(self, count: int = 1) -> None:
        self.address, self.count = int(ok(cu.cuMemAlloc(4 * count))), count
        ok(cu.cuMemsetD32(self.address, 0, count))

    def read(self) -> list[int]:
        """Answer the words."""
        data = bytearray(4 * self.count)
        ok(cu.cuMemcpyDtoH(data, self.address, len(data)))
        return [int.from_bytes(data[k : k + 4], "little") for k in range(0, len(data), 4)]

    def close(self) -> None:
        """Give the memory back."""
        ok(cu.cuMemFree(self.address))


class Parameters:
    """Kernel parameters as the driver wants them: pointers to values; they live as long as the tests."""

    _alive: ClassVar[list[object]] = []  # the bindings' structures hold addresses only

    def __init__(self, *values: ctypes._SimpleCData) -> None:
        self._array = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        self._alive += (values, self._array)

    @property
    def address(self) -> int:
        """Where the array of pointers lies."""
        return ctypes.addressof(self._array)


def add_to(address: int, number: int) -> Parameters:
    """Make the parameters of the kernel ``add``."""
    return Parameters(ctypes.c_uint64(address), ctypes.c_uint32(number))


def function(name: str) -> object:
    """Load a kernel; modules go with their context."""
    return ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(PTX)), name.encode()))


def launch(kernel: object, stream: object, parameters: Parameters) -> tuple:
    """Launch one thread of a kernel."""
    return cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters.address, 0)


def host_function(call: Callable[[int | None], None]) -> tuple[object, object]:
    """Make a host function of a Python one; the second must live as long as it may be called."""
    kept = HOST(call)
    return cu.CUhostFn(ctypes.cast(kept, ctypes.c_void_p).value), kept


def kernel_params(kernel: object, parameters: Parameters) -> object:
    """Describe a kernel node of one thread."""
    made = cu.CUDA_KERNEL_NODE_PARAMS()
    made.func, made.kernelParams = kernel, parameters.address
    made.gridDimX = made.gridDimY = made.gridDimZ = made.blockDimX = made.blockDimY = made.blockDimZ = 1
    return made


def memset_params(dst: int, value: int, width: int = 1, height: int = 1, pitch: int = 0) -> object:
    """Describe a memset node of 32-bit words."""
    made = cu.CUDA_MEMSET_NODE_PARAMS()
    made.dst, made.value, made.elementSize, made.width, made.height, made.pitch = dst, value, 4, width, height, pitch
    return made


def copy_params(dst: int, src: int, width: int, height: int = 1, depth: int = 1, pitch: int = 0) -> object:
    """Describe a copy node between device memories."""
    made = cu.CUDA_MEMCPY3D()
    made.srcMemoryType = made.dstMemoryType = cu.CUmemorytype(2)
    made.srcDevice, made.dstDevice = src, dst
    made.srcPitch, made.dstPitch, made.srcHeight, made.dstHeight = pitch, width, height, height
    made.WidthInBytes, made.Height, made.Depth = width, height, depth
    return made


def run(graph: object, stream: object, times: int = 1) -> None:
    """Instantiate, launch, wait, destroy."""
    made = ok(cu.cuGraphInstantiate(graph, 0))
    for _ in range(times):
        ok(cu.cuGraphLaunch(made, stream))
    ok(cu.cuStreamSynchronize(stream))
    ok(cu.cuGraphExecDestroy(made))


def kinds(graph: object) -> list[int]:
    """Answer the kinds of a graph's nodes, in the order of their adding."""
    count = ok(cu.cuGraphGetNodes(graph))[1]
    return [int(ok(cu.cuGraphNodeGetType(node))) for node in ok(cu.cuGraphGetNodes(graph, count))[0]]
