/* What the files of the engine know of each other. All of it is guarded by one lock, but for what says otherwise. */
#ifndef PTX_ENGINE_WORK_H
#define PTX_ENGINE_WORK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "engine.h"

#define CONTEXT_IS_DESTROYED 709
#define OUT_OF_RESOURCES 701
#define ILLEGAL_ADDRESS 700
#define LAUNCH_TIMEOUT 702

enum kind { NOTHING, LAUNCH, HOST, CALLBACK, MEMORY, CALL };

struct op;
struct link { struct op *op; struct link *next; };
struct list { struct op *first, *last; };

struct ptx_engine {
    uint32_t references;
    uint32_t generation;
    bool ended;
    struct list calls;
    struct context *contexts;
    pthread_cond_t called;
};

struct context {
    struct ptx_context head;
    uint32_t references; /* Python's, each op's and stream's, its thread's */
    bool ended;
    struct ptx_engine *engine;
    struct context *next; /* of the engine's */
    struct ptx_fault fault;
    uint64_t fault_op;
    struct ptx_stream *streams;
    struct op *gate;      /* all later work waits for this, too */
    uint32_t running;     /* launches that have begun and were not given back */
    struct list hosts;    /* host functions whose time has come */
    bool host_thread;
    pthread_cond_t hosted;
};

struct ptx_stream {
    struct context *context;
    struct ptx_stream *next;
    struct op *tail;     /* its newest work; NULL: all is done */
    uint32_t references; /* Python's and each op's */
    int kind;
};

struct launching {
    struct ptx_launch given;
    struct ptx_run *run;
    uint64_t began;
    uint32_t inside; /* threads in a turn */
    bool started, beginning, finished, stopped;
};

struct op {
    struct ptx_op head;
    atomic_uint references; /* the engine's until it is done, and the caller's */
    enum kind kind;
    uint32_t waits; /* for how many others */
    struct context *context;
    struct ptx_stream *stream; /* NULL: a join */
    struct link *followers;
    struct op *next; /* in the list that it stands in */
    union {
        struct launching launch;
        struct { void *function, *data, *handle; } host;
        struct { struct ptx_memory_op *ops; uint32_t count, at; } memory;
    };
    void *owned; /* freed with it: parameters, memory operations */
    struct link links[]; /* one for each op that it waits for */
};

extern pthread_mutex_t engine_mutex;

void engine_lock(void);
/* Start what can go, then let go of the lock. */
void engine_unlock(void);
/* The first half of that: before a thread waits on a condition. */
void engine_go(void);
uint64_t engine_now(void);
void engine_condition(pthread_cond_t *condition);
/* Start a thread that signals leave alone and that keeps nobody from ending; false when there is none to be had. */
bool engine_thread(void *(*function)(void *), void *argument, const char *name);

void list_push(struct list *list, struct op *op);
struct op *list_pop(struct list *list);
void list_remove(struct list *list, struct op *op);

/* Which newest works an op waits for, beside the context's gate and `other`: what its stream asks for; those of the legacy
 * stream and of all that it joins with; those of all streams; none. */
enum tails { OWN_TAILS, BLOCKING_TAILS, ALL_TAILS, NO_TAILS };
struct op *op_new(struct context *context, struct ptx_stream *stream, struct op *other, enum kind kind, enum tails tails);
/* It is complete: it may go. Answers the caller's reference. */
struct ptx_op *op_submit(struct op *op);
void op_finish(struct op *op, uint32_t status);
bool stream_idle(const struct ptx_stream *stream);
void stream_free(struct ptx_stream *stream);
void context_hold(struct context *context);
void context_free(struct context *context);
/* Let the context fail, unless it has. */
void context_fail(struct context *context, const struct ptx_fault *fault, uint64_t op);
void context_fail_plainly(struct context *context, uint32_t status, const char *reason, struct op *op);

/* Of each kind of work: its time has come; and: its context ends or has failed. */
void launch_start(struct op *op);
bool launch_turn(struct op *op);
void launch_first_turn(struct op *op);
void launch_stop_all(struct context *context);
void memory_start(struct op *op);
void memory_drop(struct context *context);
void host_start(struct op *op);
void host_drop(struct context *context);
void call_start(struct op *op, uint32_t status);
void call_drop(struct context *context);
/* Ask memory again; answers how many ops still wait. */
uint32_t memory_poll(void);
/* Wake those who carry launches on, or one of them. */
void workers_wake(bool all);
extern struct list engine_runs;
/* In a forked child, which has neither the threads nor the work of its parent. */
void workers_forget(void);
void memory_forget(void);
extern uint32_t engine_generation; /* how often that has happened on the way to this process */
#endif
