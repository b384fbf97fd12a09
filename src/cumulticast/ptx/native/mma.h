/* mma, ldmatrix, stmatrix, movmatrix: what the 32 lanes of a warp do together with small matrices.
 *
 * Fragments lie register after register, 32 lanes each. With `lane` = 4 g + t, a register of elements of `bits` bits
 * holds E = 32 / bits of them (f64: one in 64 bits), and (PTX ISA, "Matrix Fragments for mma.m16n8k16" and its likes)
 *
 *   A  register r, element i: row g + 8 (r % halves), column 4E (r / halves) + E t + i      halves = m / 8
 *   B  register r, element i: row 4E r + E t + i, column g
 *   C  row g + 8 (half), columns 2t and 2t + 1: of 32 and 64 bits registers 2 half and 2 half + 1, f16 one register
 *
 * so that element (g, 2t + j) of a half of C or D is number 2 lane + j. m8n8k4 of f16 alone is laid out otherwise. */
#ifndef PTX_MMA_H
#define PTX_MMA_H
#include "memory.h"

/* Types of elements, numbered as TYPES in lower/mma_forms.py. */
enum mma_type { MMA_F16, MMA_BF16, MMA_TF32, MMA_E4M3, MMA_E5M2, MMA_S8, MMA_U8, MMA_S4, MMA_U4, MMA_F32, MMA_S32, MMA_F64, MMA_B1 };

/* What an mma is, in one word, made by code() in lower/mma_forms.py. */
#define MMA_A(code) ((code) & 15u)
#define MMA_B(code) ((code) >> 4 & 15u)
#define MMA_C(code) ((code) >> 8 & 15u)
#define MMA_D(code) ((code) >> 12 & 15u)
#define MMA_HALVES(code) ((code) >> 16 & 3u)
#define MMA_BLOCKS(code) ((code) >> 18 & 7u) /* k in registers of B */
#define MMA_OPTION(code) ((code) >> 21 & 3u)

/* MMA_OPTION: of integers, of single bits, of f64, and of m8n8k4 which matrices lie by columns. */
enum { MMA_SATURATES = 1 };
enum { MMA_AND, MMA_XOR };
enum { MMA_NEAREST, MMA_TO_ZERO, MMA_DOWN, MMA_UP };
enum { MMA_A_COLUMNS = 1, MMA_B_COLUMNS = 2 };

#define MMA_MOST_K 64
#define MMA_MOST_A (16 * MMA_MOST_K)
#define MMA_MOST_B (8 * MMA_MOST_K)

/* Elements of 32 bits. */
static inline uint32_t mma_elements(enum mma_type type) {
    static const uint8_t elements[] = {2, 2, 1, 4, 4, 4, 4, 8, 8, 1, 1, 1, 32};
    return elements[type];
}

/* For one instruction set of the CPU. `decode`: registers of a type to floats, element after element (register by
 * register) of 32 lanes each. `multiply`: from that, sum[half][g][n]. */
struct mma_kernels {
    void (*decode)(enum mma_type type, const uint32_t *registers, uint32_t count, float *element);
    void (*multiply)(const float *a, const float *b, float *sum, uint32_t elements, uint32_t blocks, uint32_t halves);
    void (*multiply_double)(const double *a, const double *b, const double *c, double *d, uint32_t blocks, uint32_t halves);
};
const struct mma_kernels *mma_kernels(void);

// cffi
/* Take the arithmetic of one instruction set, ascending: ENOSYS when the CPU lacks it, ERANGE when there is none. */
int mma_use_kernels(size_t index);
// end

/* Tell whether there is anything to do; a warp of which only a part is here ends the kernel. */
int mma_begins(struct ptx_warp *warp, uint32_t number, uint32_t active);
#endif
