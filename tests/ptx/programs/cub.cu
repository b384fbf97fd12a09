// Kernels that use CUB's collectives.
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#define EXPORT extern "C" __global__ void

EXPORT sort_block(unsigned *keys, int *values) {
    typedef cub::BlockRadixSort<unsigned, 128, 4, int> Sort;
    __shared__ typename Sort::TempStorage room;
    unsigned k[4];
    int v[4];
    for (int i = 0; i < 4; i++) k[i] = keys[threadIdx.x * 4 + i], v[i] = values[threadIdx.x * 4 + i];
    Sort(room).Sort(k, v);
    for (int i = 0; i < 4; i++) keys[threadIdx.x * 4 + i] = k[i], values[threadIdx.x * 4 + i] = v[i];
}

EXPORT scan_and_reduce(const int *a, int *out, int *most) {
    typedef cub::BlockScan<int, 96> Scan;
    typedef cub::BlockReduce<int, 96> Reduce;
    typedef cub::WarpReduce<int, 8> Eight;
    __shared__ union {
        typename Scan::TempStorage scan;
        typename Reduce::TempStorage reduce;
    } room;
    __shared__ typename Eight::TempStorage eights[12];
    int value = a[threadIdx.x], sum, all;
    Scan(room.scan).ExclusiveSum(value, sum, all);
    __syncthreads();
    int top = Reduce(room.reduce).Reduce(value, cuda::maximum<>{});
    int eight = Eight(eights[threadIdx.x / 8]).Sum(value);
    out[threadIdx.x] = sum + all;
    if (threadIdx.x == 0) most[0] = top;
    if (threadIdx.x % 8 == 0) most[1 + threadIdx.x / 8] = eight;
}
