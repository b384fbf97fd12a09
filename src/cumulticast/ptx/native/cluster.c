/* mapa and getctarank: addresses in the shared memory of other blocks of the cluster. */
#include <stdio.h>

#include "memory.h"

static uint32_t blocks_of(const struct ptx_warp *warp) {
    const struct ptx_launch_head *launch = warp->launch;
    return launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
}

/* The block whose shared memory holds a generic address; the number of blocks when none does. */
static uint32_t rank_of(struct ptx_warp *warp, uint64_t address) {
    const uint32_t size = ((const struct ptx_launch_head *)warp->launch)->shared_size, blocks = blocks_of(warp);
    for (uint32_t rank = 0; rank < blocks; rank++)
        if (address - (uintptr_t)ptx_block_shared(warp, rank) < size) return rank;
    return blocks;
}

static _Noreturn void refuse(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint64_t address, const char *why) {
    char reason[PTX_REASON_BYTES];
    snprintf(reason, sizeof reason, "0x%llx: %s", (unsigned long long)address, why);
    ptx_fail(warp, number, PTX_ILLEGAL_ADDRESS, lane, address, reason);
}

void ptx_mapa(struct ptx_warp *warp, uint32_t number, uint32_t active, const uint64_t *address, const uint32_t *rank,
              uint64_t *result) {
    PTX_EACH_LANE(lane, active) {
        const uint32_t own = rank_of(warp, address[lane]);
        if (own == blocks_of(warp)) refuse(warp, number, lane, address[lane], "no shared memory of this cluster");
        if (rank[lane] >= blocks_of(warp)) refuse(warp, number, lane, address[lane], "mapa to a block that the cluster lacks");
        const uint64_t offset = address[lane] - (uintptr_t)ptx_block_shared(warp, own);
        result[lane] = (uintptr_t)ptx_block_shared(warp, rank[lane]) + offset;
    }
}

void ptx_getctarank(struct ptx_warp *warp, uint32_t number, uint32_t active, const uint64_t *address, uint32_t *result) {
    PTX_EACH_LANE(lane, active) {
        result[lane] = rank_of(warp, address[lane]);
        if (result[lane] == blocks_of(warp)) refuse(warp, number, lane, address[lane], "no shared memory of this cluster");
    }
}
