"""Copies and memsets in two dimensions."""

from __future__ import annotations

from cuda.bindings import driver as cu
from recorder import Recorder, group


def plane(one: int, two: int, **changes: int) -> cu.CUDA_MEMCPY2D:
    """Describe a device-to-device copy of 16 rows of 64 bytes, pitch 128, with fields changed."""
    made = cu.CUDA_MEMCPY2D()
    fields = {
        "srcXInBytes": 0,
        "srcY": 0,
        "srcDevice": one,
        "srcPitch": 128,
        "dstXInBytes": 0,
        "dstY": 0,
        "dstDevice": two,
        "dstPitch": 128,
        "WidthInBytes": 64,
        "Height": 16,
        "srcMemoryType": 2,
        "dstMemoryType": 2,
    }
    for name, value in (fields | changes).items():
        setattr(made, name, cu.CUmemorytype(value) if name.endswith("MemoryType") else value)
    return made


@group()
def planes(step: Recorder) -> None:
    """2D copies and memsets, right and wrong."""
    one, two = (int(step.quiet("cuMemAlloc", 4096)) for _ in range(2))
    cases: dict[str, dict[str, int]] = {
        "plain": {},
        "width0": {"WidthInBytes": 0},
        "height0": {"Height": 0},
        "src_pitch0": {"srcPitch": 0},
        "dst_pitch0": {"dstPitch": 0},
        "pitch0_height1": {"srcPitch": 0, "dstPitch": 0, "Height": 1},
        "src_pitch_short": {"srcPitch": 63},
        "dst_pitch_short": {"dstPitch": 63},
        "offset_past_pitch": {"srcXInBytes": 65},
        "offset": {"srcXInBytes": 64, "srcY": 1},
        "pitch_odd": {"srcPitch": 65, "dstPitch": 67},
        "past_end": {"Height": 33},
        "last_row": {"Height": 32, "srcXInBytes": 64, "dstXInBytes": 64},
        "null_source": {"srcDevice": 0},
        "pitch_huge": {"srcPitch": 1 << 33},
        "unified": {"srcMemoryType": 4, "dstMemoryType": 4},
        "host_null": {"srcMemoryType": 1, "Height": 0},
        "array_null": {"srcMemoryType": 3},
        "both_past": {"Height": 1 << 40},
    }
    for name, changes in cases.items():
        for function in ("cuMemcpy2D", "cuMemcpy2DUnaligned"):
            step(f"{function}.{name}", function, plane(one, two, **changes))
    step("cuMemcpy2DAsync", "cuMemcpy2DAsync", plane(one, two), 0)
    for kind, name, value in (("8", "D8", 0x11), ("16", "D16", 0x2233), ("32", "D32", 0x44556677)):
        size = int(kind) // 8
        for case, (at, pitch, width, height) in {
            "plain": (one, 128, 8, 4),
            "width0": (one, 128, 0, 4),
            "height0": (one, 128, 8, 0),
            "pitch_short": (one, 8 * size - 1, 8, 4),
            "pitch_odd": (one, 129, 8, 4),
            "pitch0": (one, 0, 8, 4),
            "pitch0_height1": (one, 0, 8, 1),
            "misaligned": (one + 1, 128, 8, 4),
            "past_end": (one, 128, 8, 33),
            "null": (0, 128, 8, 4),
        }.items():
            step(f"memset2.{name}.{case}", f"cuMemsetD2{name}", at, pitch, value, width, height)
    step.synchronize("synchronize")
