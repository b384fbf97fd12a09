// Going through bytes: vectors of 16, and at both ends what is no whole vector.
#pragma once
#include "call.h"

union Vector {
    u32 words[4];
    u64 longs[2];
};

__device__ __forceinline__ Vector load(u64 at) {
    Vector v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.words[0]), "=r"(v.words[1]), "=r"(v.words[2]), "=r"(v.words[3]) : "l"(at) : "memory");
    return v;
}
__device__ __forceinline__ void store(u64 at, const Vector &v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v.words[0]), "r"(v.words[1]), "r"(v.words[2]),
                 "r"(v.words[3]) : "memory");
}

// What a thread does at a time: COUNT vectors, a block's width apart. It loads all of them before it stores the first.
template <u32 COUNT> struct Tile {
    Vector held[COUNT];
    u64 start;
    __device__ __forceinline__ u64 at(u32 k) const { return start + k * blockDim.x * sizeof(Vector); }
};

// Which block has what depends on `from` and `bytes` alone. get(tile) fills a tile, put(tile) takes it, single(at) is for
// one element.
template <class Get, class Put, class Single>
__device__ __forceinline__ void each(u64 from, u64 bytes, u32 element, Get get, Put put, Single single) {
    const u64 to_vector = -from & (sizeof(Vector) - 1), head = to_vector < bytes ? to_vector : bytes;
    const u64 vectors = (bytes - head) / sizeof(Vector), first = from + head, last = first + sizeof(Vector) * vectors;
    const u64 tiles = vectors / (UNROLL * blockDim.x), mine = first + threadIdx.x * sizeof(Vector);
    for (u64 number = blockIdx.x; number < tiles; number += gridDim.x) {
        Tile<UNROLL> tile;
        tile.start = mine + number * UNROLL * blockDim.x * sizeof(Vector);
        get(tile);
        put(tile);
    }
    if (blockIdx.x != tiles % gridDim.x) return; // what is left is one block's
    for (u64 at = mine + tiles * UNROLL * blockDim.x * sizeof(Vector); at < last; at += blockDim.x * sizeof(Vector)) {
        Tile<1> tile;
        tile.start = at;
        get(tile);
        put(tile);
    }
    const u64 loose = threadIdx.x * element;
    if (loose < head) single(from + loose);
    if (last + loose < from + bytes) single(last + loose);
}

template <u32 COUNT> __device__ __forceinline__ void load_tile(Tile<COUNT> &tile, u64 base) {
#pragma unroll
    for (u32 k = 0; k < COUNT; k++) tile.held[k] = load(base + tile.at(k));
}
template <u32 COUNT> __device__ __forceinline__ void store_tile(const Tile<COUNT> &tile, u64 base) {
#pragma unroll
    for (u32 k = 0; k < COUNT; k++) store(base + tile.at(k), tile.held[k]);
}

__device__ __forceinline__ void store_switched(u64 at, Vector value) {
#if __CUDA_ARCH__ >= 900
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at), "f"(__uint_as_float(value.words[0])),
                 "f"(__uint_as_float(value.words[1])), "f"(__uint_as_float(value.words[2])), "f"(__uint_as_float(value.words[3]))
                 : "memory");
#endif
}

// Ranks begin with the one behind them, so that not all write to the same one.
template <class Act> __device__ __forceinline__ void each_rank(const Call &call, Act act) {
    u32 rank = call.rank;
#pragma unroll 1
    for (u32 i = 0; i < call.size; i++) {
        rank = rank + 1 == call.size ? 0 : rank + 1;
        act(rank);
    }
}

template <bool SWITCHED, u32 COUNT>
__device__ __forceinline__ void store_everywhere(const Call &call, u64 offset, const Tile<COUNT> &tile) {
    if constexpr (SWITCHED) {
#pragma unroll
        for (u32 k = 0; k < COUNT; k++) store_switched(call.data_mc + offset + tile.at(k), tile.held[k]);
    } else each_rank(call, [&](u32 rank) { store_tile(tile, call.data[rank] + offset); });
}

template <class T> __device__ __forceinline__ void single_everywhere(const Call &call, u64 at, T value) {
    each_rank(call, [&](u32 rank) { *(T *)(call.data[rank] + at) = value; });
}

template <class T> __device__ __forceinline__ void copy(u64 to, u64 source, u64 from, u64 bytes) {
    each(from, bytes, sizeof(T), [&](auto &tile) { load_tile(tile, source); }, [&](auto &tile) { store_tile(tile, to); },
         [&](u64 at) { *(T *)(to + at) = *(const T *)(source + at); });
}
