"""What `cumulticast.multimem` does, by kernels through ``cuda.bindings``: for a driver that is not the software driver.

PTX as text, no compiler needed: one loop for each operation and type, ``.version 8.2`` (CUDA 12.2), sm_90 and later.
The array goes through a buffer on the device of the current context, which must have access to the multicast range. No
driver tells a multicast address from another (CUDA has no attribute for it): a wrong one is an illegal address (700),
and breaks the context.

Instructions move 4 or 8 bytes. What begins or ends within such a word is done with a whole word that leaves its other
bytes alone: a store by ``and`` and ``or``, a reduction of a single f16 or bf16 with a neutral neighbour.
"""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

WORD = 4  # bytes of the smallest multimem access
THREADS, MOST_BLOCKS = 256, 1024
#: PTX's type → the type of instructions whose word holds two elements.
PAIRS = {"f16": "f16x2", "bf16": "bf16x2"}
#: Operation → what leaves a neighbour alone, by type: -0, +inf, -inf.
NEUTRAL = {
    "f16": {"add": 0x8000, "min": 0x7C00, "max": 0xFC00},
    "bf16": {"add": 0x8000, "min": 0x7F80, "max": 0xFF80},
}
TEXT = """.version 8.2
.target sm_90
.address_size 64
.visible .entry multimem(.param .u64 there, .param .u64 here, .param .u64 count)
{{
.reg .pred %done; .reg .b16 %low, %high; .reg .b32 %n, %block; .reg .b{bits} %value;
.reg .b64 %there, %here, %count, %i, %step, %to, %at;
ld.param.u64 %there, [there];
ld.param.u64 %here, [here];
ld.param.u64 %count, [count];
mov.u32 %block, %ntid.x;
mov.u32 %n, %ctaid.x;
mul.wide.u32 %i, %n, %block;
mov.u32 %n, %tid.x;
cvt.u64.u32 %to, %n;
add.u64 %i, %i, %to;
mov.u32 %n, %nctaid.x;
mul.wide.u32 %step, %n, %block;
next:
setp.ge.u64 %done, %i, %count;
@%done bra end;
mad.lo.u64 %to, %i, {size}, %there;
mad.lo.u64 %at, %i, {size}, %here;
{body}
add.u64 %i, %i, %step;
bra next;
end:
ret;
}}
"""
Array = np.ndarray[Any, np.dtype[Any]]


def store(ptr: int, array: Array) -> None:
    """Write an array to every replica; see `cumulticast.multimem.store`."""
    data = np.frombuffer(array.tobytes(), np.uint8)
    words, given = _padded(ptr, data)
    whole = given.reshape(-1, WORD).all(axis=1)
    begin = ptr - ptr % WORD
    if not whole.all():  # at most the first and the last
        for at in np.flatnonzero(~whole):
            place, mask = begin + WORD * int(at), np.where(given[WORD * at : WORD * (at + 1)], 0, 255).astype(np.uint8)
            _send(place, mask.view(np.uint32), "multimem.red.relaxed.sys.global.and.b32 [%to], %value;")
            _send(place, words[at : at + 1], "multimem.red.relaxed.sys.global.or.b32 [%to], %value;")
    inner = np.flatnonzero(whole)
    if inner.size:
        first, last = int(inner[0]), int(inner[-1])
        _send(begin + WORD * first, words[first : last + 1], "multimem.st.relaxed.sys.global.b32 [%to], %value;")


def load_reduce(ptr: int, result: Array, dtype: str, op: str) -> None:
    """Combine the replicas into ``result``; ``dtype`` is PTX's name. See `cumulticast.multimem.load_reduce`."""
    size = max(result.itemsize, WORD)
    begin = ptr - ptr % size
    count = -(-(ptr - begin + result.nbytes) // size)
    words = np.empty(count, f"u{size}")
    kind = f"{'.acc::f32' if op == 'add' and dtype in PAIRS else ''}.{_type(dtype, op)}"
    body = f"multimem.ld_reduce.relaxed.sys.global.{op}{kind} %value, [%to];\nst.global.b{8 * size} [%at], %value;"
    if count:
        _carry_out(begin, words, body, back=True)
    loaded = words.view(np.uint8)[ptr - begin :][: result.nbytes]
    result.reshape(-1).view(np.uint8)[:] = loaded


def reduce(ptr: int, array: Array, dtype: str, op: str) -> None:
    """Combine an array into every replica; ``dtype`` is PTX's name. See `cumulticast.multimem.reduce`."""
    if dtype not in PAIRS:
        words = np.frombuffer(array.tobytes(), f"u{array.itemsize}")
        _send(ptr, words, f"multimem.red.relaxed.sys.global.{op}.{_type(dtype, op)} [%to], %value;")
        return
    words, given = _padded(ptr, np.frombuffer(array.tobytes(), np.uint8))
    halves = words.view(np.uint16)
    halves[~given.view(np.uint16).astype(bool)] = NEUTRAL[dtype][op]
    body = f"multimem.red.relaxed.sys.global.{op}.{PAIRS[dtype]} [%to], %value;"
    if op != "add":  # ptxas has these for vectors alone
        body = f"multimem.red.relaxed.sys.global.{op}.v2.{dtype} [%to], {{%low, %high}};"
        body = f"mov.b32 {{%low, %high}}, %value;\n{body}"
    _send(ptr - ptr % WORD, words, body)


def _type(dtype: str, op: str) -> str:
    """Answer the type that an instruction names: bits for bit-wise operations, pairs of 16-bit floats."""
    if op in ("and", "or", "xor"):
        return f"b{dtype[1:]}"
    return PAIRS.get(dtype, dtype)


def _padded(ptr: int, data: Array) -> tuple[Array, Array]:
    """Lay bytes out in whole words of memory; answer the words, and which of their bytes were given."""
    before = ptr % WORD
    size = -(-(before + data.size) // WORD) * WORD
    padded, given = np.zeros(size, np.uint8), np.zeros(size, bool)
    padded[before : before + data.size] = data
    given[before : before + data.size] = True
    return padded.view(np.uint32), given


# ---- a launch


def _send(ptr: int, words: Array, instruction: str) -> None:
    """Carry an instruction out for each of the words and its place."""
    if words.size:
        _carry_out(ptr, words, f"ld.global.b{8 * words.itemsize} %value, [%at];\n{instruction}", back=False)


def _carry_out(ptr: int, words: Array, body: str, *, back: bool) -> None:
    """Run a kernel over a multicast range and a buffer, which holds the words before it, or answers them after it."""
    from cumulticast import driver

    text = TEXT.format(bits=8 * words.itemsize, size=words.itemsize, body=body)
    with _buffer(words.nbytes) as buffer, _kernel(text) as kernel:
        if not back:
            driver.memcpy_htod_v2(buffer, words.ctypes.data, words.nbytes)
        arguments = (ctypes.c_uint64 * 3)(ptr, buffer, words.size)
        each = ctypes.sizeof(ctypes.c_uint64)
        pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(arguments) + each * k for k in range(3)))
        blocks = min(-(-words.size // THREADS), MOST_BLOCKS)
        driver.launch_kernel(kernel, blocks, 1, 1, THREADS, 1, 1, 0, 0, ctypes.addressof(pointers), 0)
        driver.ctx_synchronize()
        if back:
            driver.memcpy_dtoh_v2(words.ctypes.data, buffer, words.nbytes)


@contextmanager
def _buffer(size: int) -> Generator[int]:
    from cumulticast import driver

    address = int(driver.mem_alloc_v2(size))
    try:
        yield address
    finally:
        driver.mem_free_v2(address)


@contextmanager
def _kernel(text: str) -> Generator[int]:
    """Load a text for one launch: drivers keep what they compiled, and a context may be another one the next time."""
    from cumulticast import driver

    image = text.encode() + b"\0"
    module = driver.module_load_data(image)
    try:
        yield int(driver.module_get_function(module, b"multimem"))
    finally:
        driver.module_unload(module)
