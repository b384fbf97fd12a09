/* The same traffic as the all-reduce kernel in plain C: sum `count` replicas and write the sum to all of them. */
#include <pthread.h>
#include <stddef.h>

struct part {
    float *base;
    size_t stride, begin, end;
    int count;
    pthread_t thread;
};

static void *reduce(void *given) {
    struct part *part = given;
    enum { STEP = 128 };
    for (size_t at = part->begin; at < part->end; at += STEP) {
        float sum[STEP];
        for (int i = 0; i < STEP; i++) sum[i] = part->base[at + i];
        for (int r = 1; r < part->count; r++)
            for (int i = 0; i < STEP; i++) sum[i] += part->base[r * part->stride + at + i];
        for (int r = 0; r < part->count; r++)
            for (int i = 0; i < STEP; i++) part->base[r * part->stride + at + i] = sum[i];
    }
    return NULL;
}

/* Distances and sizes in floats. */
void all_reduce(float *base, size_t stride, int count, size_t size, int threads) {
    struct part parts[64];
    for (int t = 0; t < threads; t++) {
        parts[t] = (struct part){ base, stride, size / threads * t, size / threads * (t + 1), count, 0 };
        pthread_create(&parts[t].thread, NULL, reduce, &parts[t]);
    }
    for (int t = 0; t < threads; t++) pthread_join(parts[t].thread, NULL);
}
