/* One block: its warps are carried on in turn; barriers hold lanes back and let them go.
 *
 * A warp may have lanes at several places. Those that wait at a barrier are taken out of the warp's masks (parked), so
 * that its code does not find them. When a warp has spun, another of its places has the next turn: lanes that wait for
 * each other all make progress. */
#include "adversary.h"
#include "run.h"
#include <stdio.h>
#include <string.h>

static uint32_t count(uint32_t lanes) { return (uint32_t)__builtin_popcount(lanes); }

/* ---- beginning -------------------------------------------------------------------------------------------------- */

void place_block(struct ptx_warp *warp, const struct ptx_launch_head *head, uint32_t blocks, uint64_t index) {
    const uint32_t *shape = head->cluster;
    uint32_t rank = 0;
    uint64_t number = index;
    if (blocks > 1) {
        rank = (uint32_t)(index % blocks);
        number = index / blocks;
    }
    warp->cluster_ctarank = rank;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t side = head->ncluster[axis];
        warp->clusterid[axis] = side == 1 ? 0 : number < side ? (uint32_t)number : (uint32_t)(number % side);
        number = side == 1 ? number : number < side ? 0 : number / side;
        warp->cluster_ctaid[axis] = blocks == 1 ? 0 : rank % shape[axis];
        if (blocks > 1) rank /= shape[axis];
        warp->ctaid[axis] = warp->clusterid[axis] * shape[axis] + warp->cluster_ctaid[axis];
    }
}

static void begin_warp(const struct ptx_run *run, struct warp_slot *slot, const struct ptx_warp *first) {
    struct ptx_warp *warp = slot->warp;
    warp->lanes = warp->all_lanes = warp->warpid + 1 == run->warps ? run->last_lanes : 0xffffffffu;
    for (int axis = 0; axis < 3; axis++) {
        warp->ctaid[axis] = first->ctaid[axis];
        warp->cluster_ctaid[axis] = first->cluster_ctaid[axis];
        warp->clusterid[axis] = first->clusterid[axis];
    }
    warp->cluster_ctarank = first->cluster_ctarank;
    warp->force = warp->instruction = 0;
    slot->resume = slot->stuck = 0;
    slot->state = WARP_READY;
}

/* Give a slot the block with this number, in the order of clusters. What a kernel without places never uses is left. */
void block_begin(struct ptx_block *block, uint64_t index) {
    struct ptx_run *run = block->group->run;
    struct ptx_warp first;
    place_block(&first, &run->launch.head, run->cluster, index);
    block->live = run->warps;
    block->waiting_barriers = 0;
    for (uint32_t i = 0; i < run->warps; i++) begin_warp(run, &block->warps[i], &first);
    if (run->late) adversary_block_begin(block, index);
    if (run->launch.places <= 1) return;
    memset(block->barriers, 0, sizeof block->barriers);
    for (uint32_t i = 0; i < run->warps; i++) {
        memset(block->warps[i].warp->stack, 0, sizeof block->warps[i].warp->stack);
        memset(block->warps[i].pending, 0, 3 * sizeof(uint32_t) * run->launch.places);
    }
}

/* ---- barriers --------------------------------------------------------------------------------------------------- */

static uint32_t living(const struct ptx_block *block) {
    uint32_t threads = 0;
    for (uint32_t i = 0; i < block->group->run->warps; i++) threads += count(block->warps[i].warp->lanes);
    return threads;
}

/* Let the lanes go on that wait for something; answer whether there were any. A warp that is ready goes on where it was
 * going to: its code finds these lanes as well. */
static bool wake(struct warp_slot *slot, uint32_t places, uint32_t what) {
    bool any = false;
    for (uint32_t place = 1; place < places; place++) {
        if (!slot->parked[place] || slot->parked_for[place] != what) continue;
        any = true;
        slot->pending[place] |= slot->parked[place];
        slot->parked[place] = 0;
        if (slot->state == WARP_READY) continue;
        slot->resume = place;
        slot->state = WARP_READY;
    }
    slot->stuck = 0;
    return any;
}

static uint32_t barrier_result(const struct barrier *barrier) {
    switch (barrier->operation) {
    case 1: return barrier->votes;
    case 2: return barrier->votes == barrier->voters;
    default: return barrier->votes != 0;
    }
}

/* Let everybody go when all are there. */
static bool barrier_check(struct ptx_block *block, uint32_t id) {
    struct barrier *barrier = &block->barriers[id];
    if (!barrier->arrived || barrier->arrived < (barrier->threads ? barrier->threads : living(block))) return false;
    const struct ptx_run *run = block->group->run;
    uint32_t result = barrier_result(barrier), reduces = barrier->operation;
    for (uint32_t i = 0; i < run->warps; i++) {
        struct warp_slot *slot = &block->warps[i];
        if (wake(slot, run->launch.places, id) && reduces) slot->warp->barrier_value = result;
    }
    memset(barrier, 0, sizeof *barrier);
    block->waiting_barriers &= ~(1u << id);
    return true;
}

/* A count that a register gives: ptxas refuses others that are constants. An H200 answers 715. */
static void check_count(struct ptx_warp *warp) {
    char reason[PTX_REASON_BYTES];
    if (warp->barrier_threads % PTX_LANES == 0) return;
    snprintf(reason, sizeof reason, "a barrier of %u threads, which is no multiple of %u", warp->barrier_threads, PTX_LANES);
    const uint32_t lane = warp->waiting ? (uint32_t)__builtin_ctz(warp->waiting) : 0;
    ptx_fail(warp, warp->instruction, PTX_ILLEGAL_INSTRUCTION, lane, 0, reason);
}

/* A barrier with a count counts whole warps ("the arrival count is incremented by the warp size", PTX ISA, bar): lanes
 * that never were or have ended come with the lowest that lives. */
static uint32_t arriving(const struct ptx_warp *warp) {
    const uint32_t there = count(warp->waiting), lowest = warp->lanes & -warp->lanes;
    return warp->barrier_threads && warp->waiting & lowest ? there + PTX_LANES - count(warp->lanes) : there;
}

static uint32_t arrive(struct ptx_block *block, struct ptx_warp *warp) {
    check_count(warp);
    if (warp->adversary) adversary_release(warp, warp->waiting, PTX_SCOPE_CTA);
    uint32_t id = warp->barrier_id % BARRIERS;
    struct barrier *barrier = &block->barriers[id];
    barrier->arrived += arriving(warp);
    barrier->threads = warp->barrier_threads;
    if (warp->barrier_op) {
        barrier->operation = warp->barrier_op;
        barrier->votes += count(warp->barrier_value & warp->waiting);
        barrier->voters += count(warp->waiting);
    }
    block->waiting_barriers |= 1u << id;
    return id;
}

/* ---- clusters --------------------------------------------------------------------------------------------------- */

static struct ptx_block *first_of_cluster(struct ptx_block *block) {
    return block - block->warps[0].warp->cluster_ctarank;
}

static bool cluster_check(struct ptx_block *block) {
    struct ptx_run *run = block->group->run;
    struct ptx_block *first = first_of_cluster(block);
    struct cluster *cluster = block->cluster;
    uint32_t threads = 0;
    for (uint32_t i = 0; i < run->cluster; i++) threads += living(&first[i]);
    if (!cluster->arrived || cluster->arrived < threads) return false;
    cluster->arrived = 0;
    cluster->phase++;
    for (uint32_t i = 0; i < run->cluster; i++)
        for (uint32_t j = 0; j < run->warps; j++) wake(&first[i].warps[j], run->launch.places, FOR_CLUSTER);
    return true;
}

/* Another block's shared memory, by its rank in the cluster; NULL when there is no such block. */
char *ptx_cluster_shared(struct ptx_warp *warp, uint32_t rank) {
    struct ptx_block *block = warp->block;
    if (rank >= block->group->run->cluster) return NULL;
    return (first_of_cluster(block) + rank)->warps[0].warp->shared;
}

/* ---- a warp's turn ---------------------------------------------------------------------------------------------- */

/* Take the lanes that have just stopped out of the warp's masks until what they wait for is there. */
static void park(struct warp_slot *slot, uint32_t what) {
    uint32_t place = slot->warp->next;
    slot->parked[place] |= slot->pending[place];
    slot->parked_for[place] = what;
    slot->pending[place] = 0;
}

/* Choose where to go on: the place after `from` that has lanes. */
static bool turn_to_next(struct warp_slot *slot, uint32_t places, uint32_t from) {
    for (uint32_t step = 1, place = from; step <= places; step++) {
        if (++place >= places) place = 0;
        if (!place || !slot->pending[place]) continue;
        slot->resume = place;
        return true;
    }
    return false;
}

static void settle(struct ptx_block *block, struct warp_slot *slot) {
    const struct ptx_run *run = block->group->run;
    if (slot->state != WARP_READY) return;
    if (run->launch.places > 1 && turn_to_next(slot, run->launch.places, slot->warp->next)) return;
    if (!slot->warp->lanes) {
        slot->state = WARP_DONE;
        if (!--block->live && run->late) adversary_block_end(block);
        return;
    }
    slot->state = WARP_WAITS;
}

/* Lanes have ended: whoever waited for them waits no longer. */
static bool lanes_went(struct ptx_block *block) {
    bool moved = false;
    for (uint32_t waiting = block->waiting_barriers; waiting; waiting &= waiting - 1) {
        uint32_t id = (uint32_t)__builtin_ctz(waiting);
        if (!block->barriers[id].threads) moved |= barrier_check(block, id);
    }
    if (block->group->run->cluster > 1) moved |= cluster_check(block);
    return moved;
}

static bool waits_for_cluster(struct ptx_block *block, struct warp_slot *slot) {
    if (slot->cluster_phase != block->cluster->phase) return false;
    park(slot, FOR_CLUSTER);
    return true;
}

/* Lanes wait for others of their warp. These may be elsewhere and get a turn, or be held by a barrier. When all that
 * can go on have been found waiting so, they are let go: their members stand at other instructions like this one
 * (__syncwarp() in both arms of a branch), or never come. Answer whether the turn was progress. */
static bool wait_for_lanes(struct warp_slot *slot, uint32_t places) {
    struct ptx_warp *warp = slot->warp;
    uint32_t standing = 0, held = 0, waiting = 0;
    for (uint32_t place = 1; place < places; place++) {
        standing += slot->pending[place] != 0;
        waiting |= slot->pending[place];
        held |= slot->parked[place];
    }
    if (slot->stuck < standing) {
        turn_to_next(slot, places, warp->next);
        return !slot->stuck;
    }
    slot->stuck = 0;
    if (held) {
        slot->state = WARP_WAITS;
        return false;
    }
    warp->force = waiting;
    if (warp->adversary) adversary_release(warp, waiting, PTX_SCOPE_WARP); /* __syncwarp() is what they stand at */
    turn_to_next(slot, places, 0);
    return true;
}

/* Do what a warp asked for when it stopped; answer whether that was progress. */
static bool serve(struct ptx_block *block, struct warp_slot *slot, uint32_t reason) {
    struct ptx_warp *warp = slot->warp;
    const uint32_t places = block->group->run->launch.places;
    slot->resume = warp->next;
    switch (reason) {
    case PTX_HANDOVER:
        return true;
    case PTX_ARRIVE:
        barrier_check(block, arrive(block, warp)); /* the warp is ready: it goes on at `next`, whomever that wakes */
        return true;
    case PTX_BARRIER: {
        uint32_t id = arrive(block, warp);
        park(slot, id);
        settle(block, slot);
        barrier_check(block, id);
        return true;
    }
    case PTX_CLUSTER_ARRIVE:
        if (warp->adversary) adversary_release(warp, warp->waiting, PTX_SCOPE_GPU);
        slot->cluster_phase = block->cluster->phase;
        block->cluster->arrived += count(warp->waiting);
        cluster_check(block);
        return true;
    case PTX_CLUSTER:
        if (waits_for_cluster(block, slot)) settle(block, slot);
        return true;
    case PTX_WARP:
        return wait_for_lanes(slot, places);
    case PTX_DONE:
        warp->next = 0;
        settle(block, slot);
        return true;
    default: /* SPIN, SLEEP */
        turn_to_next(slot, places, warp->next);
        return slot->resume != warp->next;
    }
}

static bool warp_turn(struct ptx_block *block, struct warp_slot *slot) {
    struct ptx_warp *warp = slot->warp;
    uint32_t lanes = warp->lanes, from = slot->resume;
    warp->budget = PTX_ROUNDS;
    warp->passed = 0;
    turn_now->warp = warp;
    uint32_t reason = ((ptx_code *)block->group->run->launch.code)(warp, from);
    slot->stuck = reason == PTX_WARP && warp->next == from && !warp->passed ? slot->stuck + 1 : 0;
    bool moved = serve(block, slot, reason);
    if (warp->lanes != lanes) lanes_went(block);
    return moved;
}

/* Carry out a whole block of a kernel that never stops on its way: one warp's room serves all its warps in turn. */
void block_straight(struct ptx_block *block, uint64_t index) {
    struct ptx_run *run = block->group->run;
    struct ptx_warp *warp = block->warps[0].warp;
    ptx_code *code = (ptx_code *)run->launch.code;
    char *local = warp->local;
    size_t step = (size_t)run->launch.head.local_size * PTX_LANES;
    place_block(warp, &run->launch.head, run->cluster, index);
    turn_now->warp = warp;
    if (run->late) adversary_block_begin(block, index);
    for (uint32_t i = 0; i < run->warps; i++) {
        warp->lanes = warp->all_lanes = i + 1 == run->warps ? run->last_lanes : 0xffffffffu;
        warp->warpid = i;
        warp->tid = run->tid + 3 * PTX_LANES * i;
        warp->local = local + step * i;
        warp->budget = INT32_MAX;
        code(warp, 0);
    }
    warp->local = local;
    if (run->late) adversary_block_end(block);
}

/* Give each warp that can go on a turn; answer whether anything moved. */
bool block_pass(struct ptx_block *block) {
    bool moved = false;
    const struct ptx_run *run = block->group->run;
    if (run->late) adversary_block_pass(block);
    for (uint32_t i = 0; i < run->warps && !atomic_load_explicit(&run->stopped, memory_order_relaxed); i++)
        if (block->warps[i].state == WARP_READY) moved |= warp_turn(block, &block->warps[i]);
    return moved;
}

/* The lowest place at which lanes wait, 0 when there is none. */
uint32_t ptx_lowest_place(const struct ptx_warp *warp, uint32_t places) {
    const uint32_t *pending = (const uint32_t *)((const char *)warp + PTX_FRAME_AT);
    for (uint32_t place = 1; place < places; place++)
        if (pending[place]) return place;
    return 0;
}
