/* Contexts, streams, and what is handed over to them. */
#include "engine_work.h"
#include <stdlib.h>
#include <string.h>

static struct context *inner(const struct ptx_context *context) { return (struct context *)context; }

struct ptx_engine *ptx_engine_begin(void)
{
    struct ptx_engine *engine = calloc(1, sizeof *engine);
    if (!engine) return NULL;
    engine->references = 1;
    engine->generation = engine_generation;
    engine_condition(&engine->called);
    return engine;
}

static void engine_free(struct ptx_engine *engine)
{
    if (--engine->references) return;
    pthread_cond_destroy(&engine->called);
    free(engine);
}

/* Whether it is a parent's: a forked child leaves it alone. */
static bool inherited(const struct ptx_engine *engine) { return engine->generation != engine_generation; }

void ptx_engine_release(struct ptx_engine *engine)
{
    if (inherited(engine)) return;
    engine_lock();
    engine_free(engine);
    engine_unlock();
}

struct ptx_context *ptx_context_begin(struct ptx_engine *engine)
{
    struct context *context = calloc(1, sizeof *context);
    if (!context) return NULL;
    engine_lock();
    context->references = 1;
    context->engine = engine;
    context->ended = engine->ended;
    engine->references++;
    context->next = engine->contexts;
    engine->contexts = context;
    engine_condition(&context->hosted);
    engine_unlock();
    return &context->head;
}

void context_hold(struct context *context) { context->references++; }

void context_free(struct context *context)
{
    if (--context->references) return;
    struct context **at = &context->engine->contexts;
    while (*at != context) at = &(*at)->next;
    *at = context->next;
    engine_free(context->engine);
    pthread_cond_destroy(&context->hosted);
    free(context);
}

void ptx_context_release(struct ptx_context *context)
{
    if (inherited(inner(context)->engine)) return;
    engine_lock();
    context_free(inner(context));
    engine_unlock();
}

/* ---- streams --------------------------------------------------------------------------------------------------- */

struct ptx_stream *ptx_stream_begin(struct ptx_context *context, int kind)
{
    struct ptx_stream *stream = calloc(1, sizeof *stream);
    if (!stream) return NULL;
    engine_lock();
    stream->context = inner(context);
    context_hold(stream->context);
    stream->kind = kind;
    stream->references = 1;
    stream->next = stream->context->streams;
    stream->context->streams = stream;
    engine_unlock();
    return stream;
}

void stream_free(struct ptx_stream *stream)
{
    if (--stream->references) return;
    struct ptx_stream **at = &stream->context->streams;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
    context_free(stream->context);
    free(stream);
}

void ptx_stream_end(struct ptx_stream *stream)
{
    if (inherited(stream->context->engine)) return;
    engine_lock();
    stream_free(stream);
    engine_unlock();
}

/* ---- what is handed over --------------------------------------------------------------------------------------- */

static struct op *begin(struct ptx_stream *stream, enum kind kind, const void *data, size_t size)
{
    void *copy = NULL;
    if (size && !(copy = malloc(size))) return NULL;
    if (size) memcpy(copy, data, size);
    engine_lock();
    struct op *op = op_new(stream->context, stream, NULL, kind, OWN_TAILS);
    if (op) op->owned = copy;
    else {
        free(copy);
        engine_unlock();
    }
    return op;
}

static struct ptx_op *hand_over(struct op *op)
{
    struct ptx_op *given = op_submit(op);
    engine_unlock();
    return given;
}

struct ptx_op *ptx_enqueue_launch(struct ptx_stream *stream, const struct ptx_launch *launch)
{
    struct op *op = begin(stream, LAUNCH, launch->params, launch->params_size);
    if (!op) return NULL;
    op->launch.given = *launch;
    op->launch.given.params = op->owned;
    struct ptx_op *given = op_submit(op);
    launch_first_turn(op);
    engine_unlock();
    return given;
}

struct ptx_op *ptx_enqueue_record(struct ptx_stream *stream)
{
    struct op *op = begin(stream, NOTHING, NULL, 0);
    return op ? hand_over(op) : NULL;
}

struct ptx_op *ptx_enqueue_after(struct ptx_stream *stream, struct ptx_op *other)
{
    engine_lock();
    struct op *op = op_new(stream->context, stream, (struct op *)other, NOTHING, OWN_TAILS);
    struct ptx_op *given = op ? op_submit(op) : NULL;
    engine_unlock();
    return given;
}

static struct ptx_op *enqueue_host(struct ptx_stream *stream, enum kind kind, void *function, void *data, void *handle)
{
    struct op *op = begin(stream, kind, NULL, 0);
    if (!op) return NULL;
    op->host.function = function;
    op->host.data = data;
    op->host.handle = handle;
    return hand_over(op);
}

struct ptx_op *ptx_enqueue_host(struct ptx_stream *stream, void *function, void *data)
{
    return enqueue_host(stream, HOST, function, data, NULL);
}

struct ptx_op *ptx_enqueue_callback(struct ptx_stream *stream, void *function, void *data, void *handle)
{
    return enqueue_host(stream, CALLBACK, function, data, handle);
}

struct ptx_op *ptx_enqueue_call(struct ptx_stream *stream, uint64_t number)
{
    struct op *op = begin(stream, CALL, NULL, 0);
    if (!op) return NULL;
    op->head.number = number;
    return hand_over(op);
}

struct ptx_op *ptx_enqueue_memory(struct ptx_stream *stream, const struct ptx_memory_op *ops, uint32_t count)
{
    struct op *op = begin(stream, MEMORY, ops, count * sizeof *ops);
    if (!op) return NULL;
    op->memory.ops = op->owned;
    op->memory.count = count;
    return hand_over(op);
}

/* ---- joins ----------------------------------------------------------------------------------------------------- */

int ptx_stream_join(struct ptx_stream *stream, struct ptx_op **op)
{
    *op = NULL;
    engine_lock();
    struct op *made = NULL, *tail = stream->tail;
    bool wanted = stream->kind == PTX_LEGACY && !stream_idle(stream);
    if (wanted && (made = op_new(stream->context, NULL, NULL, NOTHING, BLOCKING_TAILS))) *op = op_submit(made);
    else if (stream->kind != PTX_LEGACY && tail) ptx_op_hold(*op = &tail->head);
    engine_unlock();
    return wanted && !made ? -1 : 0;
}

int ptx_context_join(struct ptx_context *context, struct ptx_op **op)
{
    engine_lock();
    struct op *made = op_new(inner(context), NULL, NULL, NOTHING, ALL_TAILS);
    *op = made ? op_submit(made) : NULL;
    engine_unlock();
    return made ? 0 : -1;
}

int ptx_context_after(struct ptx_context *context, struct ptx_op *other)
{
    engine_lock();
    struct op *gate = op_new(inner(context), NULL, (struct op *)other, NOTHING, NO_TAILS);
    if (gate) {
        struct ptx_op *ours = op_submit(gate);
        engine_go();
        if (!ours->done) gate->context->gate = gate; /* until op_finish takes it away */
        ptx_op_release(ours);
    }
    engine_unlock();
    return gate ? 0 : -1;
}

int ptx_stream_idle(const struct ptx_stream *stream)
{
    engine_lock();
    int idle = stream_idle(stream);
    engine_unlock();
    return idle;
}
