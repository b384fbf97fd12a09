/* The arithmetic of mma for one instruction set; mma_kernels.c includes this once per set, with TARGET and VARIANT()
 * defined.
 *
 * Products of f16, bf16, tf32, 8-bit floats and 4- and 8-bit integers are exact in float (22 bits at most), barring
 * overflow and underflow. Sums begin with zero and take the products of ascending k, each rounded to float; those of
 * integers stay below 2^24 and are exact. No fused instruction is used: every CPU answers alike. */

#define DECODE(name, bits, value_of) \
    TARGET static void VARIANT(name)(const uint32_t *registers, uint32_t count, float *element) { \
        for (uint32_t r = 0; r < count; r++, registers += PTX_LANES) \
            for (uint32_t i = 0; i < 32 / bits; i++, element += PTX_LANES) \
                for (uint32_t lane = 0; lane < PTX_LANES; lane++) { \
                    const uint32_t word = registers[lane] >> bits % 32 * i; \
                    element[lane] = value_of(word); \
                } \
    }
DECODE(f16, 16, MMA_OF_F16)
DECODE(bf16, 16, MMA_OF_BF16)
DECODE(tf32, 32, MMA_OF_TF32)
DECODE(e4m3, 8, MMA_OF_E4M3)
DECODE(e5m2, 8, MMA_OF_E5M2)
DECODE(s8, 8, MMA_OF_S8)
DECODE(u8, 8, MMA_OF_U8)
DECODE(s4, 4, MMA_OF_S4)
DECODE(u4, 4, MMA_OF_U4)
#undef DECODE

TARGET static void VARIANT(decode)(enum mma_type type, const uint32_t *registers, uint32_t count, float *element) {
    static void (*const decoders[])(const uint32_t *, uint32_t, float *) = {
        VARIANT(f16), VARIANT(bf16), VARIANT(tf32), VARIANT(e4m3), VARIANT(e5m2),
        VARIANT(s8), VARIANT(u8), VARIANT(s4), VARIANT(u4),
    };
    decoders[type](registers, count, element);
}

/* Eight columns of one row at once. */
#define DEFINE_ROWS(name, T) \
    TARGET static void VARIANT(name)(const T *b, T (*row)[8], uint32_t elements, uint32_t blocks) { \
        for (uint32_t block = 0; block < blocks; block++) \
            for (uint32_t t = 0; t < 4; t++) \
                for (uint32_t i = 0; i < elements; i++, row++) \
                    for (uint32_t n = 0; n < 8; n++) (*row)[n] = b[(block * elements + i) * PTX_LANES + 4 * n + t]; \
    }
DEFINE_ROWS(rows, float)
DEFINE_ROWS(rows_double, double)
#undef DEFINE_ROWS

TARGET static void VARIANT(multiply)(const float *a, const float *b, float *sum, uint32_t elements, uint32_t blocks,
                                     uint32_t halves) {
    float rows[MMA_MOST_K][8] __attribute__((aligned(32)));
    VARIANT(rows)(b, rows, elements, blocks);
    for (uint32_t half = 0; half < halves; half++, sum += 64) {
        mma_row total[8] = {{0}};
        const float *row = rows[0];
        for (uint32_t block = 0; block < blocks; block++)
            for (uint32_t t = 0; t < 4; t++)
                for (uint32_t i = 0; i < elements; i++, row += 8) {
                    const float *column = a + ((halves * block + half) * elements + i) * PTX_LANES + t;
                    const mma_row right = *(const mma_row *)row;
#pragma GCC unroll 8
                    for (uint32_t g = 0; g < 8; g++) total[g] += column[4 * g] * right;
                }
        memcpy(sum, total, sizeof total);
    }
}

/* PTX ISA: "the precision of the element-wise multiplication and addition operation is identical to that of .f64
 * precision fused multiply-add". */
TARGET static void VARIANT(multiply_double)(const double *a, const double *b, const double *c, double *d, uint32_t blocks,
                                            uint32_t halves) {
    double rows[16][8] __attribute__((aligned(64)));
    VARIANT(rows_double)(b, rows, 1, blocks);
    for (uint32_t half = 0; half < halves; half++)
        for (uint32_t g = 0; g < 8; g++) {
            double total[8];
            for (uint32_t n = 0; n < 8; n++) total[n] = c[(2 * half + n % 2) * PTX_LANES + 4 * g + n / 2];
            for (uint32_t k = 0; k < 4 * blocks; k++) {
                const double left = a[(halves * (k / 4) + half) * PTX_LANES + 4 * g + k % 4];
                for (uint32_t n = 0; n < 8; n++) total[n] = __builtin_fma(left, rows[k][n], total[n]);
            }
            for (uint32_t n = 0; n < 8; n++) d[(2 * half + n % 2) * PTX_LANES + 4 * g + n / 2] = total[n];
        }
}

static const struct mma_kernels VARIANT(kernels) = {VARIANT(decode), VARIANT(multiply), VARIANT(multiply_double)};
