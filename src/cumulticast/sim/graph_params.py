"""The parameters of nodes as C structures: CUDA_KERNEL_NODE_PARAMS and its kin, and CUgraphNodeParams around them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cumulticast.rules import general, graph_nodes
from cumulticast.sim import launches, native, parameters
from cumulticast.sim.fills import Fill
from cumulticast.sim.graph_work import CopyWork, FillWork, HostWork, KernelWork
from cumulticast.sim.launches import Launch, Shape
from cumulticast.sim.planes import Volume, check_plane

if TYPE_CHECKING:
    from cumulticast.sim.contexts import Context
    from cumulticast.sim.modules import Function
    from cumulticast.sim.process import Process

_KERNEL = struct.Struct("<Q7I4xQQ")
_KERNEL_MORE = struct.Struct("<QQ")
_HOST = struct.Struct("<QQ")
_COPY_HEAD = struct.Struct("<iiQ")
WORD = 8


@dataclass(frozen=True, slots=True)
class KernelParams:
    """CUDA_KERNEL_NODE_PARAMS.

    Attributes
    ----------
    pointers, extra
        Where the parameters lie, in one of two ways, as for cuLaunchKernel.
    kern
        A CUkernel, if `func` is 0.
    ctx
        Where a CUkernel is to run; 0: the current context.
    """

    func: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic: int
    pointers: int
    extra: int
    kern: int = 0
    ctx: int = 0

    @classmethod
    def read(cls, data: bytes) -> KernelParams:
        """Read the first 56 bytes of the C structure, or all 72."""
        func, *sizes, pointers, extra = _KERNEL.unpack_from(data)
        more = _KERNEL_MORE.unpack_from(data, _KERNEL.size) if len(data) > _KERNEL.size else (0, 0)
        return cls(
            func, (sizes[0], sizes[1], sizes[2]), (sizes[3], sizes[4], sizes[5]), sizes[6], pointers, extra, *more
        )

    def write(self) -> bytes:
        """Write the 72 bytes of the C structure."""
        first = _KERNEL.pack(self.func, *self.grid, *self.block, self.dynamic, self.pointers, self.extra)
        return first + _KERNEL_MORE.pack(self.kern, self.ctx)

    @property
    def shape(self) -> Shape:
        """What a launch asks for."""
        return Shape(self.grid, self.block, self.dynamic)


def kernel_work(process: Process, function: Function, params: KernelParams, shape: Shape) -> KernelWork:
    """Check a launch as cuLaunchKernel does, and keep it. The function was loaded.

    Raises
    ------
    Refused
        As a launch.
    """
    cluster = launches.check(process, function, shape)
    data = parameters.gather(process, function, params.pointers, params.extra)
    launch = Launch(function, shape.grid, shape.block, cluster, shape.dynamic, data, shape.cooperative)
    return KernelWork(launch, shape, kern_of(process, params.func or params.kern))


def kern_of(process: Process, handle: int) -> int:
    """Answer a handle if it is a CUkernel's, else 0."""
    return 0 if process.libraries.find_kernel(handle) is None else handle


def kernel_params(work: KernelWork) -> tuple[KernelParams, tuple[bytearray, ...]]:
    """Answer the parameters of a kernel node, and the memory that their pointers point into."""
    launch, kernel = work.launch, work.launch.function.kernel
    data = bytearray(launch.parameters or bytes(1))
    base = native.address_of(data)
    places = b"".join((base + offset).to_bytes(WORD, "little") for offset in kernel.parameter_offsets)
    pointers = bytearray(places or bytes(WORD))
    address = native.address_of(pointers) if places else 0
    context = launch.function.module.context.value
    params = KernelParams(
        launch.function.value, launch.grid, launch.block, launch.dynamic, address, 0, work.kern, context
    )
    return params, (data, pointers)


def copy_work(process: Process, volume: Volume, context: Context) -> CopyWork:
    """Check a copy and keep it.

    Raises
    ------
    Refused
        1: no bytes, rows wider than their pitch, memory that cannot be touched.
    """
    process.driver.judge(graph_nodes.copy_bytes, volume.width, volume.height, volume.depth)
    for plane in volume.planes:
        check_plane(process, plane)
    work = CopyWork(volume, context)
    work.check(process)
    return work


def fill_work(process: Process, fill: Fill, context: Context) -> FillWork:
    """Check a memset and keep it.

    Raises
    ------
    Refused
        1: no elements, not aligned, memory that cannot be touched.
    """
    process.driver.judge(graph_nodes.memset_elements, fill.width, fill.columns, fill.rows)
    fill.check(process)
    work = FillWork(fill, context)
    work.check(process)
    return work


def host_work(process: Process, data: bytes) -> HostWork:
    """Keep a host function; a null pointer is refused (1)."""
    function, argument = _HOST.unpack_from(data)
    process.driver.judge(general.pointer_given, "fn", function)
    return HostWork(function, argument)


def host_params(work: HostWork) -> bytes:
    """Write a CUDA_HOST_NODE_PARAMS."""
    return _HOST.pack(work.function, work.data)


# ---- CUgraphNodeParams: type, then a union


NODE_PARAMS, UNION = 256, 16  # bytes of the structure; where the union begins
COPY_BODY = UNION + _COPY_HEAD.size


def kind_of(data: bytes) -> int:
    """Answer the CUgraphNodeType of a CUgraphNodeParams."""
    return int.from_bytes(data[:4], "little")


def word_at(data: bytes, offset: int) -> int:
    """Read a word of the union."""
    return int.from_bytes(data[UNION + offset : UNION + offset + WORD], "little")


def whole(kind: int, body: bytes) -> bytes:
    """Put the parameters of one kind into a CUgraphNodeParams."""
    return (kind.to_bytes(4, "little").ljust(UNION, b"\0") + body).ljust(NODE_PARAMS, b"\0")


def copy_body(work: CopyWork) -> bytes:
    """Write a CUDA_MEMCPY_NODE_PARAMS."""
    return _COPY_HEAD.pack(0, 0, work.context.value) + work.volume.write()


def fill_body(work: FillWork) -> bytes:
    """Write a CUDA_MEMSET_NODE_PARAMS_v2."""
    return work.fill.write() + work.context.value.to_bytes(WORD, "little")
