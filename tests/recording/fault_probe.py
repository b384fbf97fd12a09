"""Record what a real driver answers when a kernel ends badly: each kernel in a process of its own.

    python fault_probe.py ANSWERS.json             run every kernel, write the steps
    python fault_probe.py --one NAME               one kernel, its steps as JSON on stdout
    python fault_probe.py --check PTXAS            only compile

Nothing here touches multicast.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HEAD = """.version 9.0
.target sm_90
.address_size 64
.extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
.global .align 1 .b8 message[6] = {119, 114, 111, 110, 103, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.global .align 1 .b8 function[5] = {109, 97, 105, 110, 0};
.const .align 4 .b8 table[64];
.func (.param .b32 r) deeper (.param .b32 x) {
  .local .align 16 .b8 room[1024];
  .reg .b32 %x, %y; .reg .b64 %q; .reg .pred %z;
  ld.param.u32 %x, [x];
  mov.u64 %q, room;
  st.local.u32 [%q], %x;
  add.u32 %y, %x, 1;
  setp.eq.u32 %z, %x, -5;
  @%z bra OUT;
  { .param .b32 a; .param .b32 b;
    st.param.b32 [a], %y;
    call.uni (b), deeper, (a);
    ld.param.b32 %y, [b]; }
  ld.local.u32 %x, [%q];
OUT:
  add.u32 %x, %x, %y;
  st.param.b32 [r], %x;
  ret;
}
.visible .entry k(.param .u64 p, .param .u64 zero) {
  .shared .align 128 .b8 room[64];
  .local .align 16 .b8 own[64];
  .reg .b64 %p, %z, %g, %o, %f, %m; .reg .b32 %s, %r, %t, %u, %v; .reg .pred %q;
  ld.param.u64 %p, [p];
  ld.param.u64 %z, [zero];
  cvt.u32.u64 %t, %z;
  mov.u32 %s, room;
  cvta.shared.u64 %g, %z;
  mov.u64 %o, own;
  mov.u32 %r, 7;
"""
ASSERT = """
{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
  cvta.global.u64 %m, message; st.param.b64 [a], %m;
  cvta.global.u64 %m, file; st.param.b64 [b], %m;
  st.param.b32 [c], 12;
  cvta.global.u64 %m, function; st.param.b64 [d], %m;
  st.param.b64 [e], 1;
  call.uni __assertfail, (a, b, c, d, e); }
"""
DEEPER = "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %t; call.uni (b), deeper, (a); ld.param.b32 %r, [b]; }"
NULL_CALL = (
    "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %t; "
    "P: .callprototype (.param .b32 _) _ (.param .b32 _); call (b), %z, (a), P; "
    "ld.param.b32 %r, [b]; }"
)


def shared(offset: int) -> str:
    return f"add.u32 %s, %t, {offset & 0xFFFFFFFF}; st.shared.u32 [%s], %r;"


KERNELS: dict[str, str] = {
    "fine": "st.global.u32 [%p], %r;",
    "addresses": (
        "st.global.u32 [%p], %s; cvt.u32.u64 %u, %o; st.global.u32 [%p + 4], %u; mov.u32 %r, %total_smem_size;"
    ),
    "trap": "trap;",
    "brkpt": "brkpt;",
    "assert": ASSERT,
    "trap_in_one_lane": "mov.u32 %u, %laneid; setp.eq.u32 %q, %u, 3; @%q trap;",
    "global_load_null": "ld.global.u32 %r, [%z]; st.global.u32 [%p], %r;",
    "global_store_null": "st.global.u32 [%z], %r;",
    "global_store_low": "add.u64 %g, %z, 4096; st.global.u32 [%g], %r;",
    "global_store_far": "add.u64 %g, %z, 0x7fff00000000; st.global.u32 [%g], %r;",
    "global_store_noncanonical": "add.u64 %g, %z, 0x7fffffff00000000; st.global.u32 [%g], %r;",
    "global_store_gib_past": "add.u64 %g, %p, 0x40000000; st.global.u32 [%g], %r;",
    "global_store_just_past": "st.global.u32 [%p + 4096], %r;",
    "global_load_misaligned": "ld.global.u32 %r, [%p + 2]; st.global.u32 [%p], %r;",
    "global_store_misaligned": "st.global.u32 [%p + 2], %r;",
    "global_vector_misaligned": "st.global.v4.u32 [%p + 8], {%r, %r, %r, %r};",
    "global_misaligned_and_null": "st.global.u32 [%z + 2], %r;",
    "generic_load_null": "ld.u32 %r, [%z]; st.global.u32 [%p], %r;",
    "atom_null": "atom.global.add.u32 %r, [%z], 1; st.global.u32 [%p], %r;",
    "atom_misaligned": "atom.global.add.u32 %r, [%p + 2], 1; st.global.u32 [%p], %r;",
    "red_null": "red.global.add.u32 [%z], 1;",
    **{
        f"shared_store_at_{at:#x}": shared(at)
        for at in (64, 128, 1020, 1024, 1088, 2044, 2048, 0xC000, 0x39000, 0x40000, 0x1000000, -4)
    },
    "shared_load_at_0x40000": "add.u32 %s, %t, 0x40000; ld.shared.u32 %r, [%s]; st.global.u32 [%p], %r;",
    "shared_store_misaligned": (
        "st.shared.u32 [room + 2], %r; st.shared.u32 [%s], %r; add.u32 %s, %s, 2; add.u32 %s, %s, %t; "
        "st.shared.u32 [%s], %r;"
    ),
    "shared_atom_past": "add.u32 %s, %t, 0x40000; atom.shared.add.u32 %r, [%s], 1; st.global.u32 [%p], %r;",
    "shared_atom_misaligned": (
        "add.u32 %s, %s, 2; add.u32 %s, %s, %t; atom.shared.add.u32 %r, [%s], 1; st.global.u32 [%p], %r;"
    ),
    "generic_shared_past": "add.u64 %g, %g, 0x40000; st.u32 [%g], %r;",
    "generic_shared_misaligned": "add.u64 %g, %g, 2; st.u32 [%g], %r;",
    **{
        f"local_store_at_{at:#x}": f"add.u64 %o, %o, %z; st.local.u32 [%o + {at}], %r;"
        for at in (64, 4096, 1 << 20, 1 << 24)
    },
    "local_store_misaligned": "add.u64 %o, %o, %z; st.local.u32 [%o + 2], %r;",
    "const_load_past": (
        "mov.u64 %g, table; add.u64 %g, %g, %z; ld.const.u32 %r, [%g + 0x100000]; st.global.u32 [%p], %r;"
    ),
    "call_null": NULL_CALL,
    "recursion_without_end": DEEPER,
    "cp_async_null": "cp.async.ca.shared.global [%s], [%z], 16; cp.async.wait_all;",
    "cp_async_misaligned": "cp.async.ca.shared.global [%s], [%p + 8], 16; cp.async.wait_all;",
    "ldmatrix_misaligned": (
        "add.u32 %s, %s, 4; add.u32 %s, %s, %t; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r}, [%s]; "
        "st.global.u32 [%p], %r;"
    ),
    "mbarrier_arrive_on_zero": (
        "mov.u64 %m, 0; st.shared.u64 [%s], %m; mbarrier.arrive.shared.b64 %m, [%s]; st.global.u64 [%p], %m;"
    ),
    "mbarrier_misaligned": "add.u32 %s, %s, 4; add.u32 %s, %s, %t; mbarrier.init.shared.b64 [%s], 1;",
    "barrier_number_17": "add.u32 %u, %t, 17; bar.sync %u;",
    "barrier_of_33_threads": "add.u32 %u, %t, 33; bar.sync 0, %u;",
    "prefetch_null": "prefetch.global.L2 [%z];",
}


def text(name: str) -> str:
    """Write the module of a kernel."""
    return HEAD + KERNELS[name] + "\nst.global.u32 [%p + 8], %r;\nret;\n}\n"


def one(name: str) -> None:
    """Run one kernel and print its steps."""
    from cuda.bindings import driver as cu

    steps: list[list] = []

    def call(step: str, function, *arguments):
        status, *outputs = function(*arguments)
        steps.append([step, int(status)])
        return outputs[0] if outputs else None

    cu.cuInit(0)
    device = cu.cuDeviceGet(0)[1]
    cu.cuCtxSetCurrent(cu.cuDevicePrimaryCtxRetain(device)[1])
    module = call("load", cu.cuModuleLoadData, text(name).encode() + b"\0")
    function = call("function", cu.cuModuleGetFunction, module, b"k")
    memory = call("alloc", cu.cuMemAlloc, 4096)
    stream = call("stream", cu.cuStreamCreate, 0)
    arguments = ((int(memory), 0), (ctypes.c_uint64, ctypes.c_uint64))
    call("launch", cu.cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, 0)
    call("sync", cu.cuStreamSynchronize, stream)
    call("sync again", cu.cuStreamSynchronize, stream)
    call("query", cu.cuStreamQuery, stream)
    call("context sync", cu.cuCtxSynchronize)
    call("launch again", cu.cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, 0)
    call("alloc again", cu.cuMemAlloc, 4096)
    back = bytearray(16)
    call("copy", cu.cuMemcpyDtoH, back, memory, 16)
    steps.append(["bytes", back.hex()])
    call("free", cu.cuMemFree, memory)
    call("unload", cu.cuModuleUnload, module)
    call("reset", cu.cuDevicePrimaryCtxReset, device)
    call("current", cu.cuCtxSetCurrent, cu.cuDevicePrimaryCtxRetain(device)[1])
    call("alloc after reset", cu.cuMemAlloc, 4096)
    print(json.dumps(steps))


def probe(name: str) -> dict:
    """Run one kernel in its own process."""
    try:
        done = subprocess.run([sys.executable, __file__, "--one", name], capture_output=True, text=True, timeout=25)
    except subprocess.TimeoutExpired:
        return {"ptx": KERNELS[name], "steps": "no end within 25 s"}
    lines = done.stdout.splitlines()
    steps = json.loads(lines[-1]) if lines and lines[-1].startswith("[") else done.returncode
    printed = "\n".join(lines[:-1]) + done.stderr[-1500:]
    return {"ptx": KERNELS[name], "steps": steps, "printed": printed}


def check(ptxas: str) -> None:
    """Say which kernels ptxas refuses."""
    for name in KERNELS:
        done = subprocess.run(
            [ptxas, "-arch=sm_90", "-", "-o", "/dev/null"], input=text(name), capture_output=True, text=True
        )
        if done.returncode:
            print(name, done.stderr.splitlines()[0])


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one(sys.argv[2])
    elif sys.argv[1] == "--check":
        check(sys.argv[2])
    else:
        with ThreadPoolExecutor(6) as pool:
            answers = dict(zip(KERNELS, pool.map(probe, KERNELS), strict=True))
        with open(sys.argv[1], "w") as out:
            json.dump(answers, out, indent=1)
