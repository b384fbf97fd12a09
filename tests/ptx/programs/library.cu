// Kernels that use the C++ library for devices: barriers, semaphores, atomics.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/semaphore>
#define EXPORT extern "C" __global__ void

EXPORT barriers(int *out, int rounds) {
    __shared__ cuda::barrier<cuda::thread_scope_block> all;
    __shared__ int room[64];
    if (threadIdx.x == 0) init(&all, blockDim.x);
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
        room[threadIdx.x] = threadIdx.x + round;
        auto token = all.arrive();
        sum ^= round;
        all.wait(cuda::std::move(token));
        sum += room[63 - threadIdx.x];
        all.arrive_and_wait();
    }
    out[threadIdx.x] = sum;
}

__device__ cuda::counting_semaphore<cuda::thread_scope_device, 3> few(3);
EXPORT semaphores(int *inside, int *most) {
    few.acquire();
    cuda::atomic_ref<int, cuda::thread_scope_device> now(*inside), top(*most);
    top.fetch_max(now.fetch_add(1) + 1);
    __nanosleep(50);
    now.fetch_sub(1);
    few.release();
}

EXPORT waits_and_notes(int *flag, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> turn(*flag);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int seen; (seen = turn.load(cuda::memory_order_acquire)) != i;) turn.wait(seen);
    out[i] = i ? out[i - 1] + i : 0;
    turn.store(i + 1, cuda::memory_order_release);
    turn.notify_all();
}
