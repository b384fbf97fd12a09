// The beginning and the end of a kernel, and the barrier of all ranks in it.
//
// Order of memory is by the PTX model, where memory has another proxy for each kind of address: what was written through a
// multicast address is read through an ordinary one, or the other way round, only behind fence.proxy.alias and a
// synchronisation. All of it is in meet(); the end of a kernel does the same.
#pragma once
#include "call.h"

// What lies at the beginning of a pad. Only kernels of the rank itself write here, but `broken`, which all may.
struct Pad {
    u64 count;  // collectives that have ended here
    u32 ticket; // blocks that have come to their end
    u32 unused;
    u64 broken; // 0, or why nothing is done any more: number << 16 | name << 8 | missing rank + 1
};
static_assert(sizeof(Pad) == BROKEN + sizeof(u64), "the host writes to `broken`");

__device__ __forceinline__ Pad *pad_of(const Call &call, u32 rank) { return (Pad *)call.pad[rank]; }

__device__ __forceinline__ u64 load_relaxed(const u64 *at) {
    u64 value;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ u64 load_acquire(u64 at) {
    u64 value;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
    return value;
}

__device__ __forceinline__ void store_relaxed(u64 *at, u64 value) {
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}

__device__ __forceinline__ void fence_alias() {
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.alias;" ::: "memory");
#endif
}

__device__ __forceinline__ u64 now() {
    u64 nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
    return nanoseconds;
}

// ---- beginning and end: all blocks of a kernel have one number, and the last one to end counts it

struct Begin {
    u64 number, broken;
    u32 missing[2]; // the lowest rank that did not come, at either meeting
};

__device__ void tell(const Call &call, u64 why) { store_relaxed((u64 *)call.told, why); }

// Answer what all threads of the block share; false: something has failed before, and nothing is done any more.
__device__ __forceinline__ bool begin(const Call &call, Begin &begun) {
    if (threadIdx.x == 0) {
        begun.number = load_relaxed(&pad_of(call, call.rank)->count);
        begun.broken = load_relaxed(&pad_of(call, call.rank)->broken);
        begun.missing[0] = begun.missing[1] = NOBODY;
        if (begun.broken) tell(call, begun.broken);
    }
    __syncthreads();
    return !begun.broken;
}

__device__ void end(const Call &call, const Begin &begun) {
    __syncthreads();
    if (threadIdx.x) return;
    Pad *pad = pad_of(call, call.rank);
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(&pad->ticket), "r"(gridDim.x - 1) : "memory");
    if (before == gridDim.x - 1) store_relaxed(&pad->count, begun.number + 1);
}

// ---- the barrier of block b of all ranks: each rank has a word for it in every pad, so a rank that is missing has a name

__device__ __forceinline__ u64 flag(u64 pad, u32 rank) { return pad + FLAGS + (blockIdx.x * MOST_RANKS + rank) * sizeof(u64); }

__device__ void arrive(const Call &call, u64 turn) {
    fence_alias(); // for what was written through the other kind of address
#if __CUDA_ARCH__ >= 900
    if (call.pad_mc) {
        if (threadIdx.x == 0)
            asm volatile("multimem.st.release.sys.global.u64 [%0], %1;" ::"l"(flag(call.pad_mc, call.rank)), "l"(turn) : "memory");
        fence_alias(); // for the flag itself
        return;
    }
#endif
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag(call.pad[threadIdx.x], call.rank)), "l"(turn) : "memory");
}

// Wait for the rank whose number is this thread's. A warp leaves the loop as one: what comes after it is not divergent.
__device__ __forceinline__ bool wait(const Call &call, u64 turn) {
    const u64 word = flag(call.pad[call.rank], threadIdx.x), since = now();
    bool came = threadIdx.x >= call.size;
    for (u32 looks = 1;; looks++) {
        if (!came) came = load_acquire(word) >= turn;
        if (__all_sync(~0u, came)) return true;
        if (looks % 16) continue;
        if (load_relaxed(&pad_of(call, call.rank)->broken) || now() - since > call.timeout) return came;
    }
}

// Say which rank is missing: to the others, who wait as well, and to the host. Who is told first is believed.
__device__ void give_up(const Call &call, u64 number, u32 missing) {
    u64 why = load_relaxed(&pad_of(call, call.rank)->broken);
    if (!why) {
        why = number << 16 | call.name << 8 | (missing + 1);
        for (u32 rank = 0; rank < call.size; rank++) store_relaxed(&pad_of(call, rank)->broken, why);
    }
    tell(call, why);
}

// Come together with block b of all ranks; `turn` of the two that a kernel may take. False: somebody did not come.
__device__ __forceinline__ bool meet(const Call &call, Begin &begun, u32 turn) {
    __syncthreads();
    if (threadIdx.x < call.size) arrive(call, 2 * begun.number + turn);
    if (!wait(call, 2 * begun.number + turn)) atomicMin(&begun.missing[turn - 1], threadIdx.x);
    __syncthreads();
    if (begun.missing[turn - 1] == NOBODY) return true;
    if (threadIdx.x == 0) give_up(call, begun.number, begun.missing[turn - 1]);
    return false;
}
