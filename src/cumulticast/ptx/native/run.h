/* Inside of a launch: blocks that are resident, the groups they are dealt out in, and the warps' own books. */
#ifndef PTX_RUN_H
#define PTX_RUN_H
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdatomic.h>

#include "runtime.h"

enum { BARRIERS = 16, NO_BARRIER = 0 };
#define FOR_CLUSTER BARRIERS /* what lanes of barrier.cluster.wait wait for */

enum warp_state { WARP_READY, WARP_WAITS, WARP_DONE };

/* A warp as the scheduler sees it. Three arrays begin its frame, with an element for each place: lanes that can go on
 * there (machine code's), lanes that wait there, and for which barrier (the scheduler's). */
struct warp_slot {
    struct ptx_warp *warp;
    uint32_t *pending, *parked, *parked_for;
    uint32_t resume;
    enum warp_state state;
    uint32_t cluster_phase;
    uint32_t stuck; /* turns in a row that ended where they began: at lanes that wait for others of their warp */
};

struct barrier {
    uint32_t arrived, threads; /* threads: as many are expected; 0: all of the block */
    uint32_t operation, votes, voters;
};

/* The blocks of a cluster wait for each other here. */
struct cluster {
    uint32_t phase, arrived;
};

struct ptx_block {
    struct group *group;
    struct cluster *cluster;
    uint32_t number; /* of the slot in the group */
    uint32_t live;   /* warps that have not ended */
    uint32_t waiting_barriers;
    struct barrier barriers[BARRIERS];
    struct warp_slot *warps;
};

/* Consecutive blocks that one thread at a time carries on. */
struct group {
    struct group *next;
    struct ptx_run *run;
    uint64_t following, end; /* blocks that have not begun */
    uint32_t live;           /* blocks that are resident */
    bool moved;
    struct ptx_block *blocks;
    struct cluster *clusters;
    char *shared, *local, *warps;
    void *memory;
};

struct ptx_run {
    struct ptx_launch launch;
    struct ptx_fault fault;
    void *params;
    int32_t *tid;            /* [warps][3][32] */
    uint32_t warps;          /* of a block */
    uint32_t last_lanes;     /* of its last warp */
    uint32_t cluster;        /* blocks of a cluster */
    uint32_t slots, share;   /* resident blocks of a group; blocks it is given */
    size_t warp_stride, shared_stride, local_stride, group_size;
    uint64_t blocks, begun, done;
    uint32_t resident;       /* groups that hold blocks */
    uint32_t most_resident;
    uint32_t turns;
    pthread_mutex_t lock;
    struct group *ready, *ready_last, *idle, *idle_last, *spare;
    atomic_bool stopped;
    struct late_run *late; /* adversarial memory: its books; else NULL */
    bool asked;              /* it was asked to stop before it had a fault of its own */
};

/* block.c */
void block_begin(struct ptx_block *block, uint64_t index);
bool block_pass(struct ptx_block *block);
void block_straight(struct ptx_block *block, uint64_t index);
void place_block(struct ptx_warp *warp, const struct ptx_launch_head *head, uint32_t blocks, uint64_t index);

/* group.c */
struct group *group_new(struct ptx_run *run);
void group_deal(struct group *group, uint64_t first, uint64_t end);
bool group_pass(struct group *group);
void plan(struct ptx_run *run);
bool straight(const struct ptx_run *run);

/* fault.c: what a thread that is in a turn comes back to when its kernel fails. */
struct turn {
    sigjmp_buf back;
    struct ptx_run *run;
    struct ptx_warp *warp;
};
extern _Thread_local struct turn *turn_now;
void fault_describe(struct ptx_fault *fault, const struct ptx_warp *warp, uint32_t lane);
void faults_watch(void);
#endif
