"""numpy arrays through a multicast address: what the PTX ``multimem`` instructions do.

    from cumulticast import multimem
    multimem.store(ptr, array)                               # multimem.st: the bytes reach every replica
    total = multimem.load_reduce(ptr, shape, "float32")      # multimem.ld_reduce.add: the sum over all replicas
    multimem.reduce(ptr, array, op="add")                    # multimem.red.add: combined into every replica

``ptr`` is an address inside a mapped multicast object (``mem_map`` of a multicast handle) with access set. Replicas are
taken in ascending device order. f16 and bf16 accumulate in f32 and are rounded once; f32 and f64 accumulate in
their own type.

With the software driver the arithmetic is done in C, on the replicas themselves. Kernels do the same work there, with
copies and a launch on top: on a busy machine of two processors, 8 replicas of 64 MiB of float32 took 24 times as long
to store, 5.7 times to load_reduce and 2.8 times to reduce; 4 KiB took 70 to 280 times as long. So kernels are for other
drivers alone (`cumulticast.multimem_kernels`): if this process has loaded another libcuda, the three functions launch
``multimem`` instructions in the current context, whose device must have access. There the driver's exceptions stand for
ValueError where the address is not right.
Source: PTX ISA, "multimem.ld_reduce, multimem.st, multimem.red".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import ml_dtypes
import numpy as np

from cumulticast import multimem_kernels
from cumulticast.sim import replicas

__all__ = ["load_reduce", "reduce", "store"]

Op = Literal["add", "min", "max", "and", "or", "xor"]
Array = np.ndarray[Any, np.dtype[Any]]

NAMES: dict[np.dtype[Any], str] = {
    np.dtype(np.float32): "f32",
    np.dtype(np.float64): "f64",
    np.dtype(np.float16): "f16",
    np.dtype(ml_dtypes.bfloat16): "bf16",
    np.dtype(np.uint32): "u32",
    np.dtype(np.int32): "s32",
    np.dtype(np.uint64): "u64",
    np.dtype(np.int64): "s64",
}


def store(ptr: int, array: Array) -> None:
    """Write an array to every replica, as ``multimem.st`` does.

    Parameters
    ----------
    ptr
        A multicast address.
    array
        What to write, of any type; its bytes in C order.

    Raises
    ------
    ValueError
        The range is not wholly inside a mapped multicast object, or a device has nothing bound to a part of it.
    """
    source = np.ascontiguousarray(array)
    if _by_kernels():
        multimem_kernels.store(ptr, source)
        return

    def work(segment: replicas.Segment, at: int) -> None:
        replicas.store_segment(segment, source.ctypes.data + at)

    replicas.over(ptr, source.nbytes, work, writes=True)


def load_reduce(ptr: int, shape: int | Sequence[int], dtype: Any = "float32", op: Op = "add") -> Array:
    """Combine the replicas element by element, as ``multimem.ld_reduce`` does.

    Parameters
    ----------
    ptr
        A multicast address, aligned to the element.
    shape, dtype
        Of the result. Types: float32, float64, float16, bfloat16, uint32, int32, uint64, int64.
    op
        ``add``; for float16, bfloat16 and integers ``min`` and ``max``; for integers ``and``, ``or``, ``xor``. As in
        PTX there is no ``add`` of int64 (the bits are those of uint64).

    Raises
    ------
    ValueError
        Type and operation do not go together, or the range is not bound on every device.
    """
    result = np.empty(shape, _dtype(dtype))
    name = _checked(result.dtype, op, "ld_reduce")
    _aligned(ptr, result.dtype)
    if _by_kernels():
        multimem_kernels.load_reduce(ptr, result, name, op)
        return result

    def work(segment: replicas.Segment, at: int) -> None:
        replicas.load_reduce_segment(segment, result.ctypes.data + at, result.itemsize, name, op)

    replicas.over(ptr, result.nbytes, work, writes=False)
    return result


def reduce(ptr: int, array: Array, op: Op = "add") -> None:
    """Combine an array into every replica, as ``multimem.red`` does; atomic for each element of each replica.

    Parameters
    ----------
    ptr
        A multicast address, aligned to the element.
    array
        What to combine; types and operations as for ``load_reduce``.
    op
        The operation.

    Raises
    ------
    ValueError
        Type and operation do not go together, or the range is not bound on every device.
    """
    source = np.ascontiguousarray(array)
    name = _checked(_dtype(source.dtype), op, "red")
    _aligned(ptr, source.dtype)
    if _by_kernels():
        multimem_kernels.reduce(ptr, source, name, op)
        return

    def work(segment: replicas.Segment, at: int) -> None:
        replicas.reduce_segment(segment, source.ctypes.data + at, source.itemsize, name, op)

    replicas.over(ptr, source.nbytes, work, writes=True)


def _by_kernels() -> bool:
    """Tell whether this process has loaded a driver that is not the software driver."""
    from cumulticast.libcuda import serve

    loaded = serve.loaded_libcuda()
    return loaded is not None and not serve.is_ours(loaded)


# ---- checks


def _dtype(dtype: Any) -> np.dtype[Any]:
    found = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    if found not in NAMES:
        raise ValueError(f"multimem has no type {found.name}; it has {', '.join(d.name for d in NAMES)}")
    return found


def _checked(dtype: np.dtype[Any], op: str, instruction: Literal["ld_reduce", "red"]) -> str:
    """Answer PTX's name of the type, once the operation is found legal for it."""
    element = replicas.element(NAMES[dtype])
    legal = element.load_reduce if instruction == "ld_reduce" else element.reduce
    if op not in legal:
        raise ValueError(f"multimem.{instruction} of {dtype.name} has no {op!r}; it has {', '.join(legal)}")
    return NAMES[dtype]


def _aligned(ptr: int, dtype: np.dtype[Any]) -> None:
    if ptr % dtype.itemsize:
        below = ptr - ptr % dtype.itemsize
        raise ValueError(
            f"ptr {ptr:#x} is not aligned to {dtype.itemsize} bytes ({dtype.name}); nearest {below:#x} or "
            f"{below + dtype.itemsize:#x}"
        )
