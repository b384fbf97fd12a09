"""The structures that machine code and the C runtime share: each field once.

``build_runtime.py`` writes them as C (layout.h); the compiler takes offsets from here. Imports nothing of ours, since
the build loads it before the package exists.
"""

from __future__ import annotations

import enum
import platform

LANES = 32
FRAME_ALIGN = 64

SIZES = {"ptr": 8, "u64": 8, "i64": 8, "u32": 4, "i32": 4, "u8": 1}
C_TYPES = {
    "ptr": "void *",
    "u64": "uint64_t ",
    "i64": "int64_t ",
    "u32": "uint32_t ",
    "i32": "int32_t ",
    "u8": "uint8_t ",
}
Field = tuple[str, str, int]  # name, type, how many


class Reason(enum.IntEnum):
    """Why a warp's code returned to the scheduler."""

    DONE = 0  # every lane has exited
    HANDOVER = 1  # the back-edge of a loop: others may run
    SPIN = 2  # the back-edge of a loop whose exit depends on what others write
    BARRIER = 3  # bar.sync, bar.red: the lanes in `waiting` wait at barrier `barrier_id`
    ARRIVE = 4  # bar.arrive: they were counted and go on
    CLUSTER = 5  # barrier.cluster.wait
    CLUSTER_ARRIVE = 6
    WARP = 7  # an instruction with a member mask: some of its lanes have not come yet
    SLEEP = 8  # nanosleep: `sleep_ns`
    WAIT = 9  # something in memory has to change (mbarrier): ask again


#: What one warp has. The frame (places, then registers) follows behind it, aligned to FRAME_ALIGN.
WARP: tuple[Field, ...] = (
    ("block", "ptr", 1),  # struct ptx_block
    ("launch", "ptr", 1),  # struct ptx_launch
    ("shared", "ptr", 1),  # the block's shared memory
    ("local", "ptr", 1),  # local memory of lane 0; lane i's lies i * launch->local_size further
    ("params", "ptr", 1),  # kernel parameters
    ("symbols", "ptr", 1),  # u64[]: addresses of the module's variables and functions, by number
    ("rights", "ptr", 1),  # u8[]: what the device may do, by address >> RIGHTS_SHIFT
    ("tid", "ptr", 1),  # i32[3][32]
    ("adversary", "ptr", 1),  # where memory is adversarial: struct late_block; else NULL
    ("lanes", "u32", 1),  # lanes that exist and have not exited
    ("all_lanes", "u32", 1),  # lanes that exist
    ("warpid", "u32", 1),
    ("next", "u32", 1),  # the place where the active lanes go on
    ("budget", "i32", 1),  # back-edges until a loop without memory hands over
    ("waiting", "u32", 1),  # the lanes that a suspension is about
    ("barrier_id", "u32", 1),
    ("barrier_threads", "u32", 1),  # 0: all threads of the block
    ("barrier_op", "u32", 1),  # 0 none, 1 popc, 2 and, 3 or
    ("barrier_value", "u32", 1),  # in: lanes whose predicate holds; out: the result
    ("passed", "u32", 1),  # lanes have come together at an instruction with a member mask
    ("force", "u32", 1),  # lanes that wait no longer for others, which never come
    ("sleep_ns", "u32", 1),
    ("ctaid", "u32", 3),
    ("cluster_ctarank", "u32", 1),
    ("cluster_ctaid", "u32", 3),
    ("clusterid", "u32", 3),
    ("instruction", "u32", 1),  # number of the instruction that touches memory
    ("stack", "u32", LANES),  # bytes of local memory that calls of each lane have taken
)

#: What one launch has, as far as machine code reads it.
LAUNCH: tuple[Field, ...] = (
    ("nctaid", "u32", 3),
    ("ntid", "u32", 3),
    ("ncluster", "u32", 3),  # clusters in the grid
    ("cluster", "u32", 3),  # blocks in a cluster
    ("shared_size", "u32", 1),  # static and dynamic together
    ("shared_window", "u32", 1),  # how much of it machine code reaches by itself
    ("dynamic_shared", "u32", 1),
    ("local_size", "u32", 1),  # bytes of local memory of a lane
    ("local_static", "u32", 1),  # of which variables of the kernel take the first
    ("gridid", "u64", 1),
    ("envreg", "u32", 32),
    ("multicast", "ptr", 1),  # struct ptx_multicast table
    ("device", "u32", 1),
    ("smcount", "u32", 1),
    ("explicit_cluster", "u32", 1),
)

#: What a warp may spend on rounds of loops before it hands over.
ROUNDS = 4096
RIGHTS_SHIFT = 21
#: A user's address has at most this many bits, and the table of rights goes as far (Linux: x86-64 with four levels of
#: page tables, arm64 with pages of 4 KiB).
ADDRESS_BITS = 48 if platform.machine() == "aarch64" else 47
#: Granules in a table of rights, a byte each.
GRANULES = 1 << (ADDRESS_BITS - RIGHTS_SHIFT)
RIGHT_READ, RIGHT_WRITE, RIGHT_MULTICAST, RIGHT_MIXED = 1, 2, 4, 8
STRUCTURES = {"ptx_warp": WARP, "ptx_launch_head": LAUNCH}


def offsets(fields: tuple[Field, ...]) -> dict[str, int]:
    """Answer where each field of a structure lies; ``""`` is the size of all."""
    found: dict[str, int] = {}
    at = 0
    for name, kind, count in fields:
        size = SIZES[kind]
        at = -(-at // size) * size
        found[name] = at
        at += size * count
    found[""] = -(-at // 8) * 8
    return found


WARP_AT = offsets(WARP)
LAUNCH_AT = offsets(LAUNCH)
#: Where the frame begins, counted from the warp's own address.
FRAME_AT = -(-WARP_AT[""] // FRAME_ALIGN) * FRAME_ALIGN


def header() -> str:
    """Write the structures as C."""
    lines = [
        "/* Made by build_runtime.py of layout.py. */",
        "#ifndef PTX_LAYOUT_H",
        "#define PTX_LAYOUT_H",
        "#include <stdint.h>",
    ]
    for name, value in (
        ("LANES", LANES),
        ("FRAME_AT", FRAME_AT),
        ("FRAME_ALIGN", FRAME_ALIGN),
        ("RIGHTS_SHIFT", RIGHTS_SHIFT),
        ("ADDRESS_BITS", ADDRESS_BITS),
        ("ROUNDS", ROUNDS),
    ):
        lines.append(f"#define PTX_{name} {value}")
    for name in ("READ", "WRITE", "MULTICAST", "MIXED"):
        lines.append(f"#define PTX_RIGHT_{name} {globals()[f'RIGHT_{name}']}")
    lines += [f"#define PTX_{reason.name} {reason.value}" for reason in Reason]
    lines.append(structures())
    for structure, fields in STRUCTURES.items():
        lines.append(f'_Static_assert(sizeof(struct {structure}) == {offsets(fields)[""]}, "{structure}");')
    return "\n".join([*lines, "#endif", ""])


def structures() -> str:
    """Write the structures alone."""
    lines: list[str] = []
    for structure, fields in STRUCTURES.items():
        lines.append(f"struct {structure} {{")
        lines += [f"    {C_TYPES[kind]}{name}{f'[{count}]' if count > 1 else ''};" for name, kind, count in fields]
        lines.append("};")
    return "\n".join(lines)
