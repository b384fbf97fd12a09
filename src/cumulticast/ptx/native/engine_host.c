/* Work that runs elsewhere: host functions in a thread of their context's own, which may wait for Python's lock as long as
 * it likes; and calls of Python's, which a thread of Python's comes to take. */
#include "engine_work.h"

typedef void host_function(void *data);
typedef void callback_function(void *stream, int status, void *data);

/* Call the function, without the engine's lock: a worker may fail the context at this very moment. */
static void call(struct op *op)
{
    if (op->kind == HOST) {
        ((host_function *)op->host.function)(op->host.data);
        return;
    }
    uint32_t status = __atomic_load_n(&op->context->head.faulted, __ATOMIC_ACQUIRE);
    ((callback_function *)op->host.function)(op->host.handle, (int)status, op->host.data);
}

static uint32_t status_of(const struct context *context)
{
    return context->ended ? CONTEXT_IS_DESTROYED : context->head.faulted;
}

static void *host_thread(void *of)
{
    struct context *context = of;
    engine_lock();
    while (!context->ended) {
        struct op *op = list_pop(&context->hosts);
        if (!op) {
            engine_go();
            if (!context->hosts.first && !context->ended) pthread_cond_wait(&context->hosted, &engine_mutex);
            continue;
        }
        engine_unlock();
        call(op);
        engine_lock();
        op_finish(op, status_of(context));
    }
    context_free(context);
    engine_unlock();
    return NULL;
}

void host_start(struct op *op)
{
    struct context *context = op->context;
    list_push(&context->hosts, op);
    if (context->host_thread) {
        pthread_cond_signal(&context->hosted);
        return;
    }
    context_hold(context);
    context->host_thread = engine_thread(host_thread, context, "cumulticast fn");
    if (context->host_thread) return;
    context_free(context);
    context_fail_plainly(context, OUT_OF_RESOURCES, "no thread could be started for a host function", op);
    host_drop(context);
}

/* Host functions are not called once the context has failed; callbacks are, unless it ends. */
void host_drop(struct context *context)
{
    struct list kept = { NULL, NULL };
    for (struct op *op; (op = list_pop(&context->hosts));) {
        if (op->kind == CALLBACK && !context->ended && context->host_thread) list_push(&kept, op);
        else op_finish(op, status_of(context));
    }
    context->hosts = kept;
}

/* ---- calls of Python's ------------------------------------------------------------------------------------------ */

void call_start(struct op *op, uint32_t status)
{
    op->head.status = status;
    list_push(&op->context->engine->calls, op);
    pthread_cond_signal(&op->context->engine->called);
}

/* After a fault they are handed out still, so that Python forgets them; after the end nobody comes to take them. */
void call_drop(struct context *context)
{
    struct list *calls = &context->engine->calls, kept = { NULL, NULL };
    for (struct op *op; (op = list_pop(calls));) {
        op->head.status = op->context == context ? status_of(context) : op->head.status;
        if (op->context == context && context->ended) op_finish(op, CONTEXT_IS_DESTROYED);
        else list_push(&kept, op);
    }
    *calls = kept;
}

struct ptx_op *ptx_call_next(struct ptx_engine *engine)
{
    engine_lock();
    while (!engine->calls.first && !engine->ended) {
        engine_go();
        if (!engine->calls.first && !engine->ended) pthread_cond_wait(&engine->called, &engine_mutex);
    }
    struct op *op = engine->ended ? NULL : list_pop(&engine->calls);
    if (op) ptx_op_hold(&op->head);
    engine_unlock();
    return op ? &op->head : NULL;
}

void ptx_call_done(struct ptx_op *op)
{
    engine_lock();
    op_finish((struct op *)op, op->status ? op->status : ((struct op *)op)->context->head.faulted);
    engine_unlock();
    ptx_op_release(op);
}
