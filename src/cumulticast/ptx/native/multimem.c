/* multimem.ld_reduce, multimem.st, multimem.red: replicas in ascending order. */
#include "multicast.h"
#include "small_floats.h"

/* The segment when all lanes are on and make one stretch within one segment, evenly apart. */
static const struct ptx_segment *whole(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t size,
                                       const uint64_t *address) {
    uint64_t differ = (uint64_t)(active != UINT32_MAX) | (address[0] & (size - 1));
    for (uint64_t lane = 0; lane < PTX_LANES; lane++) differ |= address[lane] ^ (address[0] + lane * size);
    warp->instruction = number;
    if (differ) return NULL;
    const struct ptx_segment *segment = ptx_segment_of(warp, address[0], size * PTX_LANES);
    return segment && !segment->bases ? segment : NULL;
}

/* ---- st */

static inline void put(char *place, const char *data, uint32_t size) {
    switch (size) { /* one instruction each: another thread may wait for the value */
    case 1: __atomic_store_n(place, *data, __ATOMIC_RELAXED); break;
    case 2: __atomic_store_n((uint16_t *)place, *(const uint16_t *)data, __ATOMIC_RELAXED); break;
    case 4: __atomic_store_n((uint32_t *)place, *(const uint32_t *)data, __ATOMIC_RELAXED); break;
    case 8: __atomic_store_n((uint64_t *)place, *(const uint64_t *)data, __ATOMIC_RELAXED); break;
    default: memcpy(place, data, size);
    }
}

/* Lanes that are not one stretch: that is machine code's own. */
void ptx_multimem_store(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, const uint64_t *address,
                        const void *data) {
    const uint32_t size = PTX_WHAT_SIZE(what);
    warp->instruction = number;
    PTX_EACH_LANE(lane, active) {
        const struct ptx_segment *segment = ptx_segment(warp, number, lane, address[lane], size);
        for (uint32_t i = 0; i < segment->replicas; i++)
            put(ptx_replica(segment, address[lane], i), (const char *)data + lane * size, size);
    }
}

/* ---- ld_reduce */

static float better(float a, float b, uint32_t operation) {
    if (operation == OPERATION_ADD) return a + b;
    if (a != a || b != b) return a != a ? b : a; /* a number wins over NaN */
    const int a_first = a < b || (a == b && bits_of(a) >> 31);
    return a_first == (operation == OPERATION_MIN) ? a : b;
}

/* 8-bit floats: rare, so one by one. Sums are taken in float, which .acc::f16 allows, and rounded once. */
static void reduce_small(uint8_t *result, const char *base, size_t stride, size_t replicas, size_t count,
                         struct small_format format, uint32_t operation) {
    for (size_t j = 0; j < count; j++) {
        float sum = float_of_small((uint8_t)base[j], format);
        for (size_t i = 1; i < replicas; i++)
            sum = better(sum, float_of_small((uint8_t)base[i * stride + j], format), operation);
        result[j] = small_of_float(sum, format);
    }
}

static void reduce(uint32_t code, void *result, const char *base, size_t stride, size_t replicas, size_t count) {
    const uint32_t element = PTX_CODE_ELEMENT(code), operation = PTX_CODE_OPERATION(code);
    if (element >= PTX_E4M3)
        reduce_small(result, base, stride, replicas, count, element == PTX_E4M3 ? e4m3 : e5m2, operation);
    else
        multimem_load_reduce((uintptr_t)result, (uintptr_t)base, stride, replicas, count, (int)element, (int)operation);
}

/* Replicas at uneven distances: side by side first. */
static void reduce_uneven(uint32_t code, char *result, const struct ptx_segment *segment, uint64_t address, uint32_t size) {
    char side[segment->replicas][size] __attribute__((aligned(32)));
    for (uint32_t i = 0; i < segment->replicas; i++) memcpy(side[i], ptx_replica(segment, address, i), size);
    reduce(code, result, side[0], size, segment->replicas, PTX_CODE_COUNT(code));
}

void ptx_multimem_load(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint32_t code,
                       const uint64_t *address, void *data) {
    const uint32_t size = PTX_WHAT_SIZE(what), count = PTX_CODE_COUNT(code);
    const struct ptx_segment *segment = whole(warp, number, active, size, address);
    if (segment) {
        reduce(code, data, ptx_replica(segment, address[0], 0), segment->stride, segment->replicas, count * PTX_LANES);
        return;
    }
    PTX_EACH_LANE(lane, active) {
        char *result = (char *)data + lane * size;
        segment = ptx_segment(warp, number, lane, address[lane], size);
        if (segment->bases) reduce_uneven(code, result, segment, address[lane], size);
        else reduce(code, result, ptx_replica(segment, address[lane], 0), segment->stride, segment->replicas, count);
    }
}

/* ---- red */

void ptx_multimem_red(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint32_t code,
                      const uint64_t *address, const void *data) {
    const struct ptx_segment *segment[PTX_LANES];
    char *place[PTX_LANES];
    uint32_t most = 0;
    warp->instruction = number;
    PTX_EACH_LANE(lane, active) {
        segment[lane] = ptx_segment(warp, number, lane, address[lane], PTX_WHAT_SIZE(what));
        if (segment[lane]->replicas > most) most = segment[lane]->replicas;
    }
    for (uint32_t i = 0; i < most; i++) {
        uint32_t lanes = 0;
        PTX_EACH_LANE(lane, active) if (i < segment[lane]->replicas) {
            place[lane] = ptx_replica(segment[lane], address[lane], i);
            lanes |= 1u << lane;
        }
        ptx_act(code, lanes, place, data, NULL, NULL);
    }
}
