"""PTX that the tests of modules and launches load, and short ways to launch it."""

from __future__ import annotations

import ctypes
from typing import Any

from cuda.bindings import driver as cu

from answers import ok

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
PTX = (
    HEAD
    + """
.visible .global .align 4 .u32 place[4] = {1, 2, 3};
.visible .const .align 4 .u32 fixed = 7;
.visible .global .attribute(.managed) .align 4 .u32 shown = 5;
.visible .global .align 8 .u64 links[2] = {generic(place) + 4, generic(fixed)};
.visible .entry nothing() { ret; }
.visible .entry fill(.param .u64 p, .param .u32 n, .param .u8 value) {
  .reg .pred %q; .reg .b16 %h; .reg .b32 %r<5>; .reg .b64 %d<4>;
  ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; ld.param.u8 %h, [value];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r2, %r2, %r3, %r4;
  setp.ge.u32 %q, %r2, %r1; @%q bra done;
  cvt.u64.u32 %d2, %r2; add.u64 %d3, %d1, %d2; st.global.u8 [%d3], %h;
done: ret; }
.visible .entry shared() { .shared .align 4 .b8 room[1024]; .reg .b32 %r<3>; mov.u32 %r1, room;
  st.shared.u32 [%r1], %r1; ret; }
.visible .entry bounded() .maxntid 128, 1, 1 { ret; }
.visible .entry exact() .reqntid 64, 1, 1 { ret; }
.visible .entry clustered() .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }
.visible .entry reads(.param .u64 p) { .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [p]; ld.global.u32 %r, [%d];
  st.global.u32 [%d], %r; ret; }
"""
).encode() + b"\0"
KERNELS = ("nothing", "fill", "shared", "bounded", "exact", "clustered", "reads")
BROKEN = (HEAD + ".visible .entry f() {\n  nonsense;\n  ret;\n}\n").encode() + b"\0"
GIVES = (
    HEAD + ".visible .func (.param .b32 r) give() { .reg .b32 %r; mov.u32 %r, 7; st.param.b32 [r], %r; ret; }\n"
).encode() + b"\0"
WANTS = (
    HEAD
    + """.extern .func (.param .b32 r) give();
.visible .entry wants(.param .u64 p) { .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [p];
  { .param .b32 got; call (got), give; ld.param.b32 %r, [got]; } st.global.u32 [%d], %r; ret; }
"""
).encode() + b"\0"
SPINS = (
    HEAD
    + """.visible .global .align 4 .u32 answer = 9;
.visible .entry spin(.param .u64 flag, .param .u64 p) { .reg .pred %q; .reg .b32 %r; .reg .b64 %d<3>;
  ld.param.u64 %d0, [flag]; ld.param.u64 %d1, [p];
again: ld.acquire.sys.global.u32 %r, [%d0]; setp.eq.u32 %q, %r, 0; @%q bra again;
  ld.global.u32 %r, [answer]; st.global.u32 [%d1], %r; ret; }
"""
).encode() + b"\0"
ONE = (1, 1, 1)


def shape(grid: Any = ONE, block: Any = ONE, dynamic: int = 0, stream: int = 0) -> tuple[Any, ...]:
    """Answer the middle of the arguments of cuLaunchKernel."""
    return (*grid, *block, dynamic, stream)


def config(grid: Any = ONE, block: Any = ONE, dynamic: int = 0, **attributes: Any) -> cu.CUlaunchConfig:
    """Make a configuration with attributes by their number: ``a4=(2, 1, 1)``."""
    made = cu.CUlaunchConfig()
    made.gridDimX, made.gridDimY, made.gridDimZ = grid
    made.blockDimX, made.blockDimY, made.blockDimZ = block
    made.sharedMemBytes = dynamic
    attrs = []
    for number, value in attributes.items():
        one = cu.CUlaunchAttribute()
        one.id = cu.CUlaunchAttributeID(int(number[1:]))
        words = value if isinstance(value, tuple) else (value,)
        data = b"".join(int(word).to_bytes(8 if len(words) == 1 else 4, "little", signed=word < 0) for word in words)
        ctypes.memmove(one.value.getPtr(), data, len(data))
        attrs.append(one)
    made.attrs, made.numAttrs = attrs, len(attrs)
    return made


def packed(*words: int) -> Any:
    """Make a list for ``extra``."""
    return (ctypes.c_void_p * len(words))(*words)


def module(image: bytes = PTX) -> Any:
    """Load a module."""
    return ok(cu.cuModuleLoadData(image))


def function(name: str, image: bytes = PTX) -> Any:
    """Load a module and answer one of its functions."""
    return ok(cu.cuModuleGetFunction(module(image), name.encode()))


def library(image: bytes = PTX) -> Any:
    """Load a library."""
    return ok(cu.cuLibraryLoadData(image, [], [], 0, [], [], 0))


def device_bytes(address: int, count: int) -> bytes:
    """Read device memory."""
    host = bytearray(count)
    ok(cu.cuMemcpyDtoH(host, address, count))
    return bytes(host)
