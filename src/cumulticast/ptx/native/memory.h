/* Accesses to memory that machine code does not carry out itself, and every fault of an access. */
#ifndef PTX_MEMORY_H
#define PTX_MEMORY_H
#include <string.h>

#include "runtime.h"

#define PTX_GRANULE ((uint64_t)1 << PTX_RIGHTS_SHIFT)
#define PTX_REASON_BYTES 512
/* The blocks of a cluster see each other's shared memory: at addresses whose bits from here on are the rank plus one. */
#define PTX_CLUSTER_SHIFT 24

// cffi
/* State spaces, numbered as class Space in lower/access_ir.py. */
enum { PTX_GLOBAL, PTX_GENERIC, PTX_SHARED, PTX_LOCAL, PTX_PARAM };

#define PTX_ILLEGAL_ADDRESS 700
#define PTX_ILLEGAL_INSTRUCTION 715
#define PTX_MISALIGNED_ADDRESS 716
#define PTX_LAUNCH_FAILED 719

/* Answer the status (0: it is allowed) of an access of `size` bytes, and why, in `reason` (512 bytes).
 * `right` is PTX_RIGHT_READ, PTX_RIGHT_WRITE, or both. `address` counts as its space does. */
uint32_t ptx_judge(const struct ptx_warp *warp, uint32_t space, uint32_t lane, uint64_t address, uint32_t size,
                   uint32_t right, char *reason);
// end

/* Answer the bits PTX_RIGHT_… of the granule that holds an address; 0: nothing is there. */
static inline uint8_t ptx_right_at(const struct ptx_warp *warp, uint64_t address) {
    const uint8_t *rights = warp->adversary ? ((const struct ptx_launch *)warp->launch)->rights : warp->rights;
    return address >> PTX_ADDRESS_BITS ? 0 : rights[address >> PTX_RIGHTS_SHIFT];
}

/* What an access is, in one word: its space, bytes of a lane, right, whether it is strong. */
#define PTX_WHAT_SPACE(what) ((what) & 255u)
#define PTX_WHAT_SIZE(what) ((what) >> 8 & 255u)
#define PTX_WHAT_RIGHT(what) ((what) >> 16 & 255u)
#define PTX_WHAT_STRONG(what) ((what) >> 24 & 1u)

/* Walk over the lanes of a mask, ascending. */
#define PTX_EACH_LANE(lane, active) \
    for (uint32_t lanes_##lane = (active), lane; lanes_##lane && (lane = (uint32_t)__builtin_ctz(lanes_##lane), 1); \
         lanes_##lane &= lanes_##lane - 1)

/* Another block's shared memory, by its rank in the cluster; NULL when there is no such block. */
char *ptx_cluster_shared(struct ptx_warp *warp, uint32_t rank);

/* The same, for any block of the cluster. */
static inline char *ptx_block_shared(const struct ptx_warp *warp, uint32_t rank) {
    return rank == warp->cluster_ctarank ? warp->shared : ptx_cluster_shared((struct ptx_warp *)warp, rank);
}

/* Tell whether the device has memory of its own, or of another device, at an address: neither shared nor local. */
int ptx_is_global(const struct ptx_warp *warp, uint64_t address);

/* Answer the host address of an aligned access, NULL when it is not allowed. */
char *ptx_place(const struct ptx_warp *warp, uint32_t space, uint32_t lane, uint64_t address, uint32_t size,
                uint32_t right);

/* End the kernel for an access that ptx_judge refuses. */
_Noreturn void ptx_refuse(struct ptx_warp *warp, uint32_t number, uint32_t what, uint32_t lane, uint64_t address);

/* Write with one instruction of the host: another thread may wait for the value. */
static inline void ptx_put(char *place, const void *data, uint32_t size) {
    switch (size) {
    case 1: __atomic_store_n(place, *(const char *)data, __ATOMIC_RELAXED); break;
    case 2: __atomic_store_n((uint16_t *)place, *(const uint16_t *)data, __ATOMIC_RELAXED); break;
    case 4: __atomic_store_n((uint32_t *)place, *(const uint32_t *)data, __ATOMIC_RELAXED); break;
    case 8: __atomic_store_n((uint64_t *)place, *(const uint64_t *)data, __ATOMIC_RELAXED); break;
    default: memcpy(place, data, size);
    }
}

/* Whether other threads can see what a lane writes there: neither its local memory nor a parameter. */
int ptx_is_common(const struct ptx_warp *warp, uint32_t space, uint32_t lane, const char *place);

/* Answer the host addresses of the active lanes' accesses, all of them allowed, without touching memory. */
void ptx_allowed(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, const uint64_t *address,
                 char **place);

/* Answer the host addresses of the active lanes' accesses, all of them allowed; ends the kernel otherwise. */
void ptx_places(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, const uint64_t *address,
                char **place);
#endif
