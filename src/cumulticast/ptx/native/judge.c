/* Why an access is refused: in words, for the person who wrote the kernel. */
#include <stdio.h>

#include "memory.h"

static const char *const spaces[] = {"global", "generic", "shared", "local", "param"};

static uint32_t global_reason(const struct ptx_warp *warp, uint64_t address, uint32_t right, char *reason) {
    const uint8_t has = ptx_right_at(warp, address);
    const char *why = "nothing is mapped there";
    if (address < 4096) why = "that is a null pointer, or an index from one";
    else if (address >> PTX_ADDRESS_BITS) why = "no address has so many bits";
    else if (has & PTX_RIGHT_MULTICAST)
        why = "that is a multicast address, where ordinary accesses are undefined: use multimem instructions";
    else if (has & PTX_RIGHT_READ) why = "memory is mapped there, but this device may only read it (cuMemSetAccess)";
    else if (has) why = "memory is mapped there, but this device was given no access (cuMemSetAccess)";
    snprintf(reason, PTX_REASON_BYTES, "%s at 0x%llx: %s", right & PTX_RIGHT_WRITE ? "write" : "read",
             (unsigned long long)address, why);
    return PTX_ILLEGAL_ADDRESS;
}

static uint32_t window_reason(const struct ptx_warp *warp, uint32_t space, uint64_t address, uint32_t size, char *reason) {
    const struct ptx_launch_head *launch = warp->launch;
    const uint32_t limit = space == PTX_SHARED  ? launch->shared_size
                           : space == PTX_LOCAL ? launch->local_size
                                                : ((const struct ptx_launch *)warp->launch)->params_size;
    snprintf(reason, PTX_REASON_BYTES, "%u bytes at offset 0x%llx of %s memory, which has %u bytes", size,
             (unsigned long long)address, spaces[space], limit);
    /* An H200 has 715 for shared addresses that no block of the cluster could have. */
    return space == PTX_SHARED && address >> PTX_CLUSTER_SHIFT ? PTX_ILLEGAL_INSTRUCTION : PTX_ILLEGAL_ADDRESS;
}

/* A misaligned access where nothing is at all is 700 (H200: 2 bytes behind null), elsewhere 716. */
static int is_nowhere(const struct ptx_warp *warp, uint32_t space, uint32_t lane, uint64_t address, uint32_t size,
                      uint32_t right) {
    return space <= PTX_GENERIC && !ptx_right_at(warp, address) &&
           !ptx_place(warp, space, lane, address & ~(uint64_t)(size - 1), size, right);
}

uint32_t ptx_judge(const struct ptx_warp *warp, uint32_t space, uint32_t lane, uint64_t address, uint32_t size,
                   uint32_t right, char *reason) {
    reason[0] = 0;
    if (is_nowhere(warp, space, lane, address, size, right)) return global_reason(warp, address, right, reason);
    if (address & (size - 1)) {
        snprintf(reason, PTX_REASON_BYTES, "%u bytes at 0x%llx of %s memory, which is no multiple of %u", size,
                 (unsigned long long)address, spaces[space], size);
        return PTX_MISALIGNED_ADDRESS;
    }
    if (ptx_place(warp, space, lane, address, size, right)) return 0;
    if (space <= PTX_GENERIC) return global_reason(warp, address, right, reason);
    return window_reason(warp, space, address, size, reason);
}

_Noreturn void ptx_refuse(struct ptx_warp *warp, uint32_t number, uint32_t what, uint32_t lane, uint64_t address) {
    char reason[PTX_REASON_BYTES];
    uint32_t status = ptx_judge(warp, PTX_WHAT_SPACE(what), lane, address, PTX_WHAT_SIZE(what), PTX_WHAT_RIGHT(what), reason);
    ptx_fail(warp, number, status, lane, address, reason);
}
