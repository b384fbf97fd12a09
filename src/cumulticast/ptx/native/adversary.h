/* Adversarial memory: what the PTX memory model allows and a processor never shows.
 *
 * Writes to global and shared memory are late: they wait, and are carried out later, in another order, until the writing
 * thread orders them. A release makes them visible to a scope (block, device, system): whoever is in it and looks finds
 * them carried out. Memory bound to a multicast object has two kinds of addresses; what was written through one kind is
 * seen through the other after fence.proxy.alias. All of it is drawn from a seed, so that it can be had again.
 *
 * The machine code is that of plain memory. Its table of rights is empty and its multicast table withheld, so that every
 * access comes to the functions of memory.c, atomics.c and multimem.c, and these come here. One thread at a time carries
 * on the kernels of an adversary (run.c), which guards everything here. */
#ifndef PTX_ADVERSARY_H
#define PTX_ADVERSARY_H
#include "memory.h"

// cffi
/* Memory that several addresses lead to: [begin, end) is the same as what lies at `to`. Of memory bound to a multicast
 * object that is the place of its replica (struct ptx_segment). Ascending. */
struct ptx_alias {
    uint64_t begin, end, to;
    uint32_t bound; /* to a multicast object */
};

/* A write or read that a finding is about. */
struct ptx_party {
    uint64_t grid; /* gridid of its launch */
    uint64_t address;
    uint32_t instruction;
    uint32_t multicast; /* the address is a multicast address */
    uint32_t block[3];
    uint32_t thread; /* in the block, as a number */
};

/* What a finding says: memory was read through one kind of address while a write through the other was not fenced; it
 * was read although a later write of the same thread was seen, so that a release is missing between the two; or nothing
 * at all orders the write before the read. */
enum { PTX_FINDING_ALIAS = 1, PTX_FINDING_RELEASE = 2, PTX_FINDING_RACE = 3 };
/* How far a release reaches. */
enum { PTX_SCOPE_NONE, PTX_SCOPE_WARP, PTX_SCOPE_CTA, PTX_SCOPE_GPU, PTX_SCOPE_SYS };
struct ptx_finding {
    uint32_t kind;
    uint32_t wanted, had; /* scopes: that of writer and reader; that to which the write was released */
    struct ptx_party reader, writer, later;
};

struct ptx_adversary *ptx_adversary_begin(uint64_t seed);
/* No kernel of its runs. */
void ptx_adversary_end(struct ptx_adversary *adversary);
/* `alone`: no other process sees any of the memory, so that what is released may wait for fence.proxy.alias. The array has
 * to stay. */
void ptx_adversary_know(struct ptx_adversary *adversary, const struct ptx_alias *aliases, uint64_t count, uint32_t alone);
/* Have a function called when there are findings, by the thread that met them. */
void ptx_adversary_listen(struct ptx_adversary *adversary, void (*told)(void *context), void *context);
/* Take findings, at most `room`; each pair of instructions is reported once. */
uint32_t ptx_adversary_take(struct ptx_adversary *adversary, struct ptx_finding *out, uint32_t room);
// end

struct ptx_run;
struct ptx_block;
struct late_block;

/* What an instruction orders, in one word: how far a release reaches, and whether it is fence.proxy.alias. */
#define PTX_ORDER_SCOPE(what) ((what) & 255u)
#define PTX_ORDER_ALIAS(what) ((what) >> 8 & 1u)

/* run.c: nobody else carries on a kernel of this adversary until it is left; 0: somebody does. */
int adversary_enter(struct ptx_adversary *adversary);
void adversary_leave(struct ptx_adversary *adversary);
/* Hide from machine code what it would use without asking; 0 without memory. */
int adversary_run_begin(struct ptx_run *run);
/* Carry out, or forget, all that a launch has written and is still late. */
void adversary_run_over(struct ptx_run *run, int forget);
void adversary_run_free(struct ptx_run *run);
/* The table of rights that its machine code is to see. */
void *adversary_rights(const struct ptx_run *run);
/* A group of blocks has had a pass: time goes by for what blocks have left behind that have ended. */
void adversary_pass(struct ptx_run *run);

/* block.c */
void adversary_block_begin(struct ptx_block *block, uint64_t index);
void adversary_block_pass(struct ptx_block *block);
void adversary_block_end(struct ptx_block *block);

/* Whatever touches memory: carry out what these lanes have to see at an address, and find out whether they read what they
 * should not. `place` is the host's address. */
void adversary_touch(struct ptx_warp *warp, uint32_t number, uint32_t lanes, uint32_t what, const char *place);
/* The same, through a multicast address, of one replica. */
void adversary_touch_replica(struct ptx_warp *warp, uint32_t number, uint32_t lanes, uint32_t what, uint64_t address,
                             const char *place);
/* Carry out all that a warp may see, and all of its own: before a copy of any length. */
void adversary_settle(struct ptx_warp *warp);
/* Let a write be late. `code` as in arithmetic.h, PTX_COPY: a store. `shown` is the multicast address, or 0. */
void adversary_write(struct ptx_warp *warp, uint32_t number, uint32_t lanes, uint32_t what, uint32_t code, uint64_t shown,
                     char *place, const void *data);
/* An atomic act has been carried out at once. */
void adversary_acted(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint32_t what, const char *place);
/* What lanes have written is ordered for a scope. */
void adversary_release(struct ptx_warp *warp, uint32_t lanes, uint32_t scope);
#endif
