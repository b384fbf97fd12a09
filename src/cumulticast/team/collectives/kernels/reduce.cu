// Reductions, of one type and one operation: all_reduce and reduce_scatter.
#include "barrier.h"
#include "tiles.h"
#include "types.h"

typedef KIND::Bits Bits;
typedef KIND::Wide Wide;
constexpr u32 PER_VECTOR = 16 / sizeof(Bits);

__device__ __forceinline__ Bits element(const Vector &vector, u32 index) {
    if (sizeof(Bits) == 8) return (Bits)vector.longs[index];
    if (sizeof(Bits) == 4) return (Bits)vector.words[index];
    return (Bits)(vector.words[index / 2] >> index % 2 * 16);
}

__device__ __forceinline__ Vector joined(const Bits *elements) {
    Vector vector;
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        if (sizeof(Bits) == 8) vector.longs[i] = elements[i];
        else if (sizeof(Bits) == 4) vector.words[2 * i] = elements[2 * i], vector.words[2 * i + 1] = elements[2 * i + 1];
        else {
            vector.words[2 * i] = elements[4 * i] | (u32)elements[4 * i + 1] << 16;
            vector.words[2 * i + 1] = elements[4 * i + 2] | (u32)elements[4 * i + 3] << 16;
        }
    }
    return vector;
}

// ---- in ascending order of ranks, rounded once

// One rank after the other, all vectors of the tile: as many loads are on their way at a time.
template <u32 COUNT> __device__ __forceinline__ void reduce_ranks(const Call &call, u64 offset, Tile<COUNT> &tile) {
    Wide total[COUNT][PER_VECTOR];
    load_tile(tile, call.data[0] + offset);
#pragma unroll
    for (u32 i = 0; i < COUNT * PER_VECTOR; i++)
        total[i / PER_VECTOR][i % PER_VECTOR] = KIND::widen(element(tile.held[i / PER_VECTOR], i % PER_VECTOR));
#pragma unroll 1
    for (u32 rank = 1; rank < call.size; rank++) {
        load_tile(tile, call.data[rank] + offset);
#pragma unroll
        for (u32 i = 0; i < COUNT * PER_VECTOR; i++) {
            Wide &sum = total[i / PER_VECTOR][i % PER_VECTOR];
            sum = REDUCE::of(sum, KIND::widen(element(tile.held[i / PER_VECTOR], i % PER_VECTOR)));
        }
    }
#pragma unroll
    for (u32 k = 0; k < COUNT; k++) {
        Bits result[PER_VECTOR];
#pragma unroll
        for (u32 i = 0; i < PER_VECTOR; i++) result[i] = KIND::narrow(total[k][i]);
        tile.held[k] = joined(result);
    }
}

__device__ __forceinline__ Bits reduce_single(const Call &call, u64 at) {
    Wide total = KIND::widen(*(const Bits *)(call.data[0] + at));
    for (u32 rank = 1; rank < call.size; rank++) total = REDUCE::of(total, KIND::widen(*(const Bits *)(call.data[rank] + at)));
    return KIND::narrow(total);
}

#ifdef FORM
#define LD_REDUCE "multimem.ld_reduce.relaxed.sys.global." FORM

// Which registers FORM wants for 16 bytes depends on the type.
__device__ __forceinline__ Vector load_words(u64 at) {
    Vector v;
    asm volatile(LD_REDUCE " {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.words[0]), "=r"(v.words[1]), "=r"(v.words[2]), "=r"(v.words[3]) : "l"(at) : "memory");
    return v;
}
__device__ __forceinline__ Vector load_switched(kind_f16, u64 at) { return load_words(at); }
__device__ __forceinline__ Vector load_switched(kind_bf16, u64 at) { return load_words(at); }
__device__ __forceinline__ Vector load_switched(kind_f32, u64 at) {
    float a, b, c, d;
    asm volatile(LD_REDUCE " {%0, %1, %2, %3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(at) : "memory");
    return {{__float_as_uint(a), __float_as_uint(b), __float_as_uint(c), __float_as_uint(d)}};
}
__device__ __forceinline__ Vector load_switched(kind_f64, u64 at) {
    Vector v;
    double value;
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        asm volatile(LD_REDUCE " %0, [%1];" : "=d"(value) : "l"(at + 8 * i) : "memory");
        v.longs[i] = kind_f64::narrow(value);
    }
    return v;
}
template <class W> __device__ __forceinline__ Vector load_switched(integer<u32, W>, u64 at) {
    Vector v;
#pragma unroll
    for (u32 i = 0; i < 4; i++) asm volatile(LD_REDUCE " %0, [%1];" : "=r"(v.words[i]) : "l"(at + 4 * i) : "memory");
    return v;
}
template <class W> __device__ __forceinline__ Vector load_switched(integer<u64, W>, u64 at) {
    Vector v;
#pragma unroll
    for (u32 i = 0; i < 2; i++) asm volatile(LD_REDUCE " %0, [%1];" : "=l"(v.longs[i]) : "l"(at + 8 * i) : "memory");
    return v;
}
#endif

template <bool SWITCHED, u32 COUNT>
__device__ __forceinline__ void reduce(const Call &call, u64 offset, Tile<COUNT> &tile) {
    if constexpr (SWITCHED) {
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) tile.held[k] = load_switched(KIND(), call.data_mc + offset + tile.at(k));
    } else reduce_ranks(call, offset, tile);
}

// ---- reductions

// Small: each rank lays its array out in its scratch, and reduces what it wants for itself. Halves of the scratch take turns:
// who writes to one again has met all others since, and none of them reads there any more.
template <bool SWITCHED> __device__ void reduce_one_shot(const Call &call) {
    __shared__ Begin begun;
    const bool well = begin(call, begun);
    const u64 half = begun.number % 2 * HALF;
    if (well) {
        for (u32 part = 0; part < call.chunks; part++)
            copy<Bits>(call.data[call.rank] + half, call.own, part * call.chunk, call.bytes);
        if (meet(call, begun, 1))
            each(call.mine * call.chunk, call.bytes, sizeof(Bits), [&](auto &tile) { reduce<SWITCHED>(call, half, tile); },
                 [&](auto &tile) { store_tile(tile, call.own); },
                 [&](u64 at) { *(Bits *)(call.own + at) = reduce_single(call, half + at); });
    }
    end(call, begun);
}

// Large: each rank reduces its part, where it lies, for all or for itself.
template <bool SWITCHED> __device__ void reduce_two_shot(const Call &call) {
    __shared__ Begin begun;
    const bool well = begin(call, begun);
    if (well && meet(call, begun, 1)) {
        each(call.first, call.bytes, sizeof(Bits), [&](auto &tile) { reduce<SWITCHED>(call, 0, tile); },
             [&](auto &tile) {
                 if (call.everywhere) store_everywhere<SWITCHED>(call, 0, tile);
                 else store_tile(tile, call.own);
             },
             [&](u64 at) {
                 const Bits value = reduce_single(call, at);
                 if (call.everywhere) single_everywhere(call, at, value);
                 else *(Bits *)(call.own + at) = value;
             });
        meet(call, begun, 2);
    }
    end(call, begun);
}

ENTRY(one_shot_peers, call) { reduce_one_shot<false>(call); }
ENTRY(two_shot_peers, call) { reduce_two_shot<false>(call); }
#ifdef FORM
ENTRY(one_shot_multicast, call) { reduce_one_shot<true>(call); }
ENTRY(two_shot_multicast, call) { reduce_two_shot<true>(call); }
#endif
