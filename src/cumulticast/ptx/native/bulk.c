/* Copies of stretches: cp.async, cp.async.bulk, cp.reduce.async.bulk and their multicast forms, st.bulk. They are carried
 * out at once, which PTX allows: nobody may look at the destination before the copy is said to be complete. */
#include <stdio.h>

#include "adversary.h"
#include "mbarrier.h"
#include "multicast.h"

#define CHUNK 16 /* bulk copies: what size and addresses are multiples of */

static _Noreturn void refuse_chunk(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint64_t address, uint32_t size) {
    char reason[PTX_REASON_BYTES];
    snprintf(reason, sizeof reason, "bulk copy of %u bytes at 0x%llx: address and size have to be multiples of %u", size,
             (unsigned long long)address, CHUNK);
    ptx_fail(warp, number, PTX_MISALIGNED_ADDRESS, lane, address, reason);
}

/* Answer where a stretch lies; every chunk of it has to be allowed. */
static char *stretch(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint32_t space, uint64_t address,
                     uint32_t size, uint32_t right) {
    if (warp->adversary) adversary_settle(warp);
    if ((address | size) % CHUNK) refuse_chunk(warp, number, lane, address, size);
    char *place = ptx_place(warp, space, lane, address, CHUNK, right);
    for (uint64_t at = 0; place && at < size; at += CHUNK) {
        uint64_t here = address + at; /* rights are by granule: look at its first chunk and at the last of all */
        if (at && here % PTX_GRANULE && at + CHUNK < size) continue;
        if (!ptx_place(warp, space, lane, here, CHUNK, right)) {
            address = here;
            place = NULL;
        }
    }
    if (!place) ptx_refuse(warp, number, space | CHUNK << 8 | right << 16, lane, address);
    return place;
}

/* One lane's copy: `mask` says which bytes of every chunk are copied. */
static void copy(char *to, const char *from, uint32_t size, uint32_t mask) {
    if (mask == 0xffff) {
        memmove(to, from, size);
        return;
    }
    for (uint32_t i = 0; i < size; i++)
        if (mask >> i % CHUNK & 1) to[i] = from[i];
}

/* f32 sums are flushed: PTX ISA, "cp.reduce.async.bulk". The code's count has 16 bits. */
static void reduce(uint32_t code, char *to, const char *from, uint32_t size) {
    char *place[PTX_LANES];
    const uint32_t width = ptx_element_size(PTX_CODE_ELEMENT(code));
    for (uint32_t at = 0; at < size; at += CHUNK) {
        place[0] = to + at;
        ptx_act((code & 0xffff) | CHUNK / width << 16, 1, place, from + at, NULL, NULL);
    }
}

static void move(uint32_t code, char *to, const char *from, uint32_t size, uint32_t mask) {
    if (code == PTX_COPY) copy(to, from, size, mask);
    else reduce(code, to, from, size);
}

/* Other blocks of the cluster get a copy at the same offset, and their barrier counts it. */
static uint64_t in_block(uint64_t address, uint32_t rank) { return (address & 0xffffff) | (uint64_t)(rank + 1) << 24; }

static void to_blocks(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint64_t to, const char *from, uint32_t size,
                      uint64_t barrier, uint32_t blocks) {
    PTX_EACH_LANE(rank, blocks) {
        char *place = stretch(warp, number, lane, PTX_SHARED, in_block(to, rank), size, PTX_RIGHT_WRITE);
        memcpy(place, from, size);
        ptx_mbarrier_complete(warp, number, lane, PTX_SHARED, in_block(barrier, rank), size);
    }
}

void ptx_bulk(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t spaces, uint32_t code, uint32_t barriers,
              const uint64_t *to, const uint64_t *from, const uint32_t *size, const uint64_t *barrier, const uint32_t *mask) {
    const uint32_t source = spaces >> 8, target = spaces & 255;
    warp->instruction = number;
    PTX_EACH_LANE(lane, active) {
        if (!size[lane]) continue;
        const char *data = stretch(warp, number, lane, source, from[lane], size[lane], PTX_RIGHT_READ);
        if (barriers == PTX_BLOCKS) {
            to_blocks(warp, number, lane, to[lane], data, size[lane], barrier[lane], mask[lane]);
            continue;
        }
        const uint32_t right = PTX_RIGHT_WRITE | (code == PTX_COPY ? 0 : PTX_RIGHT_READ);
        move(code, stretch(warp, number, lane, target, to[lane], size[lane], right), data, size[lane], mask[lane]);
        if (barriers) ptx_mbarrier_complete(warp, number, lane, target, barrier[lane], size[lane]);
    }
}

void ptx_multimem_bulk(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t source, uint32_t code,
                       const uint64_t *to, const uint64_t *from, const uint32_t *size, const uint32_t *mask) {
    warp->instruction = number;
    PTX_EACH_LANE(lane, active) {
        if (!size[lane]) continue;
        const char *data = stretch(warp, number, lane, source, from[lane], size[lane], PTX_RIGHT_READ);
        if ((to[lane] | size[lane]) % CHUNK) refuse_chunk(warp, number, lane, to[lane], size[lane]);
        for (uint64_t at = 0, end; at < size[lane]; at = end) {
            const struct ptx_segment *segment = ptx_segment(warp, number, lane, to[lane] + at, CHUNK);
            end = segment->end - to[lane] < size[lane] ? segment->end - to[lane] : size[lane];
            for (uint32_t i = 0; i < segment->replicas; i++)
                move(code, ptx_replica(segment, to[lane] + at, i), data + at, (uint32_t)(end - at), mask[lane]);
        }
    }
}

/* cp.async with fewer source bytes than it writes: the rest is zero. */
void ptx_copy_some(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t to_what, uint32_t from_what,
                   const uint64_t *to, const uint64_t *from, const uint32_t *count) {
    const uint32_t size = PTX_WHAT_SIZE(to_what);
    char *target[PTX_LANES], *source[PTX_LANES];
    uint32_t reading = 0;
    PTX_EACH_LANE(lane, active) if (count[lane]) reading |= 1u << lane;
    ptx_places(warp, number, active, to_what, to, target);
    ptx_places(warp, number, reading, from_what, from, source);
    PTX_EACH_LANE(lane, active) {
        const uint32_t some = count[lane] < size ? count[lane] : size;
        if (some) memcpy(target[lane], source[lane], some);
        memset(target[lane] + some, 0, size - some);
    }
}

/* st.bulk: zeros. */
void ptx_fill(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t space, const uint64_t *to,
              const uint64_t *size) {
    warp->instruction = number;
    if (warp->adversary) adversary_settle(warp);
    PTX_EACH_LANE(lane, active) {
        const uint32_t what = space | 8u << 8 | PTX_RIGHT_WRITE << 16;
        for (uint64_t at = 0; at < size[lane]; at += 8) {
            char *place = (to[lane] | size[lane]) % 8 ? NULL : ptx_place(warp, space, lane, to[lane] + at, 8, PTX_RIGHT_WRITE);
            if (!place) ptx_refuse(warp, number, what, lane, to[lane] + at);
            memset(place, 0, 8);
        }
    }
}
