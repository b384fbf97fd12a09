/* mma.sync of everything but f64 and single bits: multiply as floats, then add C in the type of D. */
#include "mma.h"
#include "../../sim/native/half.h"

int mma_begins(struct ptx_warp *warp, uint32_t number, uint32_t active) {
    if (active && active != UINT32_MAX)
        ptx_fail(warp, number, 719, (uint32_t)__builtin_ctz(active), 0,
                 "only a part of the warp carries out a matrix instruction: .aligned asks for all 32 lanes (the behaviour "
                 "is undefined otherwise, and nothing is made up here)");
    return active != 0;
}

/* The accumulator's element j of a lane, and its half of a register. */
static inline float read_f16(const uint32_t *c, uint32_t half, uint32_t lane, uint32_t j) {
    return float_of_f16((uint16_t)(c[half * PTX_LANES + lane] >> 16 * j));
}

static void finish_f32(const float *sum, uint32_t *d, const uint32_t *c, uint32_t halves) {
    for (uint32_t half = 0; half < halves; half++, sum += 64, d += 64, c += 64)
        for (uint32_t j = 0; j < 2; j++)
            for (uint32_t lane = 0; lane < PTX_LANES; lane++)
                d[j * PTX_LANES + lane] = bits_of(canonical_f32(sum[2 * lane + j] + float_of(c[j * PTX_LANES + lane])));
}

static void finish_f16(const float *sum, uint32_t *d, const uint32_t *c, uint32_t halves) {
    for (uint32_t half = 0; half < halves; half++, sum += 64, d += 32)
        for (uint32_t lane = 0; lane < PTX_LANES; lane++) {
            const float low = sum[2 * lane] + read_f16(c, half, lane, 0), high = sum[2 * lane + 1] + read_f16(c, half, lane, 1);
            d[lane] = f16_of_float(low) | (uint32_t)f16_of_float(high) << 16;
        }
}

/* Without .satfinite sums wrap around. */
static inline uint32_t add_s32(uint32_t c, int32_t sum, uint32_t saturates) {
    int32_t total;
    if (!__builtin_add_overflow((int32_t)c, sum, &total) || !saturates) return (uint32_t)total;
    return sum < 0 ? (uint32_t)INT32_MIN : INT32_MAX;
}

static void finish_s32(const float *sum, uint32_t *d, const uint32_t *c, uint32_t halves, uint32_t saturates) {
    for (uint32_t half = 0; half < halves; half++, sum += 64, d += 64, c += 64)
        for (uint32_t j = 0; j < 2; j++)
            for (uint32_t lane = 0; lane < PTX_LANES; lane++)
                d[j * PTX_LANES + lane] = add_s32(c[j * PTX_LANES + lane], (int32_t)sum[2 * lane + j], saturates);
}

void ptx_mma(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t code, uint32_t *d, const uint32_t *a,
             const uint32_t *b, const uint32_t *c) {
    if (!mma_begins(warp, number, active)) return;
    const struct mma_kernels *kernels = mma_kernels();
    const uint32_t halves = MMA_HALVES(code), blocks = MMA_BLOCKS(code);
    float left[MMA_MOST_A] __attribute__((aligned(64))), right[MMA_MOST_B] __attribute__((aligned(64)));
    float sum[128] __attribute__((aligned(64)));
    kernels->decode(MMA_A(code), a, halves * blocks, left);
    kernels->decode(MMA_B(code), b, blocks, right);
    kernels->multiply(left, right, sum, mma_elements(MMA_A(code)), blocks, halves);
    if (MMA_D(code) == MMA_F32) finish_f32(sum, d, c, halves);
    else if (MMA_D(code) == MMA_F16) finish_f16(sum, d, c, halves);
    else finish_s32(sum, d, c, halves, MMA_OPTION(code) & MMA_SATURATES);
}
