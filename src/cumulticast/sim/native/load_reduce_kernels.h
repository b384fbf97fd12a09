/* multimem.ld_reduce for one instruction set; load_reduce.c includes this once per set, with TARGET and
 * VARIANT() defined.
 *
 * A block of partial sums stays in the L1 cache while the replicas pass by, four at a time: the order of the
 * additions is ascending, few streams run at once (the hardware prefetchers follow them), and the result is
 * written after every replica was read, so dst may be one of the replicas themselves. */

#define DEFINE(element, operation, T, A, LOAD, COMBINE, FINISH) \
    TARGET static void VARIANT(element##_##operation)(T *dst, const char *base, size_t stride, size_t n, size_t count) { \
        A acc[BLOCK_BYTES / sizeof(A)] __attribute__((aligned(64))); \
        const size_t block = sizeof acc / sizeof *acc; \
        for (size_t start = 0; start < count; start += block) { \
            const size_t m = count - start < block ? count - start : block; \
            const char *replica = base + start * sizeof(T); \
            size_t left = n; \
            if (n % 4 == 0) { \
                FOUR(T, replica, stride) \
                for (size_t i = 0; i < m; i++) \
                    acc[i] = COMBINE(COMBINE(COMBINE(LOAD(a[i]), LOAD(b[i])), LOAD(c[i])), LOAD(d[i])); \
                left -= 4, replica += 4 * stride; \
            } else { \
                const T *a = (const T *)replica; \
                for (size_t i = 0; i < m; i++) acc[i] = LOAD(a[i]); \
                left -= 1, replica += stride; \
            } \
            for (; left % 4; left--, replica += stride) { \
                const T *a = (const T *)replica; \
                for (size_t i = 0; i < m; i++) { A x = LOAD(a[i]); acc[i] = COMBINE(acc[i], x); } \
            } \
            for (; left; left -= 4, replica += 4 * stride) { \
                FOUR(T, replica, stride) \
                for (size_t i = 0; i < m; i++) { \
                    A w = LOAD(a[i]), x = LOAD(b[i]), y = LOAD(c[i]), z = LOAD(d[i]), sum = acc[i]; \
                    sum = COMBINE(sum, w); sum = COMBINE(sum, x); sum = COMBINE(sum, y); acc[i] = COMBINE(sum, z); \
                } \
            } \
            for (size_t i = 0; i < m; i++) dst[start + i] = FINISH(acc[i]); \
        } \
    }
ALL_PAIRS(DEFINE)
#undef DEFINE

TARGET static int VARIANT(load_reduce)(char *dst, const char *base, size_t stride, size_t n, size_t count, int element,
                                       int operation) {
    switch (element * OPERATIONS + operation) {
#define CASE(element, operation, T, A, LOAD, COMBINE, FINISH) \
    case ELEMENT_##element * OPERATIONS + OPERATION_##operation: \
        VARIANT(element##_##operation)((T *)dst, base, stride, n, count); \
        return 0;
        ALL_PAIRS(CASE)
#undef CASE
    }
    return EINVAL;
}
