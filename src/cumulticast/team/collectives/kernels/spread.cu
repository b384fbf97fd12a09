// Copies: broadcast and all_gather; and the barrier.
#include "barrier.h"
#include "tiles.h"

// Small: who has something writes it to the scratch of all; each rank takes from its own scratch what it lacks.
template <bool SWITCHED> __device__ void spread_one_shot(const Call &call) {
    __shared__ Begin begun;
    const bool well = begin(call, begun);
    const u64 half = begun.number % 2 * HALF;
    if (well) {
        each(call.first, call.mine == NOBODY ? 0 : call.bytes, sizeof(u8), [&](auto &tile) { load_tile(tile, call.own); },
             [&](auto &tile) { store_everywhere<SWITCHED>(call, half, tile); },
             [&](u64 at) { single_everywhere(call, half + at, *(const u8 *)(call.own + at)); });
        if (meet(call, begun, 1))
            for (u32 part = 0; part < call.chunks; part++)
                if (part != call.mine) copy<u8>(call.own, call.data[call.rank] + half, part * call.chunk, call.bytes);
    }
    end(call, begun);
}

// Large: each rank writes a part of what rank `source` has to all, where it belongs.
template <bool SWITCHED> __device__ void spread_two_shot(const Call &call) {
    __shared__ Begin begun;
    const bool well = begin(call, begun);
    const u64 source = call.data[call.source];
    if (well && meet(call, begun, 1)) {
        each(call.first, call.bytes, sizeof(u8), [&](auto &tile) { load_tile(tile, source); },
             [&](auto &tile) { store_everywhere<SWITCHED>(call, 0, tile); },
             [&](u64 at) { single_everywhere(call, at, *(const u8 *)(source + at)); });
        meet(call, begun, 2);
    }
    end(call, begun);
}

ENTRY(one_shot_peers, call) { spread_one_shot<false>(call); }
ENTRY(two_shot_peers, call) { spread_two_shot<false>(call); }
#if __CUDA_ARCH__ >= 900
ENTRY(one_shot_multicast, call) { spread_one_shot<true>(call); }
ENTRY(two_shot_multicast, call) { spread_two_shot<true>(call); }
#endif

ENTRY(barrier, call) {
    __shared__ Begin begun;
    const bool well = begin(call, begun);
    if (well) meet(call, begun, 1);
    end(call, begun);
}
