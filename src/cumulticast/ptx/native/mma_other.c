/* mma.sync of f64, of single bits, and m8n8k4 of f16: four small matrices, eight lanes each. */
#include <fenv.h>
#include <math.h>

#include "mma.h"
#include "../../sim/native/half.h"

/* ---- f64 */

static double quiet(double nan) {
    uint64_t bits;
    memcpy(&bits, &nan, sizeof bits);
    bits |= (uint64_t)1 << 51;
    memcpy(&nan, &bits, sizeof bits);
    return nan;
}

/* One step as the hardware does it with NaN: the multiplier's goes before the sum's, that before the multiplicand's. */
static double step(double a, double b, double sum) {
    if (b != b) return quiet(b);
    if (sum != sum) return quiet(sum);
    return a != a ? quiet(a) : fma(a, b, sum); /* the host's own NaN has the hardware's bits */
}

/* The processor's instructions may take operands in another order: what is not a number is done again, step by step. */
static void repeat_nan(const double *a, const double *b, const double *c, double *d, uint32_t blocks, uint32_t halves) {
    for (uint32_t i = 0; i < 64 * halves; i++) {
        if (d[i] == d[i]) continue;
        const uint32_t half = i / 64, g = i % PTX_LANES / 4, n = i % 4 * 2 + i / PTX_LANES % 2;
        double sum = c[i];
        for (uint32_t k = 0; k < 4 * blocks; k++)
            sum = step(a[(halves * (k / 4) + half) * PTX_LANES + 4 * g + k % 4], b[k / 4 * PTX_LANES + 4 * n + k % 4], sum);
        d[i] = sum;
    }
}

void ptx_mma_double(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t code, double *d, const double *a,
                    const double *b, const double *c) {
    static const int modes[] = {[MMA_NEAREST] = FE_TONEAREST, [MMA_TO_ZERO] = FE_TOWARDZERO, [MMA_DOWN] = FE_DOWNWARD,
                                [MMA_UP] = FE_UPWARD};
    if (!mma_begins(warp, number, active)) return;
    const uint32_t halves = MMA_HALVES(code), blocks = MMA_BLOCKS(code), mode = MMA_OPTION(code);
    if (mode != MMA_NEAREST) fesetround(modes[mode]);
    mma_kernels()->multiply_double(a, b, c, d, blocks, halves);
    repeat_nan(a, b, c, d, blocks, halves);
    if (mode != MMA_NEAREST) fesetround(FE_TONEAREST);
}

/* ---- single bits */

static uint32_t popc_row(const uint32_t *a, const uint32_t *b, uint32_t exclusive) {
    uint32_t found = 0;
    for (uint32_t t = 0; t < 4; t++) found += (uint32_t)__builtin_popcount(exclusive ? a[t] ^ b[t] : a[t] & b[t]);
    return found;
}

void ptx_mma_bits(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t code, uint32_t *d, const uint32_t *a,
                  const uint32_t *b, const uint32_t *c) {
    if (!mma_begins(warp, number, active)) return;
    const uint32_t halves = MMA_HALVES(code), blocks = MMA_BLOCKS(code), exclusive = MMA_OPTION(code) == MMA_XOR;
    for (uint32_t i = 0; i < 64 * halves; i++) {
        const uint32_t half = i / 64, lane = i % PTX_LANES, n = lane % 4 * 2 + i / PTX_LANES % 2;
        uint32_t sum = c[i];
        for (uint32_t block = 0; block < blocks; block++)
            sum += popc_row(a + (halves * block + half) * PTX_LANES + (lane & ~3u), b + block * PTX_LANES + 4 * n, exclusive);
        d[i] = sum;
    }
}

/* ---- m8n8k4 of f16 (PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point type")
 *
 * Matrix q belongs to lanes 4q to 4q + 3 and 4q + 16 to 4q + 19. A lane has a line of A and of B: of A a row, or with
 * columns half of one (rows of the lower or the upper lanes); of B the other way round. */

static inline float element_f16(const uint32_t *registers, uint32_t lane, uint32_t i) {
    return float_of_f16((uint16_t)(registers[i / 2 * PTX_LANES + lane] >> i % 2 * 16));
}

static inline uint32_t lane_of(uint32_t q, uint32_t member) { return 4 * q + member % 4 + member / 4 * 16; }

/* element[line][k], lines being rows of A or columns of B; `whole`: a lane has a line, not a fourth of all k's. */
static void assemble(const uint32_t *registers, uint32_t q, int whole, float element[8][4]) {
    for (uint32_t member = 0; member < 8; member++)
        for (uint32_t i = 0; i < 4; i++) {
            const float value = element_f16(registers, lane_of(q, member), i);
            if (whole) element[member][i] = value;
            else element[member / 4 * 4 + i][member % 4] = value;
        }
}

/* Row and column of accumulator i of a member: number 8 row + column. */
static inline uint32_t place_f32(uint32_t member, uint32_t i) {
    const uint32_t row = (member & 1) + (i & 2) + (member & 4), column = (i & 4) + (member & 2) + (i & 1);
    return 8 * row + column;
}

static void finish_quad(uint32_t code, uint32_t q, const float *sum, uint32_t *d, const uint32_t *c) {
    float total[64];
    for (uint32_t member = 0; member < 8; member++)
        for (uint32_t i = 0; i < 8; i++) {
            const uint32_t lane = lane_of(q, member), wide = place_f32(member, i), narrow = 8 * member + i;
            if (MMA_C(code) == MMA_F32) total[wide] = sum[wide] + float_of(c[i * PTX_LANES + lane]);
            else total[narrow] = sum[narrow] + element_f16(c, lane, i);
        }
    for (uint32_t member = 0; member < 8; member++)
        for (uint32_t i = 0; i < 8; i++) {
            const uint32_t lane = lane_of(q, member);
            if (MMA_D(code) == MMA_F32) d[i * PTX_LANES + lane] = bits_of(canonical_f32(total[place_f32(member, i)]));
            else ((uint16_t *)(d + i / 2 * PTX_LANES + lane))[i % 2] = f16_of_float(total[8 * member + i]);
        }
}

void ptx_mma_quads(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t code, uint32_t *d, const uint32_t *a,
                   const uint32_t *b, const uint32_t *c) {
    if (!mma_begins(warp, number, active)) return;
    for (uint32_t q = 0; q < 4; q++) {
        float left[8][4], right[8][4], sum[64] __attribute__((aligned(64)));
        assemble(a, q, !(MMA_OPTION(code) & MMA_A_COLUMNS), left);
        assemble(b, q, !!(MMA_OPTION(code) & MMA_B_COLUMNS), right);
        mma_kernels()->multiply(left[0], right[0], sum, 1, 1, 1);
        finish_quad(code, q, sum, d, c);
    }
}
