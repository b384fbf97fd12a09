"""The special registers: their names as operands, and their types.

Source: PTX ISA, chapter "Special Registers".
"""

from __future__ import annotations

_VECTORS = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")

_WORDS = [
    "laneid",
    "warpid",
    "nwarpid",
    "smid",
    "nsmid",
    "cluster_ctarank",
    "cluster_nctarank",
    "lanemask_eq",
    "lanemask_le",
    "lanemask_lt",
    "lanemask_ge",
    "lanemask_gt",
    "clock",
    "clock_hi",
    "globaltimer_lo",
    "globaltimer_hi",
    "reserved_smem_offset_begin",
    "reserved_smem_offset_end",
    "reserved_smem_offset_cap",
    "reserved_smem_offset_0",
    "reserved_smem_offset_1",
    "total_smem_size",
    "aggr_smem_size",
    "dynamic_smem_size",
]

#: Type of every special register by its name as it is written, components included.
SPECIAL_TYPES: dict[str, str] = {
    **{f"%{name}.{axis}": "u32" for name in _VECTORS for axis in "xyzw"},
    **{f"%{name}": "u32" for name in _WORDS},
    **{f"%envreg{index}": "b32" for index in range(32)},
    **{f"%pm{index}": "u32" for index in range(8)},
    **{f"%pm{index}_64": "u64" for index in range(8)},
    "%gridid": "u64",
    "%clock64": "u64",
    "%globaltimer": "u64",
    "%current_graph_exec": "u64",
    "%is_explicit_cluster": "pred",
}

#: Those that have components: ``%tid`` is written ``%tid.x``.
SPECIAL_VECTORS = frozenset(f"%{name}" for name in _VECTORS)
