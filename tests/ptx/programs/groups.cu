// Cooperative groups, as the toolkit's headers write them; grids and clusters.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
typedef unsigned u32;
typedef unsigned long long u64;
#define EXPORT extern "C" __global__ void

// ---- cooperative groups

EXPORT tiles(int *out) {
    auto block = cg::this_thread_block();
    auto eight = cg::tiled_partition<8>(block);
    auto four = cg::tiled_partition<4>(eight);
    auto sixteen = cg::tiled_partition<16>(block);
    int t = block.thread_rank(), n = block.size();
    out[t] = cg::reduce(eight, t, cg::plus<int>());
    out[n + t] = cg::reduce(four, t ^ 5, cg::less<int>());
    out[2 * n + t] = cg::inclusive_scan(sixteen, t);
    out[3 * n + t] = sixteen.shfl(t, (t + 3) % 16) + eight.any(t == 9) + 2 * four.meta_group_rank();
}

EXPORT coalesced(int *out) {
    int t = threadIdx.x;
    out[t] = -1;
    if (t % 5 < 2) {
        auto here = cg::coalesced_threads();
        out[t] = here.size() * 1000 + here.thread_rank() * 10 + (here.shfl(t, 0) == t);
        if (t % 5) {
            auto inner = cg::coalesced_threads();
            out[t] += 100000 * cg::reduce(inner, t, cg::plus<int>());
        }
    }
}

EXPORT labelled(int *out) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int t = threadIdx.x;
    auto group = cg::labeled_partition(tile, t * t % 5);
    out[t] = cg::reduce(group, t, cg::plus<int>()) * 100 + group.size();
    auto half = cg::binary_partition(tile, t % 3 == 0);
    out[blockDim.x + t] = cg::reduce(half, t, cg::greater<int>()) * 100 + half.thread_rank();
}

EXPORT whole_grid(u32 *data, u32 *out, int rounds) {
    auto grid = cg::this_grid();
    u32 i = grid.thread_rank(), n = grid.size();
    for (int round = 1; round <= rounds; round++) {
        data[i] = i * round;
        grid.sync();
        out[i] += data[(i + n / 2 + round) % n];
        grid.sync();
    }
}

// ---- clusters

EXPORT cluster_histogram(const int *a, int *out, int n) {
    extern __shared__ int bins[];
    auto cluster = cg::this_cluster();
    int blocks = cluster.num_blocks(), part = 64 / blocks;
    for (int i = threadIdx.x; i < part; i += blockDim.x) bins[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(cluster.map_shared_rank(bins, a[i] / part) + a[i] % part, 1);
    cluster.sync();
    for (int i = threadIdx.x; i < part; i += blockDim.x) atomicAdd(&out[cluster.block_rank() * part + i], bins[i]);
}

EXPORT cluster_ring(u32 *out) {
    __shared__ u32 room[32];
    auto cluster = cg::this_cluster();
    u32 rank = cluster.block_rank(), blocks = cluster.num_blocks();
    u32 value = blockIdx.x * 100 + threadIdx.x;
    for (u32 round = 0; round < 5; round++) {
        *(cluster.map_shared_rank(room, (rank + 1) % blocks) + threadIdx.x) = value;
        asm volatile("barrier.cluster.arrive.release;" ::: "memory");
        value ^= round;
        asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
        value += room[31 - threadIdx.x];
        cluster.sync();
    }
    out[blockIdx.x * 32 + threadIdx.x] = value;
}
