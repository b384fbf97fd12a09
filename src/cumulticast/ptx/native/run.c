/* A launch: its blocks are dealt out in order, to any number of threads, until all have ended.
 *
 * A thread's turn: a group that can go on, else new blocks, else a group in which nothing moved before. So a block that
 * spins on what a later block writes gives way to it. Every fourth turn the idle groups come first: what they wait for
 * may be there. Now and then new blocks come first: a loop that is not seen to spin may wait for them. */
#define _GNU_SOURCE
#include "adversary.h"
#include "run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#define SLICE 200000 /* ns of a turn */
enum { TRIES_OF_IDLE = 4, TRIES_OF_NEW = 64, PASSES = 4 };

/* ---- queues ----------------------------------------------------------------------------------------------------- */

static struct group *take(struct group **first, struct group **last) {
    struct group *group = *first;
    if (!group) return NULL;
    *first = group->next;
    if (!*first) *last = NULL;
    group->next = NULL;
    return group;
}

static void put(struct group **first, struct group **last, struct group *group) {
    group->next = NULL;
    if (*last) (*last)->next = group;
    else *first = group;
    *last = group;
}

/* Answer a group with new blocks; NULL when all have begun, or as many as may are resident, or no memory is left. */
static struct group *begin_more(struct ptx_run *run) {
    if (run->begun == run->blocks || run->resident >= run->most_resident) return NULL;
    struct group *group = run->spare;
    if (group) run->spare = group->next;
    else group = group_new(run);
    if (!group) return NULL;
    uint64_t end = run->begun + run->share < run->blocks ? run->begun + run->share : run->blocks;
    run->resident++;
    uint64_t first = run->begun;
    run->begun = end;
    group_deal(group, first, end);
    return group;
}

static struct group *next_group(struct ptx_run *run) {
    struct group *group = NULL;
    if (++run->turns % TRIES_OF_IDLE == 0) group = take(&run->idle, &run->idle_last);
    if (!group && run->turns % TRIES_OF_NEW == 1) group = begin_more(run);
    if (!group) group = take(&run->ready, &run->ready_last);
    if (!group) group = begin_more(run);
    if (!group) group = take(&run->idle, &run->idle_last);
    return group;
}

/* ---- a turn ----------------------------------------------------------------------------------------------------- */

static int64_t now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000 + at.tv_nsec;
}

/* Floating point as a kernel expects it, whatever the host's program has set for its own threads. */
static uint32_t floats_begin(void) {
#if defined(__x86_64__)
    uint32_t old = _mm_getcsr();
    _mm_setcsr(0x1f80);
    return old;
#else
    return 0;
#endif
}

static void floats_end(uint32_t old) {
#if defined(__x86_64__)
    _mm_setcsr(old);
#else
    (void)old;
#endif
}

/* How long a turn is: by the clock, but by passes where it is to be the same every time. */
static bool has_time(const struct ptx_run *run, uint32_t passes, int64_t until) {
    return run->late ? passes < PASSES : now() < until;
}

/* Answer whether anything moved. */
static bool carry_on(struct group *group) {
    struct ptx_run *run = group->run;
    volatile bool any = false;
    struct turn turn = { .run = run };
    struct turn *outer = turn_now;
    uint32_t floats = floats_begin();
    turn_now = &turn;
    if (sigsetjmp(turn.back, 0) == 0) {
        int64_t until = now() + SLICE;
        uint32_t passes = 0;
        bool moved;
        do {
            moved = group_pass(group);
            any |= moved;
        } while (moved && group->live && !atomic_load(&run->stopped) && has_time(run, ++passes, until));
        group->moved = moved;
    }
    turn_now = outer;
    floats_end(floats);
    return any;
}

/* How many of its blocks a group has yet to end. */
static uint64_t left(const struct group *group) {
    return group->end - group->following + (straight(group->run) ? 0 : group->live);
}

static int take_turn(struct ptx_run *run) {
    if (atomic_load(&run->stopped)) return PTX_FINISHED;
    pthread_mutex_lock(&run->lock);
    struct group *group = next_group(run);
    bool over = run->done == run->blocks;
    pthread_mutex_unlock(&run->lock);
    if (!group) return over ? PTX_FINISHED : PTX_IDLE;
    uint64_t had = left(group);
    bool moved = carry_on(group);
    pthread_mutex_lock(&run->lock);
    run->done += had - left(group);
    if (atomic_load(&run->stopped) || !group->live) {
        group->next = run->spare;
        run->spare = group;
        run->resident--;
    } else if (group->moved) {
        put(&run->ready, &run->ready_last, group);
    } else {
        put(&run->idle, &run->idle_last, group);
    }
    over = atomic_load(&run->stopped) || run->done == run->blocks;
    pthread_mutex_unlock(&run->lock);
    return over ? PTX_FINISHED : moved ? PTX_MOVED : PTX_IDLE;
}

/* All that the launch has written is carried out; after a fault it is not. */
static void end_late(struct ptx_run *run) {
    struct turn turn = { .run = run };
    struct turn *outer = turn_now;
    uint32_t floats = floats_begin();
    turn_now = &turn;
    bool failed = sigsetjmp(turn.back, 0) != 0;
    adversary_run_over(run, failed || atomic_load(&run->stopped));
    turn_now = outer;
    floats_end(floats);
}

int ptx_run_turn(struct ptx_run *run) {
    struct ptx_adversary *adversary = run->launch.adversary;
    if (!adversary) return take_turn(run);
    if (!adversary_enter(adversary)) return PTX_IDLE;
    int came = take_turn(run);
    if (came == PTX_FINISHED) end_late(run);
    adversary_leave(adversary);
    return came;
}

/* ---- beginning and end ------------------------------------------------------------------------------------------ */

/* Number the threads of a block, warp by warp. */
static int32_t *thread_numbers(const uint32_t *shape, uint32_t warps) {
    int32_t *tid = aligned_alloc(64, sizeof(int32_t) * 3 * PTX_LANES * warps);
    if (!tid) return NULL;
    for (uint32_t thread = 0; thread < warps * PTX_LANES; thread++) {
        int32_t *at = tid + thread / PTX_LANES * 3 * PTX_LANES + thread % PTX_LANES;
        at[0] = (int32_t)(thread % shape[0]);
        at[PTX_LANES] = (int32_t)(thread / shape[0] % shape[1]);
        at[2 * PTX_LANES] = (int32_t)(thread / shape[0] / shape[1]);
    }
    return tid;
}

struct ptx_run *ptx_run_begin(const struct ptx_launch *launch) {
    struct ptx_run *run = calloc(1, sizeof *run);
    if (!run) return NULL;
    run->launch = *launch;
    const struct ptx_launch_head *head = &run->launch.head;
    const uint32_t *shape = head->ntid, *grid = head->nctaid;
    uint32_t threads = shape[0] * shape[1] * shape[2];
    run->warps = (threads + PTX_LANES - 1) / PTX_LANES;
    run->last_lanes = threads % PTX_LANES ? (1u << threads % PTX_LANES) - 1 : 0xffffffffu;
    run->blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    run->cluster = head->cluster[0] * head->cluster[1] * head->cluster[2];
    run->launch.head.shared_window = head->shared_size;
    bool room = adversary_run_begin(run);
    plan(run);
    pthread_mutex_init(&run->lock, NULL);
    run->tid = thread_numbers(shape, run->warps);
    run->params = malloc(launch->params_size + 16);
    if (!room || !run->tid || !run->params) {
        ptx_run_end(run);
        return NULL;
    }
    memcpy(run->params, launch->params, launch->params_size);
    run->spare = group_new(run);
    if (!run->spare) {
        ptx_run_end(run);
        return NULL;
    }
    faults_watch();
    return run;
}

void ptx_run_stop(struct ptx_run *run, uint32_t status, const char *reason) {
    pthread_mutex_lock(&run->lock);
    if (!run->fault.status) {
        run->fault.status = status;
        run->asked = true;
        snprintf(run->fault.reason, sizeof run->fault.reason, "%s", reason);
    }
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stopped, true);
}

/* ---- where a launch stands that was stopped --------------------------------------------------------------------- */

static bool lower(const struct ptx_warp *a, const struct ptx_warp *b) {
    for (int axis = 2; axis >= 0; axis--)
        if (a->ctaid[axis] != b->ctaid[axis]) return a->ctaid[axis] < b->ctaid[axis];
    return a->warpid < b->warpid;
}

/* Look in a list of groups for the lowest block with a warp in this state: NULL when there is none. */
static const struct warp_slot *look(const struct group *group, enum warp_state state, const struct warp_slot *found) {
    for (; group; group = group->next)
        for (uint32_t i = 0; group->live && i < group->run->slots; i++) {
            const struct ptx_block *block = &group->blocks[i];
            for (uint32_t j = 0; block->live && j < group->run->warps; j++) {
                const struct warp_slot *slot = &block->warps[j];
                if (slot->state == state && slot->warp->lanes && (!found || lower(slot->warp, found->warp))) found = slot;
            }
        }
    return found;
}

static const struct warp_slot *look_everywhere(const struct ptx_run *run, enum warp_state state) {
    return look(run->ready, state, look(run->idle, state, look(run->spare, state, NULL)));
}

void ptx_run_look(struct ptx_run *run) {
    if (!run->asked) return;
    const struct warp_slot *slot = straight(run) ? NULL : look_everywhere(run, WARP_READY);
    bool waits = !slot && !straight(run);
    if (waits) slot = look_everywhere(run, WARP_WAITS);
    if (!slot) return;
    struct ptx_fault *fault = &run->fault;
    fault->instruction = slot->warp->instruction;
    fault_describe(fault, slot->warp, (uint32_t)__builtin_ctz(slot->warp->lanes));
    const size_t used = strlen(fault->reason);
    snprintf(fault->reason + used, sizeof fault->reason - used, "; %llu of %llu blocks have not ended%s",
             (unsigned long long)(run->blocks - run->done), (unsigned long long)run->blocks,
             waits ? ", and all threads that are left wait at a barrier" : "");
}

const struct ptx_fault *ptx_run_fault(const struct ptx_run *run) { return &run->fault; }

static void free_groups(struct group *group) {
    while (group) {
        struct group *next = group->next;
        free(group);
        group = next;
    }
}

void ptx_run_end(struct ptx_run *run) {
    adversary_run_free(run);
    free_groups(run->ready);
    free_groups(run->idle);
    free_groups(run->spare);
    free(run->tid);
    free(run->params);
    pthread_mutex_destroy(&run->lock);
    free(run);
}

/* ---- the time ---------------------------------------------------------------------------------------------------- */

uint64_t ptx_clock(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return (uint64_t)now();
#endif
}

uint64_t ptx_globaltimer(void) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}
