/* Loads and stores that are not one allowed stretch for a whole warp: lanes that are off, scattered addresses, faults. */
#include "adversary.h"
#include "arithmetic.h"

static const struct ptx_launch_head *launch_of(const struct ptx_warp *warp) { return warp->launch; }

uint32_t ptx_params_size(const struct ptx_warp *warp) { return ((const struct ptx_launch *)warp->launch)->params_size; }

static char *local_of(const struct ptx_warp *warp, uint32_t lane) {
    return (char *)warp->local + (size_t)lane * launch_of(warp)->local_size;
}

/* Whether [address, address + size) lies in [base, base + limit). */
static int within(uint64_t address, uint32_t size, const void *base, uint64_t limit) {
    uint64_t offset = address - (uintptr_t)base;
    return offset < limit && size <= limit - offset;
}

/* An access is aligned, so that it lies in one granule. RIGHT_MIXED: the host's MMU decides. */
static int global_allowed(const struct ptx_warp *warp, uint64_t address, uint32_t right) {
    const uint8_t has = ptx_right_at(warp, address);
    return (has & right) == right || (has & PTX_RIGHT_MIXED);
}

int ptx_is_global(const struct ptx_warp *warp, uint64_t address) { return ptx_right_at(warp, address) != 0; }

static char *shared_place(const struct ptx_warp *warp, uint64_t address, uint32_t size) {
    const uint32_t limit = launch_of(warp)->shared_size;
    uint64_t rank = address >> PTX_CLUSTER_SHIFT, offset = rank ? address & ((1u << PTX_CLUSTER_SHIFT) - 1) : address;
    if (offset > limit || size > limit - offset) return NULL;
    if (!rank) return (char *)warp->shared + offset;
    char *base = rank > UINT32_MAX ? NULL : ptx_block_shared(warp, (uint32_t)rank - 1);
    return base ? base + offset : NULL;
}

static int in_cluster(const struct ptx_warp *warp, uint64_t address, uint32_t size) {
    const struct ptx_launch_head *launch = launch_of(warp);
    const uint32_t blocks = launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
    for (uint32_t rank = 0; rank < blocks; rank++) {
        const char *base = ptx_block_shared(warp, rank);
        if (base && within(address, size, base, launch->shared_size)) return 1;
    }
    return 0;
}

static int generic_allowed(const struct ptx_warp *warp, uint32_t lane, uint64_t address, uint32_t size, uint32_t right) {
    const struct ptx_launch_head *launch = launch_of(warp);
    return global_allowed(warp, address, right) || within(address, size, warp->shared, launch->shared_size) ||
           within(address, size, local_of(warp, lane), launch->local_size) ||
           (right == PTX_RIGHT_READ && within(address, size, warp->params, ptx_params_size(warp))) ||
           in_cluster(warp, address, size);
}

static char *inside(char *base, uint64_t limit, uint64_t offset, uint32_t size) {
    return offset < limit && size <= limit - offset ? base + offset : NULL;
}

/* The host address of an aligned access, NULL when it is not allowed. */
char *ptx_place(const struct ptx_warp *warp, uint32_t space, uint32_t lane, uint64_t address, uint32_t size,
                uint32_t right) {
    switch (space) {
    case PTX_GLOBAL: return global_allowed(warp, address, right) ? (char *)(uintptr_t)address : NULL;
    case PTX_GENERIC: return generic_allowed(warp, lane, address, size, right) ? (char *)(uintptr_t)address : NULL;
    case PTX_SHARED: return shared_place(warp, address, size);
    case PTX_LOCAL: return inside(local_of(warp, lane), launch_of(warp)->local_size, address, size);
    default: return inside(warp->params, ptx_params_size(warp), address, size);
    }
}

int ptx_is_common(const struct ptx_warp *warp, uint32_t space, uint32_t lane, const char *place) {
    if (space != PTX_GENERIC) return space <= PTX_SHARED;
    const uint64_t address = (uintptr_t)place;
    return !within(address, 1, local_of(warp, lane), launch_of(warp)->local_size) &&
           !within(address, 1, warp->params, ptx_params_size(warp));
}

void ptx_allowed(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, const uint64_t *address,
                 char **place) {
    const uint32_t space = PTX_WHAT_SPACE(what), size = PTX_WHAT_SIZE(what), right = PTX_WHAT_RIGHT(what);
    uint64_t granule = ~(uint64_t)0; /* the last one that was found to be allowed */
    warp->instruction = number;
    PTX_EACH_LANE(lane, active) {
        const uint64_t here = address[lane];
        if (here & (size - 1)) ptx_refuse(warp, number, what, lane, here);
        if (space <= PTX_GENERIC && here >> PTX_RIGHTS_SHIFT == granule) {
            place[lane] = (char *)(uintptr_t)here;
            continue;
        }
        place[lane] = ptx_place(warp, space, lane, here, size, right);
        if (!place[lane]) ptx_refuse(warp, number, what, lane, here);
        if (space <= PTX_GENERIC && global_allowed(warp, here, right)) granule = here >> PTX_RIGHTS_SHIFT;
    }
}

static void touch(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, char *const *place) {
    PTX_EACH_LANE(lane, active)
        if (ptx_is_common(warp, PTX_WHAT_SPACE(what), lane, place[lane]))
            adversary_touch(warp, number, 1u << lane, what, place[lane]);
}

void ptx_places(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, const uint64_t *address,
                char **place) {
    ptx_allowed(warp, number, active, what, address, place);
    if (warp->adversary) touch(warp, number, active, what, place);
}

/* Let writes be late; those to memory of the lane's own are not. */
static void store_late(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, char *const *place,
                       const char *data) {
    const uint32_t size = PTX_WHAT_SIZE(what);
    PTX_EACH_LANE(lane, active)
        if (ptx_is_common(warp, PTX_WHAT_SPACE(what), lane, place[lane]))
            adversary_write(warp, number, 1u << lane, what, PTX_COPY, 0, place[lane], data + lane * size);
        else ptx_put(place[lane], data + lane * size, size);
}

/* Every element is moved by one instruction of the host: that is what a strong access promises. */
#define MOVES(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t)

void ptx_load(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, const uint64_t *address, void *data) {
    char *place[PTX_LANES];
    ptx_places(warp, number, active, what, address, place);
    switch (PTX_WHAT_SIZE(what)) {
#define LOAD(size, T) \
    case size: \
        PTX_EACH_LANE(lane, active)((T *)data)[lane] = __atomic_load_n((const T *)place[lane], __ATOMIC_RELAXED); \
        break;
        MOVES(LOAD)
    case 16: PTX_EACH_LANE(lane, active) memcpy((char *)data + lane * 16, place[lane], 16); break;
    case 32: PTX_EACH_LANE(lane, active) memcpy((char *)data + lane * 32, place[lane], 32); break;
    }
}

void ptx_store(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, const uint64_t *address,
               const void *data) {
    char *place[PTX_LANES];
    ptx_places(warp, number, active, what, address, place);
    if (warp->adversary) {
        store_late(warp, number, active, what, place, data);
        return;
    }
    switch (PTX_WHAT_SIZE(what)) {
#define STORE(size, T) \
    case size: \
        PTX_EACH_LANE(lane, active) __atomic_store_n((T *)place[lane], ((const T *)data)[lane], __ATOMIC_RELAXED); \
        break;
        MOVES(STORE)
    case 16: PTX_EACH_LANE(lane, active) memcpy(place[lane], (const char *)data + lane * 16, 16); break;
    case 32: PTX_EACH_LANE(lane, active) memcpy(place[lane], (const char *)data + lane * 32, 32); break;
    }
}

/* One address for all lanes: the first active lane stands for them. */
static char *one_place(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint64_t address) {
    const uint32_t lane = (uint32_t)__builtin_ctz(active);
    uint64_t addresses[PTX_LANES];
    char *place[PTX_LANES];
    addresses[lane] = address;
    ptx_allowed(warp, number, 1u << lane, what, addresses, place);
    if (warp->adversary && ptx_is_common(warp, PTX_WHAT_SPACE(what), lane, place[lane]))
        adversary_touch(warp, number, active, what, place[lane]);
    return place[lane];
}

void ptx_load_one(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint64_t address, void *data) {
    if (!active) memset(data, 0, PTX_WHAT_SIZE(what)); /* nobody looks at it */
    else memcpy(data, one_place(warp, number, active, what, address), PTX_WHAT_SIZE(what));
}

void ptx_store_one(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint64_t address,
                   const void *data) {
    if (!active) return;
    char *place = one_place(warp, number, active, what, address);
    if (warp->adversary && ptx_is_common(warp, PTX_WHAT_SPACE(what), (uint32_t)__builtin_ctz(active), place))
        adversary_write(warp, number, active, what, PTX_COPY, 0, place, data);
    else memcpy(place, data, PTX_WHAT_SIZE(what));
}
