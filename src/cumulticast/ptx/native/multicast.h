/* Multicast addresses: which replicas lie behind one. */
#ifndef PTX_MULTICAST_H
#define PTX_MULTICAST_H
#include "arithmetic.h"

// cffi
/* A stretch of multicast addresses behind which every replica is one stretch of memory. */
struct ptx_segment {
    uint64_t begin, end;
    uint64_t base, stride;   /* replica i of `begin` lies at base + i * stride */
    const uint64_t *bases;   /* where the distances differ: at bases[i]; else NULL */
    uint32_t replicas;       /* ascending device order */
    uint32_t usable;         /* whether this device may use it */
};

/* A stretch of multicast addresses where a device has no memory bound. */
struct ptx_hole {
    uint64_t begin, end;
    uint32_t device;
};

/* All multicast addresses of a process, as one device sees them. Segments ascend and do not overlap. */
struct ptx_multicast {
    const struct ptx_segment *segments;
    uint64_t segment_count;
    const struct ptx_hole *holes;
    uint64_t hole_count;
    uint64_t last;           /* the segment that was used last: a guess for the next access */
    /* Called for an address without a segment; not 0: the table was brought up to date, look again. May be NULL. */
    int (*refresh)(void *context, uint64_t address);
    void *context;
};

/* As ptx_judge, for a multimem access. */
uint32_t ptx_judge_multimem(const struct ptx_warp *warp, uint64_t address, uint32_t size, char *reason);
// end

/* Answer the segment that holds [address, address + size); NULL when there is none that this device may use. */
const struct ptx_segment *ptx_segment_of(const struct ptx_warp *warp, uint64_t address, uint32_t size);
/* Answer it, or end the kernel. */
const struct ptx_segment *ptx_segment(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint64_t address, uint32_t size);

static inline char *ptx_replica(const struct ptx_segment *segment, uint64_t address, uint32_t index) {
    uint64_t base = segment->bases ? segment->bases[index] : segment->base + index * segment->stride;
    return (char *)(uintptr_t)(base + (address - segment->begin));
}
#endif
