/* multimem.red.relaxed.sys: each element of each replica is read, changed and written in one atomic act. */
#include <errno.h>

#include "elements.h"
#include "native.h"

/* The source stays in the L1 cache while the replicas pass by. */
#define BLOCK_BYTES 16384

#define FETCH_ADD __atomic_fetch_add
#define FETCH_AND __atomic_fetch_and
#define FETCH_OR __atomic_fetch_or
#define FETCH_XOR __atomic_fetch_xor

#define DEFINE_FETCH(element, operation, T, A, LOAD, COMBINE, FINISH) \
    static void element##_##operation(char *replica, const char *src, size_t count) { \
        T *target = (T *)replica, operand; \
        for (size_t i = 0; i < count; i++) { \
            memcpy(&operand, src + i * sizeof operand, sizeof operand); \
            FETCH_##operation(&target[i], operand, __ATOMIC_RELAXED); \
        } \
    }
FETCH_PAIRS(DEFINE_FETCH)

#define WORD_float uint32_t
#define WORD_double uint64_t
#define WORD_uint16_t uint16_t
#define WORD_uint32_t uint32_t
#define WORD_int32_t uint32_t
#define WORD_uint64_t uint64_t
#define WORD_int64_t uint64_t

/* Bits are compared, never values: a NaN differs from itself and the loop would turn for ever. An element
 * that would not change is left alone: under relaxed order, writing the value already there cannot be told
 * from not writing. */
#define DEFINE_EXCHANGE(element, operation, T, A, LOAD, COMBINE, FINISH) \
    static void element##_##operation(char *replica, const char *src, size_t count) { \
        WORD_##T *target = (WORD_##T *)replica; \
        for (size_t i = 0; i < count; i++) { \
            T operand, held; \
            memcpy(&operand, src + i * sizeof operand, sizeof operand); \
            WORD_##T old = __atomic_load_n(&target[i], __ATOMIC_RELAXED), changed; \
            do { \
                memcpy(&held, &old, sizeof held); \
                A x = LOAD(held), y = LOAD(operand); \
                T result = (T)FINISH((A)COMBINE(x, y)); \
                memcpy(&changed, &result, sizeof changed); \
            } while (changed != old && \
                     !__atomic_compare_exchange_n(&target[i], &old, changed, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
        } \
    }
FLOAT_PAIRS(DEFINE_EXCHANGE)
ORDER_PAIRS(DEFINE_EXCHANGE)

typedef void (*kernel)(char *, const char *, size_t);

static kernel kernel_of(int element, int operation) {
    switch (element * OPERATIONS + operation) {
#define CASE(element, operation, T, A, LOAD, COMBINE, FINISH) \
    case ELEMENT_##element * OPERATIONS + OPERATION_##operation: \
        return element##_##operation;
        ALL_PAIRS(CASE)
    }
    return NULL;
}

int multimem_reduce(uintptr_t base, size_t stride, size_t n, uintptr_t src, size_t count, int element, int operation) {
    if (element < 0 || element >= ELEMENTS || operation < 0 || operation >= OPERATIONS || n == 0) return EINVAL;
    const size_t size = ELEMENT_SIZE(element), block = BLOCK_BYTES / size;
    kernel act = kernel_of(element, operation);
    if (!act || (base | (n > 1 ? stride : 0)) % size) return EINVAL;
    for (size_t start = 0; start < count; start += block) {
        size_t m = count - start < block ? count - start : block;
        for (size_t i = 0; i < n; i++)
            act((char *)base + i * stride + start * size, (const char *)src + start * size, m);
    }
    return 0;
}
