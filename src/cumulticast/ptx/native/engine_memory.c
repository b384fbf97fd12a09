/* Work that waits for a word in memory, or writes one (cuStreamWaitValue32 and its kin). */
#include "engine_work.h"
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct list polled; /* what has looked and found that it must wait */
static uint32_t polled_count;

/* Whether the word can be read: the kernel compares it and does not sleep, since no time is given. */
static bool readable(uint32_t *word)
{
    static const struct timespec none;
    return !syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &none, NULL, 0) || errno != EFAULT;
}

/* Whether it can be written: the kernel ORs zero into it. */
static bool writable(uint32_t *word)
{
    long r = syscall(SYS_futex, word, FUTEX_WAKE_OP_PRIVATE, 0, 0UL, word,
                     FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, -1));
    return r >= 0 || errno != EFAULT;
}

static uint64_t load(const struct ptx_memory_op *op)
{
    if (op->bytes == 4) return __atomic_load_n((uint32_t *)op->address, __ATOMIC_ACQUIRE);
    return __atomic_load_n((uint64_t *)op->address, __ATOMIC_ACQUIRE);
}

static void store(const struct ptx_memory_op *op)
{
    if (op->bytes == 4) __atomic_store_n((uint32_t *)op->address, (uint32_t)op->value, __ATOMIC_SEQ_CST);
    else __atomic_store_n((uint64_t *)op->address, op->value, __ATOMIC_SEQ_CST);
}

static bool satisfied(const struct ptx_memory_op *op)
{
    uint64_t seen = load(op), all = op->bytes == 4 ? UINT32_MAX : UINT64_MAX;
    switch (op->kind) {
    case PTX_WAIT_GEQ: /* cyclic, as documented */
        return op->bytes == 4 ? (int32_t)(uint32_t)(seen - op->value) >= 0 : (int64_t)(seen - op->value) >= 0;
    case PTX_WAIT_EQ: return seen == (op->value & all);
    case PTX_WAIT_AND: return (seen & op->value) != 0;
    default: return (~(seen | op->value) & all) != 0;
    }
}

enum outcome { PASSED, WAITS, FAILED };

static enum outcome carry_out(const struct ptx_memory_op *op)
{
    uint32_t *word = (uint32_t *)op->address;
    if (!(op->kind == PTX_WRITE ? writable : readable)(word)) return FAILED;
    if (op->kind != PTX_WRITE) return satisfied(op) ? PASSED : WAITS;
    store(op);
    return PASSED;
}

static enum outcome carry_all_out(struct op *op)
{
    for (; op->memory.at < op->memory.count; op->memory.at++) {
        enum outcome came = carry_out(&op->memory.ops[op->memory.at]);
        if (came != PASSED) return came;
    }
    return PASSED;
}

static void end(struct op *op, enum outcome came)
{
    if (came == FAILED) {
        const struct ptx_memory_op *bad = &op->memory.ops[op->memory.at];
        char reason[128];
        snprintf(reason, sizeof reason, "a stream's %s of the value at %#llx finds no memory there",
                 bad->kind == PTX_WRITE ? "write" : "wait", (unsigned long long)bad->address);
        context_fail_plainly(op->context, ILLEGAL_ADDRESS, reason, op);
    }
    op_finish(op, came == FAILED ? ILLEGAL_ADDRESS : 0);
}

void memory_start(struct op *op)
{
    enum outcome came = carry_all_out(op);
    if (came != WAITS) {
        end(op, came);
        return;
    }
    list_push(&polled, op);
    polled_count++;
    workers_wake(false);
}

/* Take one out of the list first: what ends may drop others of its context. */
uint32_t memory_poll(void)
{
    for (uint32_t left = polled_count; left && polled.first; left--) {
        struct op *op = list_pop(&polled);
        enum outcome came = carry_all_out(op);
        if (came == WAITS) list_push(&polled, op);
        else {
            polled_count--;
            end(op, came);
        }
    }
    return polled_count;
}

void memory_drop(struct context *context)
{
    struct list kept = { NULL, NULL };
    for (struct op *op; (op = list_pop(&polled));) {
        if (op->context != context) list_push(&kept, op);
        else {
            polled_count--;
            op_finish(op, context->ended ? CONTEXT_IS_DESTROYED : context->head.faulted);
        }
    }
    polled = kept;
}

void memory_forget(void)
{
    polled = (struct list){ NULL, NULL };
    polled_count = 0;
}
