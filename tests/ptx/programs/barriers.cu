// Barriers of blocks, named ones; asynchronous copies; what ends a kernel.
#include <cuda_awbarrier_primitives.h>
#include <cuda_pipeline.h>
typedef unsigned u32;
typedef unsigned long long u64;
#define EXPORT extern "C" __global__ void

EXPORT in_both_arms(int *out) {
    extern __shared__ int room[];
    int t = threadIdx.x, n = blockDim.x;
    for (int round = 1; round < 4; round++) {
        room[t] = t * round;
        if (t % 3 == 0) {
            __syncthreads();
            out[t] += room[n - 1 - t];
            __syncthreads();
        } else {
            __syncthreads();
            out[t] -= room[n - 1 - t];
            __syncthreads();
        }
    }
}

EXPORT some_return(int *out) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int round = 0; round < 5; round++) {
        if ((threadIdx.x * 7 + 3) % 11 == round) return; // whoever has gone is not waited for
        atomicAdd(&sum, 1);
        __syncthreads();
        out[threadIdx.x] = sum;
        __syncthreads();
    }
}

EXPORT counting(u32 *out) {
    int t = threadIdx.x;
    u32 a = 0;
    for (int round = 1; round < 6; round++)
        a = a * 100 + __syncthreads_count(t % round == 0) + 50 * __syncthreads_and(t < 100 - round) + 70 * __syncthreads_or(t == 17 * round);
    out[t] = a;
}

// ---- named barriers

__device__ void sync(int id, int count) { asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(count) : "memory"); }
__device__ void arrive(int id, int count) { asm volatile("barrier.arrive %0, %1;" ::"r"(id), "r"(count) : "memory"); }

// One warp makes, three use; two buffers, each with a barrier for "full" and one for "empty".
EXPORT makers_and_users(int *out, int rounds) {
    __shared__ int room[2][32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp == 0) {
        for (int round = 0; round < rounds; round++) {
            int at = round & 1;
            if (round >= 2) sync(3 + at, 128);
            room[at][lane] = round * 1000 + lane;
            __threadfence_block();
            arrive(1 + at, 128);
        }
        return;
    }
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
        int at = round & 1;
        sync(1 + at, 128);
        sum += room[at][(lane + warp) % 32];
        if (round + 2 < rounds) arrive(3 + at, 128);
    }
    out[threadIdx.x - 32] = sum;
}

// The last warp of the block is not whole, and still counts as one; a lane of the first has gone.
EXPORT parts_of_warps(int *out) {
    extern __shared__ int room[];
    int t = threadIdx.x, n = blockDim.x, whole = (n + 31) / 32 * 32;
    if (t == 3) return;
    for (int round = 0; round < 3; round++) {
        room[t] = t + round;
        sync(5, whole);
        out[t] = room[n - 1 - t == 3 ? t : n - 1 - t];
        sync(5, whole);
    }
}

// Pairs of warps reduce through barriers of their own while others are at theirs.
EXPORT pairs_apart(u32 *out, int rounds) {
    int pair = threadIdx.x / 64, t = threadIdx.x % 64;
    u32 sum = 0;
    for (int round = 0; round < rounds * (pair + 1); round++) {
        u32 found;
        asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, %2; barrier.red.popc.u32 %0, %3, 64, p; }"
                     : "=r"(found) : "r"(t), "r"(round % 50 + pair), "r"(pair + 1) : "memory");
        sum = sum * 3 + found;
    }
    out[threadIdx.x] = sum;
}

// ---- asynchronous copies and mbarriers

EXPORT pipeline(const float4 *a, float4 *out, int tiles) {
    __shared__ float4 room[3][64];
    int t = threadIdx.x;
    for (int stage = 0; stage < 2; stage++) {
        if (stage < tiles) __pipeline_memcpy_async(&room[stage][t], &a[stage * 64 + t], 16);
        __pipeline_commit();
    }
    for (int tile = 0; tile < tiles; tile++) {
        __pipeline_wait_prior(1);
        __syncthreads();
        if (tile + 2 < tiles) __pipeline_memcpy_async(&room[(tile + 2) % 3][t], &a[(tile + 2) * 64 + t], 16);
        __pipeline_commit();
        float4 v = room[tile % 3][63 - t];
        out[tile * 64 + t] = make_float4(v.w, v.z, v.y, v.x);
    }
}

EXPORT phases(int *out, int rounds) {
    __shared__ __mbarrier_t full, empty;
    __shared__ int room[64];
    int t = threadIdx.x, sum = 0;
    if (t == 0) {
        __mbarrier_init(&full, 64);
        __mbarrier_init(&empty, 128);
    }
    __syncthreads();
    for (int round = 0; round < rounds; round++)
        if (t < 64) {
            room[t] = t * 10 + round;
            __mbarrier_token_t token = __mbarrier_arrive(&full);
            (void)token;
            token = __mbarrier_arrive(&empty);
            while (!__mbarrier_test_wait(&empty, token)) {}
        } else {
            while (!__mbarrier_test_wait_parity(&full, round & 1)) {}
            sum += room[127 - t] * (round + 1);
            __mbarrier_token_t token = __mbarrier_arrive(&empty);
            while (!__mbarrier_test_wait(&empty, token)) {}
        }
    if (t >= 64) out[t - 64] = sum;
}

// ---- what ends a kernel

EXPORT asserts(const int *a) { assert(a[threadIdx.x] < 40 && "too large"); }
EXPORT traps(const int *a) {
    if (a[threadIdx.x] == 7) __trap();
}
EXPORT prints(const char *name, int n) {
    if (threadIdx.x % 16 == 3) printf("%s %d of %u: %5.2f %c %llx %%\n", name, threadIdx.x, n, threadIdx.x / 4.0, 'a' + threadIdx.x % 26, 1ull << threadIdx.x);
}
EXPORT never_ends(volatile int *flag) {
    while (!*flag) {}
}
EXPORT barrier_without_all(int *out) {
    if (threadIdx.x < 32) asm volatile("barrier.sync 1, 96;" ::: "memory");
    out[threadIdx.x] = 1;
}
