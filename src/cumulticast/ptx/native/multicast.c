/* Multicast address → replicas, and why there are none. */
#include "multicast.h"

#include <stdio.h>

static struct ptx_multicast *table_of(const struct ptx_warp *warp) {
    const struct ptx_launch *launch = warp->launch;
    return launch->head.multicast ? launch->head.multicast : launch->withheld;
}

static int holds(const struct ptx_segment *segment, uint64_t address, uint32_t size) {
    return address >= segment->begin && address < segment->end && size <= segment->end - address;
}

/* The last segment that begins at or below an address. */
static uint64_t search(const struct ptx_multicast *table, uint64_t address) {
    uint64_t low = 0, high = table->segment_count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (table->segments[middle].begin <= address) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

static const struct ptx_segment *look(struct ptx_multicast *table, uint64_t address, uint32_t size) {
    uint64_t guess = __atomic_load_n(&table->last, __ATOMIC_RELAXED);
    if (guess < table->segment_count && holds(&table->segments[guess], address, size)) return &table->segments[guess];
    guess = search(table, address);
    if (guess >= table->segment_count || !holds(&table->segments[guess], address, size)) return NULL;
    __atomic_store_n(&table->last, guess, __ATOMIC_RELAXED);
    return &table->segments[guess];
}

const struct ptx_segment *ptx_segment_of(const struct ptx_warp *warp, uint64_t address, uint32_t size) {
    struct ptx_multicast *table = table_of(warp);
    if (!table || !(ptx_right_at(warp, address) & PTX_RIGHT_MULTICAST)) return NULL;
    const struct ptx_segment *segment = look(table, address, size);
    if (!segment && table->refresh && table->refresh(table->context, address)) segment = look(table, address, size);
    return segment && segment->usable ? segment : NULL;
}

/* For machine code that works on one stretch itself; it knows where the fields are. */
const struct ptx_segment *ptx_even_segment(const struct ptx_warp *warp, uint64_t address, uint32_t size) {
    const struct ptx_segment *segment = ptx_segment_of(warp, address, size);
    return segment && !segment->bases ? segment : NULL;
}
_Static_assert(offsetof(struct ptx_segment, begin) == 0 && offsetof(struct ptx_segment, end) == 8 &&
                   offsetof(struct ptx_segment, base) == 16 && offsetof(struct ptx_segment, stride) == 24 &&
                   offsetof(struct ptx_segment, bases) == 32 && offsetof(struct ptx_segment, replicas) == 40 &&
                   offsetof(struct ptx_segment, usable) == 44 && sizeof(struct ptx_segment) == 48 &&
                   offsetof(struct ptx_multicast, segments) == 0 && offsetof(struct ptx_multicast, segment_count) == 8 &&
                   offsetof(struct ptx_multicast, last) == 32,
               "lower/multimem_ir.py counts on it");

static const struct ptx_hole *hole_at(const struct ptx_multicast *table, uint64_t address, uint32_t size) {
    for (uint64_t i = 0; i < table->hole_count; i++)
        if (table->holes[i].begin < address + size && address < table->holes[i].end) return &table->holes[i];
    return NULL;
}

static void unmapped_reason(const struct ptx_warp *warp, uint64_t address, char *reason) {
    const uint8_t has = ptx_right_at(warp, address);
    snprintf(reason, PTX_REASON_BYTES, "multimem at 0x%llx: %s", (unsigned long long)address,
             has ? "ordinary memory is mapped there, and multimem needs a multicast address" : "nothing is mapped there");
}

static void unbound_reason(const struct ptx_warp *warp, uint64_t address, uint32_t size, char *reason) {
    struct ptx_multicast *table = table_of(warp);
    const struct ptx_segment *segment = table ? look(table, address, size) : NULL;
    const struct ptx_hole *hole = table ? hole_at(table, address, size) : NULL;
    const unsigned long long at = address;
    if (segment) snprintf(reason, PTX_REASON_BYTES, "multimem at 0x%llx: this device was given no access to it (cuMemSetAccess)", at);
    else if (hole) snprintf(reason, PTX_REASON_BYTES, "multimem at 0x%llx: device %u has no memory bound there", at, hole->device);
    else snprintf(reason, PTX_REASON_BYTES, "multimem at 0x%llx: no memory is bound there", at);
}

uint32_t ptx_judge_multimem(const struct ptx_warp *warp, uint64_t address, uint32_t size, char *reason) {
    reason[0] = 0;
    if (address & (size - 1)) {
        snprintf(reason, PTX_REASON_BYTES, "multimem of %u bytes at 0x%llx, which is no multiple of %u", size,
                 (unsigned long long)address, size);
        return PTX_MISALIGNED_ADDRESS;
    }
    if (ptx_segment_of(warp, address, size)) return 0;
    if (ptx_right_at(warp, address) & PTX_RIGHT_MULTICAST) unbound_reason(warp, address, size, reason);
    else unmapped_reason(warp, address, reason);
    return PTX_ILLEGAL_ADDRESS;
}

const struct ptx_segment *ptx_segment(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint64_t address, uint32_t size) {
    const struct ptx_segment *segment = address & (size - 1) ? NULL : ptx_segment_of(warp, address, size);
    if (segment) return segment;
    char reason[PTX_REASON_BYTES];
    uint32_t status = ptx_judge_multimem(warp, address, size, reason);
    ptx_fail(warp, number, status, lane, address, reason);
}
