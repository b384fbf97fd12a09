"""The arithmetic of multicast: store, load_reduce and reduce over replicas at a fixed stride.

Replica `i` of `n` lies at `base + i * stride`, in ascending device order. Addresses and strides are bytes and
must be multiples of the element size. Nothing here checks that the memory is mapped: a hole faults, as on
hardware. All three release the GIL.
"""

import errno
import os

from cumulticast.sim._native import ffi, lib
from cumulticast.sim.native.elements import element, operation


def store(base: int, stride: int, n: int, src: int, nbytes: int) -> None:
    """Write `nbytes` bytes from `src` to every replica, as `multimem.st` does."""
    lib.multimem_store(base, stride, n, src, nbytes)


def load_reduce(dst: int, base: int, stride: int, n: int, count: int, dtype: str, op: str) -> None:
    """Reduce `count` elements over the replicas into `dst`, as `multimem.ld_reduce` does.

    f16 and bf16 are added in f32, replicas in ascending order, and rounded once, to nearest even. In min and
    max a number wins over NaN and -0 is less than +0. A NaN result is canonical (but in f64, where it is the
    processor's). `dst` may be one of the replicas; it may not overlap them at another offset.

    Raises
    ------
    ValueError
        For a type or an operation that the instruction does not have.
    OSError
        EINVAL: an address or the stride is no multiple of the element size, or there is no replica.
    """
    kind = element(dtype)
    code = operation("ld_reduce", dtype, op, kind.load_reduce)
    _check(lib.multimem_load_reduce(dst, base, stride, n, count, kind.code, code))


def reduce(base: int, stride: int, n: int, src: int, count: int, dtype: str, op: str) -> None:
    """Combine `count` elements of `src` into every replica, as `multimem.red.relaxed.sys` does.

    Each element of each replica changes in one atomic act: however many threads and processes take part, no
    contribution is lost. `src` may have any alignment.

    Raises
    ------
    ValueError
        For a type or an operation that the instruction does not have.
    OSError
        EINVAL: the base or the stride is no multiple of the element size, or there is no replica.
    """
    kind = element(dtype)
    code = operation("red", dtype, op, kind.reduce)
    _check(lib.multimem_reduce(base, stride, n, src, count, kind.code, code))


def kernels() -> str:
    """Return the instruction set that `load_reduce` uses on this CPU: baseline, avx2 or avx512."""
    return ffi.string(lib.multimem_kernels()).decode()


def use_kernels(index: int) -> bool:
    """Make `load_reduce` use an instruction set by number, ascending from 0; False if there is none such.

    For tests and benchmarks: the widest of the CPU is in use from the start, and all give the same results.

    Raises
    ------
    OSError
        ENOSYS: this CPU does not have it.
    """
    error = lib.multimem_use_kernels(index)
    if error == errno.ERANGE:
        return False
    if error:
        raise OSError(error, f"multimem: this CPU lacks instruction set number {index}")
    return True


def _check(error: int) -> None:
    if error == errno.EINVAL:
        raise OSError(error, "multimem: no replica, or an address or stride off the element size")
    if error:
        raise OSError(error, os.strerror(error))
