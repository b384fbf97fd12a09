"""SIMD video instructions, on the halves or bytes of words. Source: PTX ISA, "Video Instructions"; ptxas 13.5."""

_COUNTS = "24"
_NAMES = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax")

ROWS = "\n".join(
    [f"{name}{count} .sat|add? .I32 .I32 .I32 =R R R R @30 @3.0" for name in _NAMES for count in _COUNTS]
    + [f"vset{count} .SCMP .add? .I32 .I32 =R R R R @30 @3.0" for count in _COUNTS]
)
