"""Atomic operations. Source: PTX ISA, "atom", "red"."""

_KINDS = (
    (".and|or|xor .b32|b64", "@2.0"),
    (".add .u32|s32|u64|f32", "@2.0"),
    (".add .f64", "@5.0"),
    (".add .noftz .f16x2", "@6.2"),
    (".add .noftz .f16", "@6.3"),
    (".add .noftz .bf16|bf16x2", "@90 @7.8"),
    (".inc|dec .u32", "@2.0"),
    (".min|max .I32|I64", "@2.0"),
)

_VECTORS = (
    ".add .v2|v4 .f32",
    ".add|min|max .noftz .v2|v4|v8 .f16|bf16",
    ".add|min|max .noftz .v2|v4 .f16x2|bf16x2",
)

_ATOM = "atom .relaxed|acquire|release|acq_rel? .SCOPE? .GENSPACE?"
_RED = "red .relaxed|release? .SCOPE? .GENSPACE?"

ROWS = "\n".join(
    [f"{_ATOM} {kind} .HINT? =T_ [] T H {needs}" for kind, needs in _KINDS]
    + [f"{_RED} {kind} .HINT? [] T H {needs}" for kind, needs in _KINDS]
    + [f"{_ATOM} {kind} .HINT? =*T_ [] *T H @90 @8.1".replace(".GENSPACE", ".GLOBAL") for kind in _VECTORS]
    + [f"{_RED} {kind} .HINT? [] *T H @90 @8.1".replace(".GENSPACE", ".GLOBAL") for kind in _VECTORS]
    + [
        f"{_ATOM} .exch .b32|b64 .HINT? =T_ [] T H @2.0",
        f"{_ATOM} .exch .b128 .HINT? =T_ [] T H @90 @8.3",
        f"{_ATOM} .cas .b16|b32|b64 =T_ [] T T @2.0",
        f"{_ATOM} .cas .b128 =T_ [] T T @90 @8.3",
    ]
)
