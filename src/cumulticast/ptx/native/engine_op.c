/* One piece of work: what it waits for, its time, its end. And the lock, time and threads of the engine. */
#include "engine_work.h"
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t engine_mutex = PTHREAD_MUTEX_INITIALIZER;
uint32_t engine_generation;
static struct list ready; /* ops that wait for nothing, not started yet */

uint64_t engine_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void engine_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool engine_thread(void *(*function)(void *), void *argument, const char *name)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t ours, before;
    sigfillset(&ours);
    /* Those that a thread raises by what it does: a kernel's bad address is one. */
    for (int k = 0; k < 5; k++) sigdelset(&ours, (int[]){ SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP }[k]);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &ours, &before);
    bool made = !pthread_create(&thread, &attributes, function, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (made) pthread_setname_np(thread, name);
    return made;
}

/* ---- lists ----------------------------------------------------------------------------------------------------- */

void list_push(struct list *list, struct op *op)
{
    op->next = NULL;
    if (list->last) list->last->next = op;
    else list->first = op;
    list->last = op;
}

struct op *list_pop(struct list *list)
{
    struct op *op = list->first;
    if (op && !(list->first = op->next)) list->last = NULL;
    return op;
}

void list_remove(struct list *list, struct op *op)
{
    struct op *before = NULL;
    for (struct op *at = list->first; at != op; at = at->next) before = at;
    if (before) before->next = op->next;
    else list->first = op->next;
    if (list->last == op) list->last = before;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static bool joined(const struct ptx_stream *one, const struct ptx_stream *other)
{
    return one == other || (one->kind == PTX_LEGACY && other->kind == PTX_BLOCKING) ||
           (one->kind == PTX_BLOCKING && other->kind == PTX_LEGACY);
}

static bool awaited(const struct ptx_stream *stream, const struct ptx_stream *other, enum tails tails)
{
    if (tails == OWN_TAILS) return joined(stream, other);
    return tails == ALL_TAILS || (tails == BLOCKING_TAILS && other->kind != PTX_NON_BLOCKING);
}

bool stream_idle(const struct ptx_stream *stream)
{
    for (const struct ptx_stream *s = stream->context->streams; s; s = s->next)
        if (s->tail && joined(stream, s)) return false;
    return !stream->context->gate;
}

static void wait_for(struct op *op, struct op *other)
{
    if (!other || other->head.done) return;
    struct link *link = &op->links[op->waits++];
    link->op = op;
    link->next = other->followers;
    other->followers = link;
}

struct op *op_new(struct context *context, struct ptx_stream *stream, struct op *other, enum kind kind, enum tails tails)
{
    size_t most = 2;
    for (struct ptx_stream *s = context->streams; s; s = s->next) most += s->tail && awaited(stream, s, tails);
    struct op *op = calloc(1, sizeof *op + most * sizeof *op->links);
    if (!op) return NULL;
    op->references = 2;
    op->kind = kind;
    op->context = context;
    context_hold(context);
    wait_for(op, other);
    wait_for(op, context->gate);
    for (struct ptx_stream *s = context->streams; s; s = s->next)
        if (awaited(stream, s, tails)) wait_for(op, s->tail);
    if ((op->stream = stream)) {
        stream->references++;
        stream->tail = op;
    }
    __atomic_fetch_add(&context->head.pending, 1, __ATOMIC_RELAXED);
    return op;
}

struct ptx_op *op_submit(struct op *op)
{
    if (!op->waits) list_push(&ready, op);
    return &op->head;
}

/* ---- starting and ending --------------------------------------------------------------------------------------- */

static void start(struct op *op)
{
    uint32_t status = op->context->ended ? CONTEXT_IS_DESTROYED : op->context->head.faulted;
    if (op->kind == CALL && !op->context->ended) call_start(op, status);
    else if (op->kind == CALLBACK && !op->context->ended) host_start(op);
    else if (status || op->kind == NOTHING) op_finish(op, status);
    else if (op->kind == LAUNCH) launch_start(op);
    else if (op->kind == HOST) host_start(op);
    else memory_start(op);
}

void op_finish(struct op *op, uint32_t status)
{
    struct context *context = op->context;
    op->head.status = status;
    op->head.time = engine_now();
    __atomic_fetch_sub(&context->head.pending, 1, __ATOMIC_RELEASE); /* read without the lock */
    if (context->gate == op) context->gate = NULL;
    if (op->stream) {
        if (op->stream->tail == op) op->stream->tail = NULL;
        stream_free(op->stream);
    }
    for (struct link *link = op->followers; link; link = link->next)
        if (!--link->op->waits) list_push(&ready, link->op);
    __atomic_store_n(&op->head.done, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&op->head.watched, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &op->head.done, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    ptx_op_release(&op->head);
    context_free(context);
}

static void in_child(void)
{
    pthread_mutex_init(&engine_mutex, NULL);
    ready = (struct list){ NULL, NULL };
    engine_generation++;
    workers_forget();
    memory_forget();
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

void engine_lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&engine_mutex);
}

void engine_go(void)
{
    for (struct op *op; (op = list_pop(&ready));) start(op);
}

void engine_unlock(void)
{
    engine_go();
    pthread_mutex_unlock(&engine_mutex);
}

/* Either who finishes it sees the mark, or who wants to sleep sees that it is done: neither order is missed. */
uint64_t ptx_op_watch(struct ptx_op *op)
{
    __atomic_store_n(&op->watched, 1, __ATOMIC_SEQ_CST);
    return (uintptr_t)&op->done;
}

void ptx_op_hold(struct ptx_op *op) { atomic_fetch_add(&((struct op *)op)->references, 1); }

/* Takes no lock: also a forked child lets go of what it inherited. */
void ptx_op_release(struct ptx_op *given)
{
    struct op *op = (struct op *)given;
    if (atomic_fetch_sub(&op->references, 1) != 1) return;
    free(op->owned);
    free(op);
}
