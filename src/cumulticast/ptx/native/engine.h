/* The engine of streams: work that is carried out later, by threads of its own, in the order that streams ask for.
 *
 * Work is a graph. A piece of work (an op) waits for a few others, and goes when all of them are done: the one before it in
 * its stream, those that the legacy default stream joins with, the one that an event stands for. Everything here may be
 * called by any thread; nothing here waits for Python's lock, and the engine's own lock is held for moments only. */
#ifndef PTX_ENGINE_H
#define PTX_ENGINE_H
#include "runtime.h"

// cffi
/* One piece of work. Who is given one holds a reference to it (ptx_op_release). */
struct ptx_op {
    uint32_t done;   /* a futex word, for FUTEX_WAIT without PRIVATE: 0, then 1 */
    uint32_t status; /* once done: 0, or the CUresult for which it was not carried out */
    uint64_t time;   /* when it was done: CLOCK_MONOTONIC, nanoseconds */
    uint64_t number; /* what a call of Python's was enqueued with */
    uint32_t watched; /* somebody may sleep on `done` (ptx_op_watch) */
};

/* The streams of one CUcontext. */
struct ptx_context {
    uint32_t pending; /* ops that are not done */
    uint32_t faulted; /* the CUresult of the fault after which nothing more is carried out; 0: none */
};

struct ptx_engine;
struct ptx_stream;

/* A machine's worth of contexts: one for each process that was initialised. NULL without memory, like all below. */
struct ptx_engine *ptx_engine_begin(void);
/* End all contexts, and let ptx_call_next answer NULL. Kernels that run are asked to stop and waited for, at most `seconds`;
 * answers how many still run. Host functions that have begun are not waited for. */
uint32_t ptx_engine_end(struct ptx_engine *engine, double seconds);
void ptx_engine_release(struct ptx_engine *engine);

struct ptx_context *ptx_context_begin(struct ptx_engine *engine);
/* Carry nothing more out: as ptx_engine_end, for one context. */
uint32_t ptx_context_end(struct ptx_context *context, double seconds);
void ptx_context_release(struct ptx_context *context);
/* The fault behind `faulted`, and the op that met it (a number that is compared, not looked behind). */
const struct ptx_fault *ptx_context_fault(const struct ptx_context *context);
uint64_t ptx_context_fault_op(const struct ptx_context *context);
/* Make a context fail, unless it has failed before: work of Python's met a fault. */
void ptx_context_fail(struct ptx_context *context, uint32_t status, const char *reason);

/* How a stream stands to the legacy default stream of its context. */
enum { PTX_LEGACY = 0, PTX_BLOCKING = 1, PTX_NON_BLOCKING = 2 };
struct ptx_stream *ptx_stream_begin(struct ptx_context *context, int kind);
/* Nothing more comes. What it was given is carried out. */
void ptx_stream_end(struct ptx_stream *stream);
/* Whether work handed over now would wait for nothing. */
int ptx_stream_idle(const struct ptx_stream *stream);

/* Each of these hands over one piece of work. */
struct ptx_op *ptx_enqueue_launch(struct ptx_stream *stream, const struct ptx_launch *launch);
struct ptx_op *ptx_enqueue_record(struct ptx_stream *stream);
struct ptx_op *ptx_enqueue_after(struct ptx_stream *stream, struct ptx_op *other);
/* function(data); not called once the context has failed. */
struct ptx_op *ptx_enqueue_host(struct ptx_stream *stream, void *function, void *data);
/* function(handle, status, data), in any case. */
struct ptx_op *ptx_enqueue_callback(struct ptx_stream *stream, void *function, void *data, void *handle);
/* A function of Python's: ptx_call_next hands it out when its time has come. */
struct ptx_op *ptx_enqueue_call(struct ptx_stream *stream, uint64_t number);

/* Wait until a word in memory is as wanted, or write one. */
enum { PTX_WAIT_GEQ = 0, PTX_WAIT_EQ = 1, PTX_WAIT_AND = 2, PTX_WAIT_NOR = 3, PTX_WRITE = 4 };
struct ptx_memory_op {
    uint64_t address;
    uint64_t value;
    uint32_t kind;
    uint32_t bytes; /* 4 or 8 */
};
struct ptx_op *ptx_enqueue_memory(struct ptx_stream *stream, const struct ptx_memory_op *ops, uint32_t count);

/* Make an op that is done when all that the stream has been given is (of the legacy stream: and what it joins with). NULL:
 * it is. Answers -1 without memory. */
int ptx_stream_join(struct ptx_stream *stream, struct ptx_op **op);
/* Likewise for all streams of a context; never NULL. */
int ptx_context_join(struct ptx_context *context, struct ptx_op **op);
/* Let all future work of a context wait for `other` as well; 0, or -1 without memory. */
int ptx_context_after(struct ptx_context *context, struct ptx_op *other);

/* Wait for a call of Python's whose time has come; its `status` is not 0 when it is not to be carried out. NULL: the engine
 * has ended. */
struct ptx_op *ptx_call_next(struct ptx_engine *engine);
/* It was carried out; takes the reference that ptx_call_next gave. */
void ptx_call_done(struct ptx_op *op);

/* Answer the address of `done`, to sleep on. */
uint64_t ptx_op_watch(struct ptx_op *op);
void ptx_op_hold(struct ptx_op *op);
void ptx_op_release(struct ptx_op *op);
// end
#endif
