/* How a context ends, or fails: what it still had to do is dropped, and kernels that run are asked to stop. */
#include "engine_work.h"
#include <string.h>
#include <time.h>

static struct context *inner(const struct ptx_context *context) { return (struct context *)context; }

/* Nothing of this context is carried out any more: let go what waits for its turn, for memory, for a thread. */
static void drop(struct context *context)
{
    launch_stop_all(context);
    memory_drop(context);
    host_drop(context);
    call_drop(context);
}

static void close_context(struct context *context)
{
    if (context->ended) return;
    context->ended = true;
    drop(context);
    pthread_cond_broadcast(&context->hosted);
}

/* Workers end the launches that were stopped; here is only looked whether they have. */
static uint32_t await(uint32_t (*running)(void *), void *of, double seconds)
{
    uint64_t until = engine_now() + (uint64_t)(seconds * 1e9);
    uint32_t left;
    for (;;) {
        left = running(of);
        engine_unlock();
        if (!left || engine_now() >= until) return left;
        nanosleep(&(struct timespec){ 0, 50000 }, NULL);
        engine_lock();
    }
}

static uint32_t running_in(void *context) { return ((struct context *)context)->running; }

static uint32_t running_at_all(void *engine)
{
    uint32_t count = 0;
    for (struct context *c = ((struct ptx_engine *)engine)->contexts; c; c = c->next) count += c->running;
    return count;
}

uint32_t ptx_context_end(struct ptx_context *context, double seconds)
{
    engine_lock();
    close_context(inner(context));
    return await(running_in, context, seconds);
}

uint32_t ptx_engine_end(struct ptx_engine *engine, double seconds)
{
    engine_lock();
    engine->ended = true;
    struct context *next;
    for (struct context *c = engine->contexts; c; c = next) {
        context_hold(c);
        close_context(c);
        engine_go();
        next = c->next;
        context_free(c);
    }
    pthread_cond_broadcast(&engine->called);
    return await(running_at_all, engine, seconds);
}

void context_fail(struct context *context, const struct ptx_fault *fault, uint64_t op)
{
    if (context->ended || context->head.faulted) return;
    context->fault = *fault;
    context->fault_op = op;
    __atomic_store_n(&context->head.faulted, fault->status, __ATOMIC_RELEASE);
    drop(context);
}

void context_fail_plainly(struct context *context, uint32_t status, const char *reason, struct op *op)
{
    struct ptx_fault fault = { .status = status };
    strncpy(fault.reason, reason, sizeof fault.reason - 1);
    context_fail(context, &fault, (uintptr_t)op);
}

void ptx_context_fail(struct ptx_context *context, uint32_t status, const char *reason)
{
    engine_lock();
    context_fail_plainly(inner(context), status, reason, NULL);
    engine_unlock();
}

const struct ptx_fault *ptx_context_fault(const struct ptx_context *context) { return &inner(context)->fault; }
uint64_t ptx_context_fault_op(const struct ptx_context *context) { return inner(context)->fault_op; }
