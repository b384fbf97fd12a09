// Products of matrices in half precisions, through shared memory; sums in single precision, or in their own.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define EXPORT extern "C" __global__ void

template <typename T> __device__ float wide(T x);
template <> __device__ float wide(__half x) { return __half2float(x); }
template <> __device__ float wide(__nv_bfloat16 x) { return __bfloat162float(x); }
template <typename T> __device__ T narrow(float x);
template <> __device__ __half narrow(float x) { return __float2half(x); }
template <> __device__ __nv_bfloat16 narrow(float x) { return __float2bfloat16(x); }

template <typename T> __device__ void multiply(const T *a, const T *b, T *c, int m, int n, int k) {
    __shared__ T left[16][16], right[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    T zero = narrow<T>(0);
    float sum = 0;
    for (int at = 0; at < k; at += 16) {
        left[threadIdx.y][threadIdx.x] = row < m && at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : zero;
        right[threadIdx.y][threadIdx.x] = at + threadIdx.y < k && column < n ? b[(at + threadIdx.y) * n + column] : zero;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum = fmaf(wide(left[threadIdx.y][i]), wide(right[i][threadIdx.x]), sum);
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = narrow<T>(sum);
}
EXPORT multiply_f16(const __half *a, const __half *b, __half *c, int m, int n, int k) { multiply(a, b, c, m, n, k); }
EXPORT multiply_bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c, int m, int n, int k) {
    multiply(a, b, c, m, n, k);
}

// Two columns at a time, each step fused and rounded to the narrow type.
EXPORT dots_f16(const __half2 *a, const __half2 *b, __half2 *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    __half2 sum = __float2half2_rn(0);
    for (int i = 0; i < n; i++) sum = __hfma2(a[t * n + i], b[t * n + i], sum);
    out[t] = __hmax2(sum, __float2half2_rn(-4));
}
EXPORT dots_bf16(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    __nv_bfloat162 sum = __float2bfloat162_rn(0);
    for (int i = 0; i < n; i++) sum = __hfma2(a[t * n + i], b[t * n + i], sum);
    out[t] = __hmax2(sum, __float2bfloat162_rn(-4));
}
