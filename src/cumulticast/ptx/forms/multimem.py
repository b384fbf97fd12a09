"""Multicast instructions: what ptxas 13.5 accepts, form by form. Source: PTX ISA, "multimem", and trials of ptxas."""

_REDUCED = (
    ".add .u32|s32|u64|f32|f64|f16x2|bf16x2",
    ".min|max .I32|I64",
    ".and|or|xor .b32|b64",
    ".add .v2|v4 .f32",
    ".add|min|max .v2|v4 .f16x2|bf16x2",
    ".add|min|max .v2|v4|v8 .f16|bf16",
)

#: Only ld_reduce has these: red refuses a single pair of halves in min and max.
_LOADED = (".min|max .f16x2|bf16x2",)
_ACCUMULATED = (
    ".add .acc::f32 .v2|v4? .f16x2|bf16x2",
    ".add .acc::f32 .v2|v4|v8 .f16|bf16",
)

_STORED = (
    ".b32|b64|I32|I64|f32|f64",
    ".v2|v4 .f32",
    ".v2|v4? .f16x2|bf16x2",
    ".v2|v4|v8 .f16|bf16",
)

_EIGHT_BITS = (".v2|v4? .e4m3x4|e5m2x4", ".v2|v4|v8 .e4m3x2|e5m2x2", ".v4|v8 .e4m3|e5m2")


def _load(order: str) -> list[str]:
    head = f"multimem.ld_reduce {order} .global?"
    return (
        [f"{head} {kind} =*T [] @90 @8.1" for kind in (*_REDUCED, *_LOADED)]
        + [f"{head} {kind} =*T [] @90 @8.2" for kind in _ACCUMULATED]
        + [f"{head} .add .acc::f16? {kind} =*T [] @multimem_fp8 @8.6" for kind in _EIGHT_BITS]
        + [f"{head} .min|max {kind} =*T [] @multimem_fp8 @8.6" for kind in _EIGHT_BITS]
    )


def _store(order: str) -> list[str]:
    head = f"multimem.st {order} .global?"
    return [f"{head} {kind} [] *T @90 @8.1" for kind in _STORED] + [
        f"{head} {kind} [] *T @multimem_fp8 @8.6" for kind in _EIGHT_BITS
    ]


def _reduce(order: str) -> list[str]:
    return [f"multimem.red {order} .global? {kind} [] *T @90 @8.1" for kind in _REDUCED]


ROWS = "\n".join(
    _load(".weak?")
    + _load(".relaxed|acquire .SCOPE")
    + _store(".weak?")
    + _store(".relaxed|release .SCOPE")
    + _reduce("")
    + _reduce(".relaxed|release .SCOPE")
)
