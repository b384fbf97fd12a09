/* Inside of adversarial memory: writes that are late, and the books of who has seen what. */
#ifndef PTX_LATE_H
#define PTX_LATE_H
#include <pthread.h>
#include <stdbool.h>

#include "adversary.h"
#include "arithmetic.h"
#include "run.h"

enum {
    CELL_SHIFT = 5,      /* an access is aligned and has at most 32 bytes: it lies in one cell */
    CELLS = 1 << 15,     /* buckets of cells */
    GRANULE_SHIFT = 3,   /* 8 bytes have a record of who wrote there last */
    GRANULES = 1 << 14,
    WAYS = 4,
    MOST_LATE = 1 << 14, /* writes that may be late at once; then the oldest go */
    MOST_SEEN = 64,
    MOST_FINDINGS = 64,
    MOST_TOLD = 1024
};

/* Bytes as one kind of address names them. Several addresses of the same memory have one key. */
struct spot {
    uint64_t key;
    uint32_t size;
    bool multicast; /* named by a multicast address */
    bool bound;     /* the memory has both kinds of addresses */
};

/* Who wrote, as far as those need to know that look. */
struct writer {
    uint64_t block; /* its serial number */
    uint32_t device, warp, lanes;
    uint64_t sequence;
};

/* Three ways around: all writes of a cell, in the order of the program; all of a block (or left behind by ended blocks);
 * all that were released to a device or further, and wait still. */
struct late {
    struct late *next_in_cell, *last_in_cell;
    struct late *before, *after;
    struct late_list *list;
    struct late *wide_before, *wide_after;
    struct late_run *run;
    struct spot spot;
    struct writer writer;
    uint64_t released; /* when it was released as far as it is */
    uint64_t due;      /* the pass after which it waits no longer */
    uint32_t scope;
    uint32_t code;
    uint32_t patience; /* reads through the other kind of address that may miss it */
    bool wide;
    bool weak, fenced; /* fence.proxy.alias has joined both kinds of addresses */
    char *place;
    struct ptx_party party;
    uint8_t data[32];
};

struct late_list {
    struct late *first, *last;
};

/* A write that has been seen. */
struct seen {
    struct writer writer;
    struct ptx_party party;
};

/* Who has written to some 8 bytes: the last one; before it, those whose writes it has built upon. */
struct granule {
    uint64_t number;
    struct seen by[WAYS];
};

/* A block that is resident. */
struct late_block {
    struct late_block *next;
    struct late_run *run;
    struct ptx_block *block;
    struct late_list list;
    uint64_t serial, random, passes;
    uint32_t device, seen_count;
    struct seen seen[MOST_SEEN];
};

/* A launch. */
struct late_run {
    struct late_run *next;
    struct ptx_adversary *adversary;
    struct ptx_run *run;
    struct late_block *blocks;
    struct late_list ended;
    uint64_t random, passes;
    void *code;
    bool over;
};

/* What is known of the process. */
struct known {
    const struct ptx_alias *aliases;
    uint64_t count;
    bool alone;
};

struct told {
    uint32_t kind, reader, writer;
    void *reader_code, *writer_code;
};

/* Two locks. `lock` is held for a kernel's turn, in which it may call Python, which may wait for whoever calls us: nothing
 * else waits for it. `books` is held for moments: it guards what is handed in and out. */
struct ptx_adversary {
    pthread_mutex_t lock, books;
    uint64_t seed, sequence, serials, launches;
    struct known now, next; /* `next` is what was handed in */
    void *no_rights;
    struct late *spare;
    uint32_t late_count;
    struct late *cells[CELLS], *last_in_cells[CELLS];
    struct granule granules[GRANULES];
    struct late_run *runs;
    struct late *wide;
    uint32_t finding_count, told_count;
    struct ptx_finding findings[MOST_FINDINGS];
    struct told told[MOST_TOLD];
    void (*listener)(void *context);
    void *listener_context;
};

static inline struct late_block *block_of(const struct ptx_warp *warp) { return warp->adversary; }
static inline struct ptx_adversary *adversary_of(const struct late_block *block) { return block->run->adversary; }

/* Draw a number below `limit`. */
uint32_t late_draw(uint64_t *state, uint32_t limit);
uint64_t late_mix(uint64_t a, uint64_t b);

/* late.c */
struct late *late_new(struct ptx_adversary *adversary, struct late_list *list);
void late_enter(struct ptx_adversary *adversary, struct late *late);
void late_carry_out(struct late *late);
void late_forget(struct late *late);
void late_move(struct late *late, struct late_list *list);
/* It was released to a device or further. */
void late_widen(struct late *late);
static inline uint32_t cell_of(uint64_t key) { return (uint32_t)(key >> CELL_SHIFT) % CELLS; }
static inline bool overlap(const struct spot *a, const struct spot *b) {
    return a->key < b->key + b->size && b->key < a->key + a->size;
}
/* Write down that somebody has written these bytes; `upon`: building upon what stood there (atomic acts do). */
void late_record(struct ptx_adversary *adversary, const struct spot *spot, const struct seen *by, bool upon);
static inline struct granule *granule_of(struct ptx_adversary *adversary, uint64_t number) {
    return &adversary->granules[number % GRANULES];
}

/* The least scope that holds writer and reader. */
static inline uint32_t common_scope(const struct writer *writer, const struct late_block *block, uint32_t warp) {
    if (writer->block == block->serial) return writer->warp == warp ? PTX_SCOPE_WARP : PTX_SCOPE_CTA;
    return writer->device == block->device ? PTX_SCOPE_GPU : PTX_SCOPE_SYS;
}
/* Whether a write was released to a scope that a warp is in. */
static inline bool covers(const struct late *late, const struct late_block *block, uint32_t warp) {
    return late->scope >= common_scope(&late->writer, block, warp);
}
static inline bool own(const struct late *late, const struct late_block *block, uint32_t warp, uint32_t lanes) {
    return late->writer.block == block->serial && late->writer.warp == warp && (late->writer.lanes & lanes);
}

/* findings.c */
void finding_alias(const struct late *late, const struct late_block *block, const struct ptx_party *reader);
void finding_order(const struct late *late, const struct late_block *block, const struct ptx_party *reader,
                   const struct seen *later);
#endif
