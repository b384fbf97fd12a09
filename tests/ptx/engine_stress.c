/* The engine of streams under three users at once, with launches that are counters: built with sanitizers by
 * test_engine_stress.py. Prints how many launches were left running (0) and how many host functions were called. */
#include "engine_work.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 25, OPS = 200, STREAMS = 4, USERS = 3, FAILS = 7, TRAP = 719 };

/* ---- launches: so many turns, of which every third moves nothing; on device FAILS they trap */

struct ptx_run { atomic_int left, stopped; struct ptx_fault fault; bool fails; };

struct ptx_run *ptx_run_begin(const struct ptx_launch *launch)
{
    struct ptx_run *run = calloc(1, sizeof *run);
    run->left = (int)launch->head.nctaid[0];
    run->fails = launch->head.device == FAILS;
    return run;
}

int ptx_run_turn(struct ptx_run *run)
{
    if (run->fails) ptx_run_stop(run, TRAP, "trap");
    if (run->stopped) return PTX_FINISHED;
    int was = atomic_fetch_sub(&run->left, 1);
    return was <= 0 ? PTX_FINISHED : was % 3 ? PTX_MOVED : PTX_IDLE;
}

static pthread_mutex_t fault_lock = PTHREAD_MUTEX_INITIALIZER;

void ptx_run_stop(struct ptx_run *run, uint32_t status, const char *reason)
{
    (void)reason;
    pthread_mutex_lock(&fault_lock);
    if (!run->fault.status) run->fault.status = status;
    pthread_mutex_unlock(&fault_lock);
    run->stopped = 1;
}

/* Nobody has to be told where these stand. */
void ptx_run_look(struct ptx_run *run) { (void)run->fault; }

const struct ptx_fault *ptx_run_fault(const struct ptx_run *run) { return &run->fault; }
void ptx_run_end(struct ptx_run *run) { free(run); }

/* ---- users */

static struct ptx_engine *engine;
static atomic_int called;
static uint32_t word;

static void function(void *data) { (void)data, called++; }
static void callback(void *stream, int status, void *data) { (void)stream, (void)status, (void)data, called++; }

static void *python(void *unused)
{
    (void)unused;
    for (struct ptx_op *op; (op = ptx_call_next(engine));) ptx_call_done(op);
    return NULL;
}

struct user {
    unsigned seed;
    struct ptx_context *context;
    struct ptx_stream *streams[STREAMS];
    struct ptx_op *event, *ops[OPS];
    uint32_t flag;
    bool fails;
};

static bool once_in(struct user *u, int n) { return rand_r(&u->seed) % n == 0; }

static struct ptx_op *launch(struct user *u, struct ptx_stream *stream)
{
    static const uint32_t parameters[4];
    struct ptx_launch launch = { .params_size = sizeof parameters, .params = parameters };
    launch.head.nctaid[0] = (uint32_t)rand_r(&u->seed) % 20 + 1;
    launch.head.nctaid[1] = launch.head.nctaid[2] = 1;
    launch.head.device = u->fails && once_in(u, 50) ? FAILS : 0;
    return ptx_enqueue_launch(stream, &launch);
}

/* Write a word, and sometimes wait for the flag that is set when all has been handed over. */
static struct ptx_op *memory(struct user *u, struct ptx_stream *stream)
{
    struct ptx_memory_op ops[] = { { (uintptr_t)&word, 0, PTX_WRITE, 4 }, { (uintptr_t)&u->flag, 1, PTX_WAIT_EQ, 4 } };
    return ptx_enqueue_memory(stream, ops, once_in(u, 8) ? 2 : 1);
}

static struct ptx_op *replace_stream(struct user *u, int which)
{
    ptx_stream_end(u->streams[which]);
    u->streams[which] = ptx_stream_begin(u->context, which == 1 ? PTX_NON_BLOCKING : PTX_BLOCKING);
    return NULL;
}

static struct ptx_op *hand_over(struct user *u)
{
    int which = rand_r(&u->seed) % STREAMS;
    struct ptx_stream *stream = u->streams[which];
    switch (rand_r(&u->seed) % 9) {
    case 0:
    case 1: return launch(u, stream);
    case 2: return ptx_enqueue_record(stream);
    case 3: return ptx_enqueue_host(stream, (void *)function, NULL);
    case 4: return ptx_enqueue_callback(stream, (void *)callback, NULL, NULL);
    case 5: return ptx_enqueue_call(stream, 1);
    case 6: return memory(u, stream);
    case 7: return u->event ? ptx_enqueue_after(stream, u->event) : NULL;
    default:
        if (u->event && once_in(u, 8)) ptx_context_after(u->context, u->event);
        return which && once_in(u, 8) ? replace_stream(u, which) : NULL;
    }
}

static void await(const uint32_t *value, uint32_t wanted)
{
    while (__atomic_load_n(value, __ATOMIC_ACQUIRE) != wanted) usleep(50);
}

static void round_of(struct user *u)
{
    int count = 0;
    u->context = ptx_context_begin(engine);
    u->flag = 0, u->event = NULL, u->fails = once_in(u, 4);
    for (int i = 0; i < STREAMS; i++) u->streams[i] = ptx_stream_begin(u->context, i < 3 ? i : PTX_BLOCKING);
    for (int i = 0; i < OPS; i++) {
        struct ptx_op *op = hand_over(u);
        if (!op) continue;
        u->ops[count++] = op;
        if (once_in(u, 5)) u->event = op;
    }
    struct ptx_op *all;
    ptx_context_join(u->context, &all);
    if (once_in(u, 3)) ptx_context_end(u->context, 5);
    else {
        __atomic_store_n(&u->flag, 1, __ATOMIC_RELEASE);
        await(&all->done, 1);
    }
    for (int i = 0; i < STREAMS; i++) ptx_stream_end(u->streams[i]);
    ptx_context_end(u->context, 5);
    await(&u->context->pending, 0);
    ptx_op_release(all);
    for (int i = 0; i < count; i++) ptx_op_release(u->ops[i]);
    ptx_context_release(u->context);
}

static void *user(void *seed)
{
    struct user *u = calloc(1, sizeof *u);
    u->seed = (unsigned)(uintptr_t)seed;
    for (int round = 0; round < ROUNDS; round++) round_of(u);
    free(u);
    return NULL;
}

int main(void)
{
    pthread_t dispatcher, users[USERS];
    engine = ptx_engine_begin();
    pthread_create(&dispatcher, NULL, python, NULL);
    for (int i = 0; i < USERS; i++) pthread_create(&users[i], NULL, user, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < USERS; i++) pthread_join(users[i], NULL);
    printf("%u %d\n", ptx_engine_end(engine, 5), called);
    pthread_join(dispatcher, NULL);
    ptx_engine_release(engine);
    usleep(100000); /* threads of host functions end by themselves */
    return 0;
}
