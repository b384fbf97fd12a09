/* multimem.ld_reduce, multimem.st, multimem.red: replicas in ascending order. */
#include "adversary.h"
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

/* Each replica is written by itself, and so late by itself. */
static void write_late(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint32_t what, uint32_t code,
                       uint64_t address, char *place, const char *data) {
    const uint32_t writes = (what & 0xff00ffffu) | PTX_RIGHT_WRITE << 16;
    adversary_touch_replica(warp, number, 1u << lane, writes, address, place);
    adversary_write(warp, number, 1u << lane, writes, code, address, place, data);
}

/* Lanes that are not one stretch: that is machine code's own. */
void ptx_multimem_store(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, const uint64_t *address,
                        const void *data) {
    const uint32_t size = PTX_WHAT_SIZE(what);
    warp->instruction = number;
    PTX_EACH_LANE(lane, active) {
        const struct ptx_segment *segment = ptx_segment(warp, number, lane, address[lane], size);
        for (uint32_t i = 0; i < segment->replicas; i++) {
            char *place = ptx_replica(segment, address[lane], i);
            const char *own = (const char *)data + lane * size;
            if (warp->adversary) write_late(warp, number, lane, what, PTX_COPY, address[lane], place, own);
            else ptx_put(place, own, size);
        }
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

/* What the lanes have to see of all replicas is carried out. */
static void touch(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, const uint64_t *address) {
    PTX_EACH_LANE(lane, active) {
        const struct ptx_segment *segment = ptx_segment(warp, number, lane, address[lane], PTX_WHAT_SIZE(what));
        for (uint32_t i = 0; i < segment->replicas; i++)
            adversary_touch_replica(warp, number, 1u << lane, what, address[lane], ptx_replica(segment, address[lane], i));
    }
}

void ptx_multimem_load(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint32_t code,
                       const uint64_t *address, void *data) {
    const uint32_t size = PTX_WHAT_SIZE(what), count = PTX_CODE_COUNT(code);
    if (warp->adversary) touch(warp, number, active, what, address);
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
            if (warp->adversary)
                write_late(warp, number, lane, what, code, address[lane], place[lane],
                           (const char *)data + lane * PTX_WHAT_SIZE(what));
        }
        if (!warp->adversary) ptx_act(code, lanes, place, data, NULL, NULL);
    }
}
