// Programs of lanes, atomics and whole grids whose every output bit is fixed, whatever order threads run in.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
typedef unsigned u32;
typedef unsigned long long u64;
#define ALL 0xffffffffu
#define EXPORT extern "C" __global__ void

// Every way to shuffle, of every width, with lanes beyond the ends.
EXPORT shuffles(const u32 *a, u32 *out) {
    int t = threadIdx.x, n = blockDim.x;
    u32 x = a[t];
    for (int width = 32, i = 0; width; width /= 2, i += 4) {
        out[i * n + t] = __shfl_sync(ALL, x, (int)(x >> 7) % 64 - 9, width);
        out[(i + 1) * n + t] = __shfl_up_sync(ALL, x, t % 8 == 5 ? 3 : 2, width);
        out[(i + 2) * n + t] = __shfl_down_sync(ALL, x, t / 32 + 1, width);
        out[(i + 3) * n + t] = __shfl_xor_sync(ALL, x, width / 2 ^ 3, width);
    }
    double d = __shfl_sync(ALL, (double)x * 1.5, 31 - t % 32);
    long long l = __shfl_down_sync(ALL, (long long)x << 13, 3);
    out[24 * n + t] = (u32)__double2hiint(d) ^ (u32)__double2loint(d) ^ (u32)(l >> 20);
}

EXPORT votes_and_matches(const u32 *a, u32 *out) {
    int t = threadIdx.x, n = blockDim.x, same = 0;
    u32 x = a[t];
    out[t] = __ballot_sync(ALL, x & 1) ^ __any_sync(ALL, x % 61 == 0) << 3 ^ __all_sync(ALL, x > 1000) << 5;
    out[n + t] = __match_any_sync(ALL, x % 5);
    out[2 * n + t] = __match_any_sync(ALL, (u64)(x % 3) << 40);
    out[3 * n + t] = __match_all_sync(ALL, t / 64, &same) + 7 * same;
    out[4 * n + t] = __reduce_add_sync(ALL, x) + 3 * __reduce_min_sync(ALL, x) + 5 * __reduce_max_sync(ALL, (int)x);
    out[5 * n + t] = __reduce_and_sync(ALL, x | 0xff00ff) ^ __reduce_or_sync(ALL, x & 0x0f0f0f0f) ^ __reduce_xor_sync(ALL, x * 3);
    u32 third = 0x49249249u, group = t % 3 ? ~third : third; // of the first warp: every third lane, and all others
    if (t < 32) out[6 * n + t] = __reduce_add_sync(group, x) + __shfl_sync(group, x, t % 3 ? 2 : 0);
}

// Keeps what passes, in order: ballots within a warp, a scan over the warps of a block.
EXPORT compact(const int *a, int *out, int *count) {
    __shared__ int starts[33];
    int t = threadIdx.x, warp = t / 32, lane = t % 32, x = a[t];
    u32 kept = __ballot_sync(ALL, x % 3 == 0);
    if (lane == 0) starts[warp + 1] = __popc(kept);
    __syncthreads();
    if (t == 0) {
        starts[0] = 0;
        for (int i = 0; i < blockDim.x / 32; i++) starts[i + 1] += starts[i];
        *count = starts[blockDim.x / 32];
    }
    __syncthreads();
    if (x % 3 == 0) out[starts[warp] + __popc(kept & ((1u << lane) - 1))] = x;
}

// Atomics whose results do not depend on the order: of every type and operation, in shared and in global memory.
EXPORT atomics(const int *a, u32 *words, u64 *wide, float *floats, double *doubles, int n) {
    __shared__ u32 room[8];
    if (threadIdx.x < 8) room[threadIdx.x] = threadIdx.x == 1 ? ~0u : 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int x = a[i];
        atomicAdd(&room[0], x), atomicAnd(&room[1], x | 0xffff), atomicOr(&room[2], x & 0xff00), atomicXor(&room[3], x);
        atomicMax((int *)&room[4], x), atomicMin((int *)&room[5], x), atomicInc(&room[6], 100), atomicDec(&room[7], 77);
        atomicMax(&words[8], (u32)x), atomicSub(&words[9], x), atomicMin((int *)&words[10], x), atomicInc(&words[11], 1000);
        atomicAdd(&wide[0], (u64)(long long)x), atomicMax((long long *)&wide[1], (long long)x << 20), atomicXor(&wide[2], (u64)x << 17);
        atomicOr(&wide[3], 1ull << (x & 63)), atomicMin(&wide[4], (u64)x << 3);
        atomicAdd(&floats[x & 3], 0.25f * (x % 16)), atomicAdd(&doubles[x & 1], (double)x / 8);
        u32 seen = words[12], other;
        do other = seen, seen = atomicCAS(&words[12], other, other * 5); while (seen != other); // powers of five commute
    }
    __syncthreads();
    if (threadIdx.x < 4) atomicAdd(&words[threadIdx.x], room[threadIdx.x]);
    if (threadIdx.x >= 4 && threadIdx.x < 8) atomicAdd(&words[threadIdx.x], room[threadIdx.x] * (threadIdx.x + 1));
}

// A tournament of blocks: whoever comes last to a node goes on (integers: the order does not show).
EXPORT last_block_sums(const int *a, int *sums, u32 *arrived, long long *out, int each) {
    __shared__ long long room[32];
    __shared__ bool last;
    long long sum = 0;
    for (int i = threadIdx.x; i < each; i += blockDim.x) sum += (long long)a[blockIdx.x * each + i] * (i + 1);
    for (int step = 16; step; step /= 2) sum += __shfl_down_sync(ALL, sum, step);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int i = 0; i < blockDim.x / 32; i++) sum += room[i];
        sums[blockIdx.x] = (int)sum;
        __threadfence();
        last = atomicAdd(arrived, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        *out = 0;
        for (int i = 0; i < gridDim.x; i++) *out = *out * 7 + ((volatile int *)sums)[i];
    }
}

// Jacobi's steps on a grid of many blocks, all of which wait for all: cooperative.
EXPORT jacobi(float *a, float *b, float *residue, int side, int rounds) {
    auto grid = cg::this_grid();
    int n = side * side;
    for (int round = 0; round < rounds; round++) {
        for (int i = grid.thread_rank(); i < n; i += grid.size()) {
            int x = i % side, y = i / side;
            bool edge = x == 0 || y == 0 || x == side - 1 || y == side - 1;
            b[i] = edge ? a[i] : (a[i - 1] + a[i + 1] + a[i - side] + a[i + side]) * 0.2475f + a[i] / 97;
        }
        grid.sync();
        float *other = a;
        a = b, b = other;
    }
    for (int i = grid.thread_rank(); i < n; i += grid.size()) residue[i] = a[i] - b[i];
}

// Breadth-first search, a level at a time, all blocks together.
EXPORT levels(const int *starts, const int *edges, int *level, int *changed, int n) {
    auto grid = cg::this_grid();
    for (int depth = 0; depth < 64; depth++) {
        for (int v = grid.thread_rank(); v < n; v += grid.size())
            if (level[v] == depth)
                for (int e = starts[v]; e < starts[v + 1]; e++)
                    if (atomicCAS(&level[edges[e]], -1, depth + 1) == -1) changed[depth] = 1;
        grid.sync();
        if (!((volatile int *)changed)[depth]) return;
    }
}
