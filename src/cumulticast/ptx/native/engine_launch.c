/* Kernels, and the threads that carry them on: each goes round all launches that run, so that a kernel which waits for
 * another one, or for another process, holds nobody back. When nothing moves they rest, longer and longer. */
#include "engine_work.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

enum { MOST_WORKERS = 256, YIELDS = 4 };
#define FIRST_REST 2000u      /* ns */
#define LONGEST_REST 50000u  /* ns: how late a kernel may see what another process wrote */
#define SLEEPY_REST 1000000u  /* ns: once nothing has moved for about a second */
#define SLEEPY_AFTER 20000u   /* rests */
#define SMALL_LAUNCH 4u       /* blocks: the caller carries these on first, which saves waking anybody */

struct list engine_runs;
static pthread_cond_t work;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t workers, resting, polling;
static __thread struct op *mine; /* the launch that this thread is about to carry on itself */

static void launch_end(struct op *op, uint32_t status)
{
    list_remove(&engine_runs, op);
    op_finish(op, status);
}

static void no_room(struct op *op)
{
    context_fail_plainly(op->context, OUT_OF_RESOURCES, "the host has no memory for what the kernel needs to run", op);
    launch_end(op, OUT_OF_RESOURCES);
}

/* Answers whether the launch can have a turn. */
static bool begun(struct op *op)
{
    struct launching *launch = &op->launch;
    if (launch->run) return !launch->finished;
    if (launch->beginning) return false;
    launch->beginning = true;
    op->context->running++;
    engine_unlock();
    struct ptx_run *run = ptx_run_begin(&launch->given);
    engine_lock();
    launch->run = run;
    launch->began = engine_now();
    if (run) return true;
    op->context->running--;
    no_room(op);
    return false;
}

static void stop(struct op *op, uint32_t status, const char *reason)
{
    if (op->launch.stopped || !op->launch.run) return;
    op->launch.stopped = true;
    ptx_run_stop(op->launch.run, status, reason);
}

/* Stop what its context, or its time, has been taken from. */
static void look_at_end(struct op *op)
{
    double limit = op->launch.given.seconds;
    if (op->context->ended) stop(op, CONTEXT_IS_DESTROYED, "its context was destroyed");
    else if (op->context->head.faulted) stop(op, op->context->head.faulted, "another kernel of its context failed");
    else if (limit > 0 && (double)(engine_now() - op->launch.began) > limit * 1e9) {
        char reason[64];
        snprintf(reason, sizeof reason, "it ran longer than its time limit of %g s", limit);
        stop(op, LAUNCH_TIMEOUT, reason);
    }
}

/* The last thread is out of a launch that has ended: take its fault, and give everything back. */
static void finish(struct op *op)
{
    ptx_run_look(op->launch.run);
    const struct ptx_fault fault = *ptx_run_fault(op->launch.run);
    op->launch.beginning = true;
    struct ptx_run *run = op->launch.run;
    op->launch.run = NULL;
    engine_unlock();
    ptx_run_end(run);
    engine_lock();
    op->context->running--;
    if (fault.status) context_fail(op->context, &fault, (uintptr_t)op);
    launch_end(op, fault.status);
}

bool launch_turn(struct op *op)
{
    uint32_t status = op->context->ended ? CONTEXT_IS_DESTROYED : op->context->head.faulted;
    if (status && !op->launch.beginning) {
        launch_end(op, status);
        return true;
    }
    if (!begun(op)) return false;
    look_at_end(op);
    op->launch.inside++;
    engine_unlock();
    int came = ptx_run_turn(op->launch.run);
    engine_lock();
    op->launch.inside--;
    op->launch.finished |= came == PTX_FINISHED;
    if (op->launch.finished && !op->launch.inside) finish(op);
    return came != PTX_IDLE;
}

void launch_stop_all(struct context *context)
{
    for (struct op *op = engine_runs.first; op; op = op->next)
        if (op->context == context) look_at_end(op);
    if (engine_runs.first) workers_wake(true);
}

void launch_start(struct op *op)
{
    list_push(&engine_runs, op);
    op->launch.started = true;
    if (op != mine) workers_wake(true);
}

/* Carry a small launch on before anybody else is woken: most such kernels are over then. */
void launch_first_turn(struct op *op)
{
    const uint32_t *blocks = op->launch.given.head.nctaid;
    if ((uint64_t)blocks[0] * blocks[1] * blocks[2] > SMALL_LAUNCH) return;
    mine = op;
    engine_go();
    mine = NULL;
    if (!op->launch.started || op->head.done) return;
    launch_turn(op);
    if (!op->head.done) workers_wake(true);
}

/* ---- the threads ------------------------------------------------------------------------------------------------ */

/* The one whose turn it is; it goes to the end of the row. */
static struct op *next_launch(void)
{
    struct op *op = list_pop(&engine_runs);
    if (op) list_push(&engine_runs, op);
    return op;
}

static uint32_t count_of_runs(void)
{
    uint32_t count = 0;
    for (struct op *op = engine_runs.first; op; op = op->next) count++;
    return count;
}

/* Nothing moved in a whole round. First others may run: on two cores those may be what we wait for. */
static void rest(uint32_t rests)
{
    if (rests < YIELDS) {
        engine_unlock();
        sched_yield();
        engine_lock();
        return;
    }
    uint64_t ns = rests - YIELDS < 8 ? FIRST_REST << (rests - YIELDS) : LONGEST_REST;
    if (ns > LONGEST_REST) ns = LONGEST_REST;
    if (rests > SLEEPY_AFTER) ns = SLEEPY_REST;
    uint64_t until = engine_now() + ns;
    struct timespec at = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };
    resting++;
    pthread_cond_timedwait(&work, &engine_mutex, &at);
    resting--;
}

/* Wait until there is something to do. Of several threads one is enough to look at memory again and again. */
static bool nothing_to_do(uint32_t waiting)
{
    if (engine_runs.first || (waiting && !polling)) return false;
    resting++;
    pthread_cond_wait(&work, &engine_mutex);
    resting--;
    return true;
}

static void *worker(void *unused)
{
    (void)unused;
    uint32_t still = 0, rests = 0, waited = 0;
    prctl(PR_SET_TIMERSLACK, 1000UL);
    engine_lock();
    for (;;) {
        uint32_t waiting = memory_poll();
        engine_go();
        if (waiting != waited) rests = 0;
        waited = waiting;
        if (nothing_to_do(waiting)) {
            still = rests = 0;
            continue;
        }
        struct op *op = next_launch();
        bool alone = !op; /* only memory is to be looked at */
        if (op && launch_turn(op)) {
            still = rests = 0;
            continue;
        }
        if (++still < count_of_runs()) continue;
        still = 0;
        polling += alone;
        rest(rests++);
        polling -= alone;
    }
    return NULL;
}

static void set_up(void) { engine_condition(&work); }

static uint32_t workers_count(void)
{
    cpu_set_t cores;
    int count = sched_getaffinity(0, sizeof cores, &cores) ? 1 : CPU_COUNT(&cores);
    return count < MOST_WORKERS ? (uint32_t)count : MOST_WORKERS;
}

void workers_wake(bool all)
{
    pthread_once(&once, set_up);
    if (!workers)
        for (uint32_t wanted = workers_count(); workers < wanted; workers++)
            if (!engine_thread(worker, NULL, "cumulticast")) break;
    if (!resting) return;
    if (all) pthread_cond_broadcast(&work);
    else pthread_cond_signal(&work);
}

void workers_forget(void)
{
    workers = resting = polling = 0;
    engine_runs = (struct list){ NULL, NULL };
    engine_condition(&work);
}
