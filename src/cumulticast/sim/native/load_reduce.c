/* multimem.ld_reduce: one element-wise result from all replicas, by the widest instruction set of the CPU. */
#include <errno.h>

#include "elements.h"
#include "native.h"

#ifndef BLOCK_BYTES
#define BLOCK_BYTES 8192
#endif
#define FOUR(T, replica, stride) \
    const T *a = (const T *)(replica), *b = (const T *)((replica) + (stride)), \
            *c = (const T *)((replica) + 2 * (stride)), *d = (const T *)((replica) + 3 * (stride));

#define TARGET
#define VARIANT(name) baseline_##name
#include "load_reduce_kernels.h"
#undef TARGET
#undef VARIANT

/* Chosen at run time rather than by target_clones: that needs ifunc (glibc) and a recent gcc for avx512bw. */
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define VARIANT(name) avx2_##name
#include "load_reduce_kernels.h"
#undef TARGET
#undef VARIANT
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define VARIANT(name) avx512_##name
#include "load_reduce_kernels.h"
#undef TARGET
#undef VARIANT
#endif

typedef int (*kernel)(char *, const char *, size_t, size_t, size_t, int, int);

static int always(void) { return 1; }
#if defined(__x86_64__)
static int has_avx2(void) { return __builtin_cpu_supports("avx2") != 0; }
static int has_avx512(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

/* Ascending: the last one that the CPU has is used. */
static const struct { const char *name; kernel act; int (*here)(void); } kernels[] = {
    {"baseline", baseline_load_reduce, always},
#if defined(__x86_64__)
    {"avx2", avx2_load_reduce, has_avx2},
    {"avx512", avx512_load_reduce, has_avx512},
#endif
};
static size_t chosen;

int multimem_use_kernels(size_t index) {
    if (index >= sizeof kernels / sizeof *kernels) return ERANGE;
    if (!kernels[index].here()) return ENOSYS;
    __atomic_store_n(&chosen, index, __ATOMIC_RELAXED);
    return 0;
}

const char *multimem_kernels(void) { return kernels[__atomic_load_n(&chosen, __ATOMIC_RELAXED)].name; }

__attribute__((constructor)) static void use_the_widest(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
    for (size_t i = 0; multimem_use_kernels(i) != ERANGE; i++) continue;
}

int multimem_load_reduce(uintptr_t dst, uintptr_t base, size_t stride, size_t n, size_t count, int element, int operation) {
    if (element < 0 || element >= ELEMENTS || operation < 0 || operation >= OPERATIONS || n == 0) return EINVAL;
    if ((dst | base | (n > 1 ? stride : 0)) % ELEMENT_SIZE(element)) return EINVAL;
    kernel load_reduce = kernels[__atomic_load_n(&chosen, __ATOMIC_RELAXED)].act;
    return load_reduce((char *)dst, (const char *)base, stride, n, count, element, operation);
}
