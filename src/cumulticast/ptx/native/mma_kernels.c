/* The arithmetic of mma, by the widest instruction set of the CPU. */
#include <errno.h>

#include "mma.h"
#include "../../sim/native/half.h"

/* The number that the low bits of a word mean. */
#define MMA_OF_F16(word) float_of_f16((uint16_t)(word))
#define MMA_OF_BF16(word) float_of_bf16((uint16_t)(word))
#define MMA_OF_TF32(word) float_of((word) & 0xffffe000u) /* the lower 13 bits are not looked at */
#define MMA_OF_E5M2(word) float_of_f16((uint16_t)((word) << 8)) /* the upper byte of an f16 */
#define MMA_OF_E4M3(word) of_e4m3(word)
#define MMA_OF_S8(word) (float)(int8_t)(word)
#define MMA_OF_U8(word) (float)(uint8_t)(word)
#define MMA_OF_S4(word) (float)((int32_t)((word) << 28) >> 28)
#define MMA_OF_U4(word) (float)((word) & 15u)

/* Its exponent is biased by 7 where a float's is by 127; a subnormal becomes one of a float, and normal again. */
static inline float of_e4m3(uint32_t word) {
    const uint32_t magnitude = word & 0x7fu;
    const float value = float_of(magnitude << 20) * 0x1p120f;
    return float_of((magnitude == 0x7fu ? F32_NAN : bits_of(value)) | (word & 0x80u) << 24);
}

typedef float mma_row __attribute__((vector_size(32)));

#define TARGET
#define VARIANT(name) baseline_##name
#include "mma_kernels.h"
#undef TARGET
#undef VARIANT
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define VARIANT(name) avx2_##name
#include "mma_kernels.h"
#undef TARGET
#undef VARIANT
#endif

static int always(void) { return 1; }
#if defined(__x86_64__)
static int has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

/* Ascending: the last one that the CPU has is used. */
static const struct { const struct mma_kernels *kernels; int (*here)(void); } sets[] = {
    {&baseline_kernels, always},
#if defined(__x86_64__)
    {&avx2_kernels, has_avx2},
#endif
};
static size_t chosen;

int mma_use_kernels(size_t index) {
    if (index >= sizeof sets / sizeof *sets) return ERANGE;
    if (!sets[index].here()) return ENOSYS;
    __atomic_store_n(&chosen, index, __ATOMIC_RELAXED);
    return 0;
}

const struct mma_kernels *mma_kernels(void) { return sets[__atomic_load_n(&chosen, __ATOMIC_RELAXED)].kernels; }

__attribute__((constructor)) static void use_the_widest(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
    for (size_t i = 0; mma_use_kernels(i) != ERANGE; i++) continue;
}
