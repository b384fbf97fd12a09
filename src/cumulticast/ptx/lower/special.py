"""Special registers: what a thread is told of itself, its block, its grid and the time.

Source: PTX ISA, chapter "Special Registers". Every warp has 32 lanes; a warp runs on no multiprocessor in particular,
so %smid is the block's number modulo their count, and %warpid is the warp's number in its block.
"""

from __future__ import annotations

from collections.abc import Callable

from cumulticast.ptx.lower.emitter import LANES, Emitter

AXES = "xyz"
#: Shared memory is allocated in such pieces (an H200: %total_smem_size is 128 for 64 bytes); some of every block's is
#: the system's (CUDA C++ Programming Guide: "1 KB of shared memory reserved per thread block").
SHARED_UNIT, SHARED_RESERVED = 128, 1024
Value = tuple[str, str]


def special(em: Emitter, name: str) -> Value:
    """Answer (kind, value in the instruction's shape) of a special register.

    Raises
    ------
    PtxError
        218: a register that is not simulated.
    """
    bare = name.lstrip("%")
    stem, _, axis = bare.partition(".")
    if axis:
        return "i32", _of_axis(em, stem, axis, name)
    if bare.startswith("envreg"):
        return "i32", em.shaped("i32", em.launch_field("envreg", int(bare[6:])))
    if bare in LANE_VALUES:
        return "i32", _lane_value(em, LANE_VALUES[bare])
    if bare in SCALARS:
        kind, read = SCALARS[bare]
        return kind, em.shaped(kind, read(em))
    raise em.fail(f"special register {name} is not simulated")


# ---- x, y, z


def _of_axis(em: Emitter, stem: str, axis: str, name: str) -> str:
    if stem not in ("tid", *VECTORS):
        raise em.fail(f"special register {name} is not simulated")
    if axis not in AXES:
        return em.const("i32", 1 if stem.startswith(("n", "cluster_n")) else 0)  # the fourth element
    index = AXES.index(axis)
    if stem == "tid":
        return _tid(em, index)
    return em.shaped("i32", VECTORS[stem](em, index))


def _tid(em: Emitter, index: int) -> str:
    assert em.vector, "%tid differs between lanes"
    place = em.emit(f"getelementptr i32, ptr {em.field('tid')}, i64 {index * LANES}")
    return em.emit(f"load <{LANES} x i32>, ptr {place}, align 64")


def _of_warp(field: str) -> Callable[[Emitter, int], str]:
    return lambda em, index: em.field(field, index)


def _of_launch(field: str) -> Callable[[Emitter, int], str]:
    return lambda em, index: em.launch_field(field, index)


VECTORS: dict[str, Callable[[Emitter, int], str]] = {
    "ntid": _of_launch("ntid"),
    "ctaid": _of_warp("ctaid"),
    "nctaid": _of_launch("nctaid"),
    "clusterid": _of_warp("clusterid"),
    "nclusterid": _of_launch("ncluster"),
    "cluster_ctaid": _of_warp("cluster_ctaid"),
    "cluster_nctaid": _of_launch("cluster"),
}

# ---- what differs between lanes by rule

LANE_VALUES: dict[str, Callable[[int], int]] = {
    "laneid": lambda lane: lane,
    "lanemask_eq": lambda lane: 1 << lane,
    "lanemask_lt": lambda lane: (1 << lane) - 1,
    "lanemask_le": lambda lane: (2 << lane) - 1,
    "lanemask_gt": lambda lane: 0xFFFFFFFF & ~((2 << lane) - 1),
    "lanemask_ge": lambda lane: 0xFFFFFFFF & ~((1 << lane) - 1),
}


def _lane_value(em: Emitter, rule: Callable[[int], int]) -> str:
    assert em.vector, "a lane's own number differs between lanes"
    return f"<{', '.join(f'i32 {rule(lane)}' for lane in range(LANES))}>"


# ---- scalars


def _timer(function: str) -> Callable[[Emitter], str]:
    def read(em: Emitter) -> str:
        em.declare(f"i64 @{function}()")
        return em.emit(f"call i64 @{function}()")

    return read


def _half(read: Callable[[Emitter], str], shift: int) -> Callable[[Emitter], str]:
    return lambda em: em.emit(f"trunc i64 {em.emit(f'lshr i64 {read(em)}, {shift}')} to i32")


def _product(em: Emitter, *values: str) -> str:
    first, *rest = values
    for value in rest:
        first = em.emit(f"mul i32 {first}, {value}")
    return first


def _warps(em: Emitter) -> str:
    threads = _product(em, *(em.launch_field("ntid", index) for index in range(3)))
    return em.emit(f"lshr i32 {em.emit(f'add i32 {threads}, {LANES - 1}')}, 5")


def _shared_allocated(em: Emitter, more: int) -> str:
    size = em.emit(f"add i32 {em.launch_field('shared_size')}, {SHARED_UNIT - 1 + more}")
    return em.emit(f"and i32 {size}, {-SHARED_UNIT}")


def _multiprocessor(em: Emitter) -> str:
    return em.emit(f"urem i32 {em.field('ctaid')}, {em.launch_field('smcount')}")


CLOCK, TIMER = _timer("ptx_clock"), _timer("ptx_globaltimer")
SCALARS: dict[str, tuple[str, Callable[[Emitter], str]]] = {
    "warpid": ("i32", lambda em: em.field("warpid")),
    "nwarpid": ("i32", _warps),
    "smid": ("i32", _multiprocessor),
    "nsmid": ("i32", lambda em: em.launch_field("smcount")),
    "gridid": ("i64", lambda em: em.launch_field("gridid")),
    "cluster_ctarank": ("i32", lambda em: em.field("cluster_ctarank")),
    "cluster_nctarank": ("i32", lambda em: _product(em, *(em.launch_field("cluster", i) for i in range(3)))),
    "is_explicit_cluster": ("i1", lambda em: em.emit(f"icmp ne i32 {em.launch_field('explicit_cluster')}, 0")),
    "clock64": ("i64", CLOCK),
    "clock": ("i32", _half(CLOCK, 0)),
    "clock_hi": ("i32", _half(CLOCK, 32)),
    "globaltimer": ("i64", TIMER),
    "globaltimer_lo": ("i32", _half(TIMER, 0)),
    "globaltimer_hi": ("i32", _half(TIMER, 32)),
    "total_smem_size": ("i32", lambda em: _shared_allocated(em, 0)),
    "aggr_smem_size": ("i32", lambda em: _shared_allocated(em, SHARED_RESERVED)),
    "dynamic_smem_size": ("i32", lambda em: em.launch_field("dynamic_shared")),
}
