// Programs on floating-point numbers whose every output bit is fixed: no contraction, no approximation.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
typedef unsigned u32;
typedef unsigned long long u64;
#define ALL 0xffffffffu
#define EXPORT extern "C" __global__ void

// e^x by a polynomial: the library's own is built on ex2.approx, whose bits no document states.
__device__ float exponential(float x) {
    if (x < -103.0f) return 0;
    float n = rintf(x * 1.44269504f), r = fmaf(n, -0.693359375f, x);
    r = fmaf(n, 2.12194440e-4f, r);
    float p = 1.9875691e-4f;
    const float terms[5] = {1.3981999e-3f, 8.3334519e-3f, 4.1665796e-2f, 0.16666665f, 0.5f};
    for (float term : terms) p = p * r + term;
    return ldexpf(p * r * r + r + 1, (int)n);
}

__device__ float sum_of_block(float x, float *room) {
    for (int step = 16; step; step /= 2) x += __shfl_xor_sync(ALL, x, step);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int i = 0; i < blockDim.x / 32; i++) x += room[i];
    __syncthreads();
    return x;
}

EXPORT softmax_rows(const float *a, float *out, int columns) {
    __shared__ float room[32];
    const float *row = a + blockIdx.x * columns;
    float most = row[0], sum = 0;
    for (int i = 0; i < columns; i++) most = fmaxf(most, row[i]);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += exponential(row[i] - most);
    sum = sum_of_block(sum, room);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[blockIdx.x * columns + i] = exponential(row[i] - most) / sum;
}

EXPORT layer_norm(const float *a, float *out, int columns) {
    __shared__ float room[32];
    const float *row = a + blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i];
    float mean = sum_of_block(sum, room) / columns;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
    float deviation = sqrtf(sum_of_block(squares, room) / columns + 1e-5f);
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[blockIdx.x * columns + i] = (row[i] - mean) / deviation;
}

// ---- matrices

template <class T, class Step> __device__ void product(const T *a, const T *b, T *c, int n, T zero, Step step) {
    __shared__ T left[16][16], right[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    T sum = zero;
    for (int at = 0; at < n; at += 16) {
        left[y][x] = a[row * n + at + x], right[y][x] = b[(at + y) * n + column];
        __syncthreads();
#pragma unroll 4
        for (int i = 0; i < 16; i++) sum = step(left[y][i], right[i][x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}
EXPORT product_f32(const float *a, const float *b, float *c, int n) {
    product(a, b, c, n, 0.0f, [](float x, float y, float z) { return x * y + z; });
}
EXPORT product_f64(const double *a, const double *b, double *c, int n) {
    product(a, b, c, n, 0.0, [](double x, double y, double z) { return x * y + z; });
}
EXPORT product_f16(const __half2 *a, const __half2 *b, __half2 *c, int n) {
    product(a, b, c, n, __half2(0, 0), [](__half2 x, __half2 y, __half2 z) { return __hfma2(x, y, z); });
}
EXPORT product_bf16(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *c, int n) {
    product(a, b, c, n, __nv_bfloat162(0, 0), [](__nv_bfloat162 x, __nv_bfloat162 y, __nv_bfloat162 z) { return __hfma2(x, y, z); });
}

// Gauss's elimination with pivots: a matrix a block, a row a thread.
EXPORT solve(double *a, int n) {
    __shared__ double room[16][17];
    __shared__ int pivot;
    int t = threadIdx.x;
    for (int j = 0; j <= n; j++) room[t][j] = a[(blockIdx.x * n + t) * (n + 1) + j];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        if (t == 0) {
            pivot = k;
            for (int i = k + 1; i < n; i++)
                if (fabs(room[i][k]) > fabs(room[pivot][k])) pivot = i;
        }
        __syncthreads();
        double mine = room[k][t], last = room[k][n];
        __syncthreads();
        room[k][t] = room[pivot][t];
        if (pivot != k) room[pivot][t] = mine;
        if (t == 0) {
            room[k][n] = room[pivot][n];
            if (pivot != k) room[pivot][n] = last;
        }
        __syncthreads();
        double factor = t == k ? 0 : room[t][k] / room[k][k];
#pragma unroll 1
        for (int j = k; j <= n; j++) room[t][j] -= factor * room[k][j];
        __syncthreads();
    }
    for (int j = 0; j <= n; j++) a[(blockIdx.x * n + t) * (n + 1) + j] = j == n ? room[t][n] / room[t][t] : room[t][j];
}

// ---- half precision

EXPORT halves(const __half2 *a, const __half2 *b, __half2 *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    __half2 x = a[t], y = b[t];
    out[t] = __hadd2_rn(x, y), out[n + t] = __hmul2_rn(x, y), out[2 * n + t] = __hsub2_rn(x, __hmul2_rn(y, y));
    out[3 * n + t] = __hfma2_sat(x, y, x), out[4 * n + t] = __hmax2(x, y), out[5 * n + t] = __hmin2_nan(x, y);
    out[6 * n + t] = __hgt2(x, y), out[7 * n + t] = __hneg2(__habs2(x)), out[8 * n + t] = __hfma2_relu(x, y, y);
    out[9 * n + t] = __halves2half2(hrint(__low2half(x)), hfloor(__high2half(y)));
}

EXPORT brains(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    __nv_bfloat162 x = a[t], y = b[t];
    out[t] = __hadd2_rn(x, y), out[n + t] = __hmul2_rn(x, y), out[2 * n + t] = __hsub2_rn(x, __hmul2_rn(y, y));
    out[3 * n + t] = __hfma2_sat(x, y, x), out[4 * n + t] = __hmax2(x, y), out[5 * n + t] = __hmin2_nan(x, y);
    out[6 * n + t] = __hgt2(x, y), out[7 * n + t] = __hneg2(__habs2(x)), out[8 * n + t] = __hfma2_relu(x, y, y);
    out[9 * n + t] = __floats2bfloat162_rn(__low2float(x) * 3, __high2float(y) / 7);
}

// ---- conversions

EXPORT conversions(const u64 *a, u64 *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    double d = __longlong_as_double(a[t]);
    float f = __int_as_float((int)a[t]);
    __half h = __ushort_as_half((unsigned short)a[t]);
    long long l = (long long)a[t];
    int i = (int)(a[t] >> 7);
    u64 to[] = {
        (u64)__double2ll_rn(d), __double2ull_rz(d), (u64)__double2int_rd(d), __double2uint_ru(d), (u64)__float2ll_rd(f), __float2ull_ru(f),
        (u64)__float2int_rz(f), __float2uint_rn(f), __float_as_uint(__double2float_rd(d)), __float_as_uint(__double2float_rz(d)),
        __float_as_uint((float)d), (u64)__double_as_longlong((double)f), (u64)__double_as_longlong(__ll2double_rd(l)),
        (u64)__double_as_longlong(__ull2double_ru(a[t])), __float_as_uint(__ll2float_rz(l)), __float_as_uint(__ull2float_rn(a[t])),
        __float_as_uint(__int2float_ru(i)), (u64)__double_as_longlong((double)i), __half_as_ushort(__float2half_rd(f)),
        __half_as_ushort(__double2half(d)), __half_as_ushort(__int2half_ru(i)), __half_as_ushort(__ll2half_rz(l)), __float_as_uint(__half2float(h)),
        (u64)__half2ll_rn(h), (u64)__half2int_rz(h), __half2ushort_ru(h), __bfloat16_as_ushort(__float2bfloat16_rz(f)),
        __bfloat16_as_ushort(__double2bfloat16(d)), __bfloat16_as_ushort(__int2bfloat16_rn(i)), (u64)(unsigned char)(int)f, (u64)(short)d,
        __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E4M3), __nv_cvt_float_to_fp8(f, __NV_SATFINITE, __NV_E5M2),
        __nv_cvt_double_to_fp8(d, __NV_SATFINITE, __NV_E4M3), __half_raw(__nv_cvt_fp8_to_halfraw((unsigned char)i, __NV_E5M2)).x,
        __half_raw(__nv_cvt_fp8_to_halfraw((unsigned char)i, __NV_E4M3)).x};
    for (int k = 0; k < sizeof to / sizeof *to; k++) out[k * n + t] = to[k];
}

// ---- every rounding

EXPORT roundings(const float *a, const float *b, float *out, const double *c, const double *d, double *wide, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[t], y = b[t];
    float to[] = {
        __fadd_rd(x, y), __fadd_ru(x, y), __fmul_rz(x, y), __fmul_ru(x, y), __fdiv_rn(x, y), __fdiv_rz(x, y), __fdiv_ru(x, y), __fdiv_rd(x, y),
        __fsqrt_rn(x), __fsqrt_ru(x), __fsqrt_rz(y), __frcp_rn(x), __frcp_rd(y), __fmaf_rz(x, y, x), __fmaf_rd(x, y, y), rintf(x), floorf(y), ceilf(x),
        truncf(y), fmodf(x, y), remainderf(x, y), roundf(x), fminf(x, y), fmaxf(x, y), copysignf(x, y), fdimf(x, y), nextafterf(x, y), hypotf(x, y)};
    for (int k = 0; k < sizeof to / sizeof *to; k++) out[k * n + t] = to[k];
    double u = c[t], v = d[t];
    double to64[] = {
        __dadd_rd(u, v), __dsub_ru(u, v), __dmul_rz(u, v), __ddiv_rn(u, v), __ddiv_ru(u, v), __dsqrt_rn(u), __dsqrt_rd(v), __drcp_rz(u),
        __fma_ru(u, v, u), rint(u), floor(v), ceil(u), trunc(v), fmod(u, v), fmin(u, v), fmax(u, v), ldexp(u, (int)x), logb(v)};
    for (int k = 0; k < sizeof to64 / sizeof *to64; k++) wide[k * n + t] = to64[k];
}

// ---- long loops

EXPORT mandelbrot(int *out, double *last, int width, int most) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
    double cx = (i % width) * 3.0 / width - 2.2, cy = (i / width) * 2.4 / width - 1.2, x = 0, y = 0;
    for (; x * x + y * y <= 4 && count < most; count++) {
        double next = x * x - y * y + cx;
        y = 2 * x * y + cy, x = next;
    }
    out[i] = count;
    last[i] = x - y;
}

// Bodies that attract each other, leapfrog, a tile of bodies at a time.
EXPORT bodies(float4 *place, float4 *speed, int steps) {
    __shared__ float4 tile[64];
    int t = threadIdx.x;
    float4 p = place[t], v = speed[t];
    for (int step = 0; step < steps; step++) {
        tile[t] = p;
        __syncthreads();
        float x = 0, y = 0, z = 0;
        for (int j = 0; j < 64; j++) {
            float4 o = tile[j];
            float dx = o.x - p.x, dy = o.y - p.y, dz = o.z - p.z, r = dx * dx + dy * dy + dz * dz + 0.01f;
            float pull = o.w / (r * sqrtf(r));
            x += dx * pull, y += dy * pull, z += dz * pull;
        }
        v.x += x * 0.01f, v.y += y * 0.01f, v.z += z * 0.01f;
        p.x += v.x * 0.01f, p.y += v.y * 0.01f, p.z += v.z * 0.01f;
        __syncthreads();
    }
    place[t] = p, speed[t] = v;
}

// A Fourier transform of 256 numbers, whose factors come from a recurrence; sums kept with their errors (Kahan, two-sum).
EXPORT fourier(double2 *a, double2 root) {
    __shared__ double2 room[256];
    int t = threadIdx.x;
    room[__brev(t) >> 24] = a[blockIdx.x * 256 + t];
    for (int half = 1; half < 256; half *= 2) {
        __syncthreads();
        if (t < 128) {
            int at = t / half * 2 * half + t % half, power = t % half * (128 / half);
            double2 w = make_double2(1, 0);
            for (int i = 0; i < power; i++) w = make_double2(w.x * root.x - w.y * root.y, w.x * root.y + w.y * root.x);
            double2 u = room[at], v = room[at + half];
            v = make_double2(v.x * w.x - v.y * w.y, v.x * w.y + v.y * w.x);
            room[at] = make_double2(u.x + v.x, u.y + v.y), room[at + half] = make_double2(u.x - v.x, u.y - v.y);
        }
    }
    __syncthreads();
    a[blockIdx.x * 256 + t] = room[t];
}

EXPORT exact_sums(const float *a, float *out, int each) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0, error = 0, high = 0, low = 0;
    for (int i = 0; i < each; i++) {
        float x = a[t * each + i], y = x - error, next = sum + y;
        error = next - sum - y, sum = next;
        float s = high + x, part = s - high;
        low += (high - (s - part)) + (x - part), high = s;
    }
    out[4 * t] = sum, out[4 * t + 1] = error, out[4 * t + 2] = high, out[4 * t + 3] = low;
}

// What CUDA's library makes of a double from IEEE steps alone.
EXPORT library(const double *a, double *out, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    double x = a[t], y = fabs(a[t ^ 1]);
    double to[] = {exp(x), sin(x), cos(x), log(y), atan(x), sinpi(x), pow(y, x)};
    for (int k = 0; k < sizeof to / sizeof *to; k++) out[k * n + t] = to[k];
}
