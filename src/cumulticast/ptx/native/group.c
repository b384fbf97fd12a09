/* Groups of blocks: what one thread at a time carries on, round all blocks that are resident in it.
 *
 * A kernel that never stops on its way needs one resident block, which serves block after block; one that hands over at
 * loops or barriers gets many, so that the blocks walk through memory side by side. */
#define _GNU_SOURCE
#include "adversary.h"
#include "run.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64u
#define PAGE 4096u
#define WORK_AT_ONCE (64u << 10)   /* bytes: less than that is not worth being dealt out */
#define FRAMES_AT_ONCE (8u << 20)  /* bytes of frames that are resident in a group */
#define MOST_SLOTS 256u
#define MOST_SHARE 1024u

static size_t up(size_t size, size_t step) { return (size + step - 1) / step * step; }

static uint32_t threads_at_hand(void) {
    cpu_set_t cores;
    int found = sched_getaffinity(0, sizeof cores, &cores) ? 1 : CPU_COUNT(&cores);
    return found < 1 ? 1 : (uint32_t)found;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* How many blocks the device could hold at once, or a larger one. */
static uint64_t fitting(const struct ptx_run *run) {
    const struct ptx_launch_head *head = &run->launch.head;
    uint32_t threads = head->ntid[0] * head->ntid[1] * head->ntid[2];
    return most(head->smcount, 160) * least(32, 2048 / threads);
}

/* Decide how many blocks a group is given, and how many of them are resident at once. */
void plan(struct ptx_run *run) {
    const struct ptx_launch *launch = &run->launch;
    run->warp_stride = up(PTX_FRAME_AT + launch->frame_size, LINE);
    run->shared_stride = up(launch->head.shared_size, LINE) + LINE;
    run->local_stride = up((size_t)launch->head.local_size * PTX_LANES * run->warps, LINE);
    uint64_t threads = run->late ? 2 : threads_at_hand(); /* the same everywhere, for a seed to mean the same */
    uint64_t even = (run->blocks + threads - 1) / threads;
    if (launch->places <= 1) {
        uint64_t enough = launch->work ? WORK_AT_ONCE / launch->work + 1 : 1;
        run->share = (uint32_t)least(MOST_SHARE, most(enough, run->blocks / (threads * 8)));
        run->slots = run->cluster;
    } else {
        size_t block = run->warp_stride * run->warps + run->shared_stride + run->local_stride;
        uint64_t room = most(1, FRAMES_AT_ONCE / block);
        run->share = (uint32_t)least(least(even, room), MOST_SLOTS);
        run->slots = run->share;
    }
    run->share = (uint32_t)up(most(run->share, 1), run->cluster);
    run->slots = (uint32_t)up(most(run->slots, 1), run->cluster);
    run->most_resident = launch->cooperative ? UINT32_MAX : (uint32_t)most(threads * 4, fitting(run) / run->slots + 1);
}

static void prepare_warp(struct ptx_block *block, uint32_t number) {
    struct group *group = block->group;
    struct ptx_run *run = group->run;
    struct warp_slot *slot = &block->warps[number];
    struct ptx_warp *warp = (void *)(group->warps + run->warp_stride * (block->number * run->warps + number));
    slot->warp = warp;
    slot->pending = (uint32_t *)((char *)warp + PTX_FRAME_AT);
    slot->parked = slot->pending + run->launch.places;
    slot->parked_for = slot->parked + run->launch.places;
    warp->block = block;
    warp->launch = &run->launch;
    warp->shared = group->shared + run->shared_stride * block->number;
    warp->local = group->local + run->local_stride * block->number + (size_t)run->launch.head.local_size * PTX_LANES * number;
    warp->params = run->params;
    warp->symbols = (void *)run->launch.symbols;
    warp->rights = run->late ? adversary_rights(run) : (void *)run->launch.rights;
    warp->tid = run->tid + 3 * PTX_LANES * number;
    warp->warpid = number;
    warp->adversary = NULL;
}

/* Make room for a group; NULL when the host has none. */
struct group *group_new(struct ptx_run *run) {
    size_t at_blocks = up(sizeof(struct group), LINE);
    size_t at_slots = at_blocks + up(sizeof(struct ptx_block) * run->slots, LINE);
    size_t at_clusters = at_slots + up(sizeof(struct warp_slot) * run->slots * run->warps, LINE);
    size_t at_shared = at_clusters + up(sizeof(struct cluster) * run->slots, LINE);
    size_t at_warps = at_shared + up(run->shared_stride * run->slots, PAGE);
    size_t at_local = at_warps + up(run->warp_stride * run->slots * run->warps, PAGE);
    size_t size = up(at_local + run->local_stride * run->slots, PAGE);
    char *memory = aligned_alloc(PAGE, size);
    if (!memory) return NULL;
    memset(memory, 0, at_warps);
    struct group *group = (void *)memory;
    group->run = run;
    group->blocks = (void *)(memory + at_blocks);
    group->clusters = (void *)(memory + at_clusters);
    group->shared = memory + at_shared;
    group->warps = memory + at_warps;
    group->local = memory + at_local;
    for (uint32_t i = 0; i < run->slots; i++) {
        struct ptx_block *block = &group->blocks[i];
        block->group = group;
        block->number = i;
        block->cluster = &group->clusters[i / run->cluster];
        block->warps = (struct warp_slot *)(memory + at_slots) + (size_t)i * run->warps;
        for (uint32_t j = 0; j < run->warps; j++) prepare_warp(block, j);
    }
    return group;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* Let the blocks of a cluster begin together in the slots that are free. */
static void fill(struct group *group, uint32_t slot) {
    const struct ptx_run *run = group->run;
    for (uint32_t i = 0; i < run->cluster && group->following < group->end; i++) {
        block_begin(&group->blocks[slot + i], group->following++);
        group->live++;
    }
    group->clusters[slot / run->cluster] = (struct cluster){ 0 };
}

/* Whether a kernel never stops on its way, so that one room serves block after block. */
bool straight(const struct ptx_run *run) { return run->launch.places <= 1 && run->cluster == 1; }

void group_deal(struct group *group, uint64_t first, uint64_t end) {
    group->following = first;
    group->end = end;
    group->live = 0;
    if (straight(group->run)) {
        group->live = 1; /* something is left */
        return;
    }
    for (uint32_t slot = 0; slot < group->run->slots; slot++) group->blocks[slot].live = 0;
    for (uint32_t slot = 0; slot < group->run->slots && group->following < end; slot += group->run->cluster)
        fill(group, slot);
}

static bool cluster_over(const struct group *group, uint32_t slot) {
    for (uint32_t i = 0; i < group->run->cluster; i++)
        if (group->blocks[slot + i].live) return false;
    return true;
}

enum { BLOCKS_OF_A_PASS = 32 };

/* Carry out block after block, from beginning to end. */
static bool pass_straight(struct group *group) {
    const struct ptx_run *run = group->run;
    for (int i = 0; i < BLOCKS_OF_A_PASS && group->following < group->end; i++) {
        block_straight(&group->blocks[0], group->following++);
        if (atomic_load_explicit(&run->stopped, memory_order_relaxed)) return true;
    }
    group->live = group->following < group->end;
    return true;
}

/* Carry on every resident block; those that end make room for the following. Answer whether anything moved. */
bool group_pass(struct group *group) {
    struct ptx_run *run = group->run;
    if (run->late) adversary_pass(run);
    if (straight(run)) return pass_straight(group);
    bool moved = false;
    for (uint32_t slot = 0; slot < run->slots; slot++) {
        struct ptx_block *block = &group->blocks[slot];
        if (!block->live) continue;
        moved |= block_pass(block);
        if (atomic_load_explicit(&run->stopped, memory_order_relaxed)) return true;
        if (block->live) continue;
        group->live--;
        uint32_t first = slot / run->cluster * run->cluster;
        if (!cluster_over(group, first) || group->following >= group->end) continue;
        fill(group, first);
        if (run->cluster == 1) slot--; /* it has a turn at once: a kernel that never stops goes on here */
    }
    return moved;
}
