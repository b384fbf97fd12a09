// Textbook kernels, as people write them.
typedef unsigned u32;
typedef unsigned long long u64;
#define ALL 0xffffffffu
#define EXPORT extern "C" __global__ void

__constant__ float weights[7] = {1, 2, 4, 8, 4, 2, 1};
__device__ u64 grand_total;

EXPORT add_vectors(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

EXPORT saxpy(float a, const float4 *x, float4 *y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 v = x[i], w = y[i];
        y[i] = make_float4(a * v.x + w.x, a * v.y + w.y, a * v.z + w.z, a * v.w + w.w);
    }
}

EXPORT count_blocks(u32 *counter) {
    if (threadIdx.x == 0) atomicAdd(counter, 1u);
}

EXPORT coordinates(uint4 *out) {
    u32 block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    u32 thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    u32 size = blockDim.x * blockDim.y * blockDim.z;
    out[2 * (block * size + thread)] = make_uint4(threadIdx.x, threadIdx.y, threadIdx.z, thread);
    out[2 * (block * size + thread) + 1] = make_uint4(blockIdx.x, blockIdx.y, blockIdx.z, size);
}

// ---- reductions

EXPORT sum_shared(const int *a, u64 *out, int n) {
    extern __shared__ int room[];
    int t = threadIdx.x, sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += a[i];
    room[t] = sum;
    __syncthreads();
    for (int left = blockDim.x; left > 1;) {
        int half = (left + 1) / 2;
        if (t < left - half) room[t] += room[t + half];
        left = half;
        __syncthreads();
    }
    if (t == 0) {
        out[blockIdx.x] = room[0];
        atomicAdd(&grand_total, (u64)room[0]);
    }
}

EXPORT sum_shuffled(const float *a, float *out, int n) {
    __shared__ float sums[32];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[i];
    for (int step = 16; step; step >>= 1) sum += __shfl_xor_sync(ALL, sum, step);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
    for (int step = 16; step; step >>= 1) sum += __shfl_down_sync(ALL, sum, step);
    if (threadIdx.x == 0) *out = sum;
}

// ---- scans

__device__ int scan_warp(int value) {
    for (int step = 1; step < 32; step <<= 1) {
        int other = __shfl_up_sync(ALL, value, step);
        if (threadIdx.x % 32 >= step) value += other;
    }
    return value;
}

__device__ int scan_block(int value, int *sums) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    value = scan_warp(value);
    if (lane == 31) sums[warp] = value;
    __syncthreads();
    if (warp == 0) sums[lane] = scan_warp(lane < blockDim.x / 32 ? sums[lane] : 0);
    __syncthreads();
    return warp ? value + sums[warp - 1] : value;
}

EXPORT scan_one_block(const int *a, int *out) {
    __shared__ int sums[32];
    out[threadIdx.x] = scan_block(a[threadIdx.x], sums);
}

// Single-pass scan with decoupled look-back (Merrill and Garland): a block takes a number, and looks at those before it.
EXPORT scan_looking_back(const int *a, int *out, int n, u32 *ticket, volatile u64 *state) {
    __shared__ int sums[32];
    __shared__ u32 number;
    __shared__ int before;
    if (threadIdx.x == 0) number = atomicAdd(ticket, 1u);
    __syncthreads();
    int i = number * blockDim.x + threadIdx.x;
    int value = scan_block(i < n ? a[i] : 0, sums);
    if (threadIdx.x == blockDim.x - 1) {
        u64 mine = (u32)value;
        state[number] = mine | (number ? 1ull : 2ull) << 32;
        int sum = 0;
        for (int look = (int)number - 1; look >= 0; look--) {
            u64 seen;
            do seen = state[look]; while (!(seen >> 32));
            sum += (int)(u32)seen;
            if (seen >> 32 == 2) break;
        }
        before = sum;
        __threadfence();
        if (number) state[number] = (u64)(u32)(sum + value) | 2ull << 32;
    }
    __syncthreads();
    if (i < n) out[i] = value + before;
}

// ---- layouts, histograms

EXPORT transpose(const float *a, float *out, int width, int height) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += blockDim.y)
        if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = a[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += blockDim.y)
        if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

EXPORT histogram(const unsigned char *a, u32 *out, int n) {
    __shared__ u32 bins[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[a[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (bins[i]) atomicAdd(&out[i], bins[i]);
}

EXPORT stencil(const float *a, float *out, int n) {
    extern __shared__ float row[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + 3;
    row[t] = i < n ? a[i] : 0;
    if (threadIdx.x < 3) {
        row[threadIdx.x] = i >= 3 ? a[i - 3] : 0;
        int right = i + blockDim.x;
        row[t + blockDim.x] = right < n ? a[right] : 0;
    }
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 7; k++) sum += weights[k] * row[t + k - 3];
    if (i < n) out[i] = sum;
}

EXPORT softmax(const float *a, float *out, int columns) {
    __shared__ float room[32];
    const float *row = a + (u64)blockIdx.x * columns;
    float most = __int_as_float(0xff800000), sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i]);
    for (int step = 16; step; step /= 2) most = fmaxf(most, __shfl_xor_sync(ALL, most, step));
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = most;
    __syncthreads();
    for (int i = 0; i < blockDim.x / 32; i++) most = fmaxf(most, room[i]);
    __syncthreads();
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(row[i] - most);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(ALL, sum, step);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < blockDim.x / 32; i++) sum += room[i];
    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[(u64)blockIdx.x * columns + i] = expf(row[i] - most) / sum;
}

EXPORT multiply(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float left[16][16], right[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int at = 0; at < k; at += 16) {
        left[threadIdx.y][threadIdx.x] = row < m && at + threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = at + threadIdx.y < k && column < n ? b[(at + threadIdx.y) * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum = fmaf(left[threadIdx.y][i], right[i][threadIdx.x], sum);
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// ---- sorting

EXPORT sort_bitonic(int *a) {
    extern __shared__ int keys[];
    int t = threadIdx.x, n = blockDim.x;
    keys[t] = a[t];
    for (int size = 2; size <= n; size *= 2)
        for (int step = size / 2; step; step /= 2) {
            __syncthreads();
            int other = t ^ step;
            if (other > t) {
                int x = keys[t], y = keys[other];
                if ((x > y) == !(t & size)) keys[t] = y, keys[other] = x;
            }
        }
    __syncthreads();
    a[t] = keys[t];
}

// Least significant digit first, four bits a pass, stable, one block.
EXPORT sort_radix(u32 *a, u32 *spare, int n) {
    __shared__ u32 counts[16], starts[16];
    __shared__ u32 of_warp[8][16];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int shift = 0; shift < 32; shift += 4) {
        if (threadIdx.x < 16) counts[threadIdx.x] = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&counts[a[i] >> shift & 15], 1u);
        __syncthreads();
        if (threadIdx.x == 0)
            for (u32 digit = 0, sum = 0; digit < 16; digit++) starts[digit] = sum, sum += counts[digit];
        __syncthreads();
        for (int base = 0; base < n; base += blockDim.x) {
            int i = base + threadIdx.x;
            bool inside = i < n;
            u32 key = inside ? a[i] : 0, digit = inside ? key >> shift & 15 : 16;
            u32 same = __match_any_sync(ALL, digit), before = __popc(same & ((1u << lane) - 1));
            if (threadIdx.x < 128) of_warp[threadIdx.x / 16][threadIdx.x % 16] = 0;
            __syncthreads();
            if (inside && before == 0) of_warp[warp][digit] = __popc(same);
            __syncthreads();
            if (inside) {
                u32 at = starts[digit] + before;
                for (int w = 0; w < warp; w++) at += of_warp[w][digit];
                spare[at] = key;
            }
            __syncthreads();
            if (threadIdx.x < 16)
                for (int w = 0; w < 8; w++) starts[threadIdx.x] += of_warp[w][threadIdx.x];
            __syncthreads();
        }
        u32 *other = a;
        a = spare, spare = other;
    }
}

// ---- conjugate gradients for the five-point Laplacian on a square, matrix-free, one block

__device__ double dot(const double *x, const double *y, int n, double *room) {
    double sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i] * y[i];
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(ALL, sum, step);
    __syncthreads();
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < blockDim.x / 32; i++) sum += room[i];
    return sum;
}

EXPORT conjugate_gradients(const double *b, double *x, double *r, double *p, double *q, int side, int *rounds) {
    __shared__ double room[32];
    int n = side * side, round = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = 0, r[i] = p[i] = b[i];
    double old = dot(r, r, n, room);
    while (old > 1e-20 && round < 4 * n) {
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            int column = i % side, row = i / side;
            double sum = 4 * p[i];
            if (column) sum -= p[i - 1];
            if (column + 1 < side) sum -= p[i + 1];
            if (row) sum -= p[i - side];
            if (row + 1 < side) sum -= p[i + side];
            q[i] = sum;
        }
        __syncthreads();
        double alpha = old / dot(p, q, n, room);
        for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += alpha * p[i], r[i] -= alpha * q[i];
        double fresh = dot(r, r, n, room), beta = fresh / old;
        for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = r[i] + beta * p[i];
        old = fresh;
        round++;
    }
    if (threadIdx.x == 0) *rounds = round;
}
