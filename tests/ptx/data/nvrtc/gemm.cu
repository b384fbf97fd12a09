// Products of matrices on the tensor cores. gemm: D = A B in f16 with f32 sums, A m x k and B k x n by rows, blocks of 64 x 64
// with 4 warps of 32 x 32, k in steps of 32 through shared memory. gemm_s8: a warp for each 16 x 8 of D, B by columns.
typedef unsigned u32;
typedef unsigned short u16;
#define TILE 64
#define STEP 32
#define PAD 8

__device__ __forceinline__ u32 at(const void *p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void load4(u32 *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(p)) : "memory");
}
__device__ __forceinline__ void load4_trans(u32 *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(p)) : "memory");
}
__device__ __forceinline__ void mma(float *d, const u32 *a, const u32 *b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ u32 pack(float low, float high) {
  u32 both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

extern "C" __global__ void __launch_bounds__(128) gemm(const u16 *a, const u16 *b, u16 *d, int n, int k) {
  __shared__ __align__(16) u16 left[TILE][STEP + PAD], right[STEP][TILE + PAD], out[TILE][TILE + PAD];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = warp % 2 * 32, column = warp / 2 * 32;
  a += blockIdx.y * TILE * k;
  b += blockIdx.x * TILE;
  float sum[2][4][4] = {};
  for (int from = 0; from < k; from += STEP) {
    for (int i = threadIdx.x; i < TILE * STEP / 8; i += blockDim.x) {
      *(uint4 *)&left[i / 4][i % 4 * 8] = *(const uint4 *)(a + i / 4 * k + from + i % 4 * 8);
      *(uint4 *)&right[i / 8][i % 8 * 8] = *(const uint4 *)(b + (from + i / 8) * n + i % 8 * 8);
    }
    __syncthreads();
    for (int kk = 0; kk < STEP; kk += 16) {
      u32 x[2][4], y[2][4];
      for (int i = 0; i < 2; i++) {
        load4(x[i], &left[row + 16 * i + lane % 16][kk + lane / 16 * 8]);
        load4_trans(y[i], &right[kk + lane % 16][column + 16 * i + lane / 16 * 8]);
      }
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) mma(sum[i][j], x[i], &y[j / 2][j % 2 * 2]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++) {
      const float *s = sum[i][j];
      const u32 upper = pack(s[0], s[1]), lower = pack(s[2], s[3]);
#if __CUDA_ARCH__ >= 900
      u16 *place = &out[row + 16 * i + lane % 16][column + 8 * j];
      asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};" :: "r"(at(place)), "r"(upper), "r"(lower) : "memory");
#else
      *(u32 *)&out[row + 16 * i + lane / 4][column + 8 * j + lane % 4 * 2] = upper;
      *(u32 *)&out[row + 16 * i + lane / 4 + 8][column + 8 * j + lane % 4 * 2] = lower;
#endif
    }
  __syncthreads();
  d += blockIdx.y * TILE * n + blockIdx.x * TILE;
  for (int i = threadIdx.x; i < TILE * TILE / 8; i += blockDim.x) *(uint4 *)(d + i / 8 * n + i % 8 * 8) = *(uint4 *)&out[i / 8][i % 8 * 8];
}

extern "C" __global__ void gemm_s8(const signed char *a, const signed char *b, int *d, int n, int k) {
  const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
  a += (blockIdx.y * 16 + g) * k + 4 * t;
  b += (blockIdx.x * 8 + g) * k + 4 * t;
  int s[4] = {};
  for (int from = 0; from < k; from += 32) {
    const u32 *upper = (const u32 *)(a + from), *lower = (const u32 *)(a + from + 8 * k), *right = (const u32 *)(b + from);
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+r"(s[0]), "+r"(s[1]), "+r"(s[2]), "+r"(s[3])
                 : "r"(upper[0]), "r"(lower[0]), "r"(upper[4]), "r"(lower[4]), "r"(right[0]), "r"(right[4]));
  }
  d += (blockIdx.y * 16 + g) * n + blockIdx.x * 8 + 2 * t;
  *(int2 *)d = make_int2(s[0], s[1]);
  *(int2 *)(d + 8 * n) = make_int2(s[2], s[3]);
}
