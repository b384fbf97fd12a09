"""Copies of stretches and stores that a barrier counts. Source: PTX ISA, "cp.async.bulk" and what follows it."""

_BYTES = ".mbarrier::complete_tx::bytes"
_OUT = ".global.shared::cta .bulk_group"
_ACROSS = f".shared::cluster.shared::cta {_BYTES}"

#: What is combined in global memory, and in shared memory.
_GLOBAL = (
    ".add .u32|s32|u64|f32|f64",
    ".add .noftz .f16|bf16",
    ".min|max .u32|s32|u64|s64|f16|bf16",
    ".and|or|xor .b32|b64",
    ".inc|dec .u32",
)
_SHARED = (".add .u32|s32|u64", ".min|max .u32|s32", ".and|or|xor .b32", ".inc|dec .u32")
_ASYNC = (".add .u32|s32|u64|s64", *_SHARED[1:])

_COPIES = f"""
cp.async.bulk.shared::cta.global {_BYTES} .HINT?                        [] [] u32 [] H       @90 @8.6
cp.async.bulk.shared::cluster.global {_BYTES} .HINT?                    [] [] u32 [] H       @90 @8.0
cp.async.bulk.shared::cluster.global {_BYTES} .multicast::cluster .HINT? [] [] u32 [] b16 H   @90 @8.0
cp.async.bulk{_ACROSS}                                               [] [] u32 []         @90 @8.0
cp.async.bulk{_OUT} .HINT?                                           [] [] u32 H          @90 @8.0
cp.async.bulk{_OUT} .cp_mask .HINT?                                  [] [] u32 H b16      @100 @8.6
cp.async.bulk.prefetch.L2 .global .HINT?                            [] u32 H             @90 @8.0
cp.async.bulk.commit_group                                                                @90 @8.0
cp.async.bulk.wait_group .read?                                      #                    @90 @8.0
multimem.cp.async.bulk{_OUT}                                         [] [] u32            @90 @9.1
multimem.cp.async.bulk{_OUT} .cp_mask                                [] [] u32 b16        @100 @9.1
st.bulk .weak? .shared::cta?                                           [] u32 #             @100 @9.0
st.bulk .weak? .shared::cta?                                           [] u64 #             @100 @8.6
"""

_STORES = f"""
st.async .weak? .SHARED? {_BYTES} .VEC? .b32|u32|s32|f32                   [] *T []       @90 @8.1
st.async .weak? .SHARED? {_BYTES} .v2? .b64|u64|s64|f64                    [] *T []       @90 @8.1
st.async .release .gpu|sys .global? .LDTYPE                               [] T           @100 @8.7
st.async .mmio .release .sys .global? .LDTYPE                             [] T           @100 @8.7
"""

ROWS = "\n".join(
    [_COPIES, _STORES]
    + [f"cp.reduce.async.bulk{_OUT} .HINT? {kind} [] [] u32 H @90 @8.0" for kind in _GLOBAL]
    + [f"cp.reduce.async.bulk{_ACROSS} {kind} [] [] u32 [] @90 @8.0" for kind in _SHARED]
    + [f"multimem.cp.reduce.async.bulk{_OUT} {kind} [] [] u32 @90 @9.1" for kind in _GLOBAL]
    + [f"red.async .relaxed .cluster .shared::cluster? {_BYTES} {kind} [] T [] @90 @8.1" for kind in _ASYNC]
    + [f"red.async .release .gpu|sys .global? {kind} [] T @100 @8.7" for kind in _ASYNC]
    + [f"red.async .mmio .release .sys .global? {kind} [] T @100 @8.7" for kind in _ASYNC]
)
