// Collectives through the switch: each rank has its replica at `local` and all of them behind the multicast address `mc`.
typedef unsigned u32;
typedef unsigned long long u64;
#define EXPORT extern "C" __global__ void

// ---- barrier of all ranks: block b of every rank counts in word b of the flags

__device__ void meet(u32 *mc_flags, const u32 *flags, u32 want) {
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("fence.proxy.alias;" ::: "memory"); // for what was written through the other kind of address
        asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(mc_flags + blockIdx.x) : "memory");
        asm volatile("fence.proxy.alias;" ::: "memory"); // for the flag itself
        u32 seen;
        do asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flags + blockIdx.x) : "memory");
        while (seen < want);
    }
    __syncthreads();
}

EXPORT barriers(u32 *mc_flags, const u32 *flags, u32 *mc, const u32 *local, u32 *out, int rank, int ranks, int rounds) {
    u32 t = threadIdx.x, wrong = 0;
    for (int round = 1; round <= rounds; round++) {
        if (t < ranks && t == rank) asm volatile("multimem.st.relaxed.sys.global.u32 [%0], %1;" ::"l"(mc + blockIdx.x * 32 + t), "r"(round * 100 + t) : "memory");
        meet(mc_flags, flags, (2 * round - 1) * ranks);
        if (t < ranks) wrong += *(volatile const u32 *)(local + blockIdx.x * 32 + t) != round * 100 + t;
        meet(mc_flags, flags, 2 * round * ranks);
    }
    if (t < ranks) out[blockIdx.x * 32 + t] = wrong;
}

// ---- one-shot all-reduce: each rank reduces all of it for itself

#define ONE_SHOT(name, type, constraint, form) \
    EXPORT one_shot_##name(const type *mc, type *out, int n) { \
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { \
            type v; \
            asm volatile("multimem.ld_reduce.relaxed.sys.global." form " %0, [%1];" : "=" constraint(v) : "l"(mc + i) : "memory"); \
            out[i] = v; \
        } \
    }
#define INTEGERS(name, type, constraint) \
    ONE_SHOT(name##_min, type, constraint, "min." #name) \
    ONE_SHOT(name##_max, type, constraint, "max." #name)
#define BITS(name, type, constraint) \
    ONE_SHOT(name##_and, type, constraint, "and." #name) \
    ONE_SHOT(name##_or, type, constraint, "or." #name) \
    ONE_SHOT(name##_xor, type, constraint, "xor." #name)
#define HALVES(name) \
    ONE_SHOT(name##_add, u32, "r", "add." #name) \
    ONE_SHOT(name##_wide, u32, "r", "add.acc::f32." #name) \
    ONE_SHOT(name##_min, u32, "r", "min." #name) \
    ONE_SHOT(name##_max, u32, "r", "max." #name)

ONE_SHOT(f32_add, float, "f", "add.f32")
ONE_SHOT(f64_add, double, "d", "add.f64")
ONE_SHOT(u32_add, u32, "r", "add.u32")
ONE_SHOT(s32_add, u32, "r", "add.s32")
ONE_SHOT(u64_add, u64, "l", "add.u64")
INTEGERS(u32, u32, "r")
INTEGERS(s32, u32, "r")
INTEGERS(u64, u64, "l")
INTEGERS(s64, u64, "l")
BITS(b32, u32, "r")
BITS(b64, u64, "l")
HALVES(f16x2)
HALVES(bf16x2)

// ---- two-shot all-reduce: each rank reduces its part and stores it everywhere

#define TWO_SHOT(name, type, constraint, load, store) \
    EXPORT two_shot_##name(type *mc, u32 *mc_flags, const u32 *flags, int n, int rank, int ranks, u32 epoch) { \
        meet(mc_flags, flags, (2 * epoch + 1) * ranks); \
        int part = n / ranks, first = rank * part; \
        for (int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4; i < part; i += gridDim.x * blockDim.x * 4) { \
            type a, b, c, d, *p = mc + first + i; \
            asm volatile("multimem.ld_reduce.relaxed.sys.global." load " {%0, %1, %2, %3}, [%4];" \
                         : "=" constraint(a), "=" constraint(b), "=" constraint(c), "=" constraint(d) : "l"(p) : "memory"); \
            asm volatile("multimem.st.relaxed.sys.global." store " [%0], {%1, %2, %3, %4};" \
                         ::"l"(p), constraint(a), constraint(b), constraint(c), constraint(d) : "memory"); \
        } \
        meet(mc_flags, flags, (2 * epoch + 2) * ranks); \
    }
TWO_SHOT(f32, float, "f", "add.v4.f32", "v4.f32")
TWO_SHOT(f16x2, u32, "r", "add.v4.f16x2", "v4.f16x2")
TWO_SHOT(bf16x2, u32, "r", "add.acc::f32.v4.bf16x2", "v4.bf16x2")

// ---- all-gather, reduce-scatter

EXPORT all_gather(const uint4 *shard, uint4 *mc, int n, int rank) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uint4 v = shard[i];
        asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(mc + rank * n + i),
                     "f"(__uint_as_float(v.x)), "f"(__uint_as_float(v.y)), "f"(__uint_as_float(v.z)), "f"(__uint_as_float(v.w)) : "memory");
    }
}

EXPORT reduce_scatter(const float *mc, float *out, int n, int rank) {
    for (int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2; i < n; i += gridDim.x * blockDim.x * 2)
        asm volatile("{ .reg .f32 a, b; multimem.ld_reduce.relaxed.sys.global.add.v2.f32 {a, b}, [%0]; st.global.v2.f32 [%1], {a, b}; }"
                     ::"l"(mc + rank * n + i), "l"(out + i) : "memory");
}

// Sums by the switch's own adders: every rank adds its values to all replicas.
EXPORT push_sums(const u32 *mine, u32 *mc, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], %1;" ::"l"(mc + i), "r"(mine[i]) : "memory");
}

// ---- exchange without a barrier: a word that is not -0.0 has come (as in the Lamport all-reduce of TensorRT-LLM)

EXPORT lamport(const float *mine, float *mc, volatile float *local, float *out, int n, int rank, int ranks, int rounds) {
    const u32 nothing = 0x80000000u;
    for (int round = 0; round < rounds; round++) {
        int buffer = round % 3 * ranks * n, clear = (round + 2) % 3 * ranks * n;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
            float v = mine[i] * (round + 1);
            if (__float_as_uint(v) == nothing) v = 0;
            asm volatile("multimem.st.relaxed.sys.global.f32 [%0], %1;" ::"l"(mc + buffer + rank * n + i), "f"(v) : "memory");
            float sum = 0;
            for (int r = 0; r < ranks; r++) {
                float seen;
                do seen = local[buffer + r * n + i]; while (__float_as_uint(seen) == nothing);
                sum += seen;
            }
            out[round * n + i] = sum;
            for (int r = 0; r < ranks; r++) local[clear + r * n + i] = __uint_as_float(nothing);
        }
    }
}
