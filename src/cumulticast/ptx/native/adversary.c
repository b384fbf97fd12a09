/* An adversary, its launches and blocks: how they begin and end. */
#define _GNU_SOURCE
#include "late.h"
#include <stdlib.h>
#include <sys/mman.h>

#define RIGHTS_BYTES ((size_t)1 << (PTX_ADDRESS_BITS - PTX_RIGHTS_SHIFT))

struct ptx_adversary *ptx_adversary_begin(uint64_t seed) {
    struct ptx_adversary *adversary = calloc(1, sizeof *adversary);
    if (!adversary) return NULL;
    /* Nothing is ever written there: it takes no memory. */
    adversary->no_rights = mmap(NULL, RIGHTS_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (adversary->no_rights == MAP_FAILED) {
        free(adversary);
        return NULL;
    }
    adversary->seed = seed;
    adversary->next.alone = true;
    pthread_mutex_init(&adversary->lock, NULL);
    pthread_mutex_init(&adversary->books, NULL);
    return adversary;
}

void ptx_adversary_end(struct ptx_adversary *adversary) {
    for (struct late *late = adversary->spare, *next; late; late = next) {
        next = late->after;
        free(late);
    }
    munmap(adversary->no_rights, RIGHTS_BYTES);
    pthread_mutex_destroy(&adversary->lock);
    pthread_mutex_destroy(&adversary->books);
    free(adversary);
}

void ptx_adversary_know(struct ptx_adversary *adversary, const struct ptx_alias *aliases, uint64_t count, uint32_t alone) {
    pthread_mutex_lock(&adversary->books);
    adversary->next = (struct known){ aliases, count, alone };
    pthread_mutex_unlock(&adversary->books);
}

void ptx_adversary_listen(struct ptx_adversary *adversary, void (*told)(void *context), void *context) {
    adversary->listener = told;
    adversary->listener_context = context;
}

int adversary_enter(struct ptx_adversary *adversary) {
    if (pthread_mutex_trylock(&adversary->lock)) return 0;
    pthread_mutex_lock(&adversary->books);
    adversary->now = adversary->next;
    pthread_mutex_unlock(&adversary->books);
    return 1;
}

void adversary_leave(struct ptx_adversary *adversary) {
    bool news = adversary->finding_count && adversary->listener;
    pthread_mutex_unlock(&adversary->lock);
    if (news) adversary->listener(adversary->listener_context);
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

int adversary_run_begin(struct ptx_run *run) {
    struct ptx_adversary *adversary = run->launch.adversary;
    if (!adversary) return 1;
    struct late_run *late = calloc(1, sizeof *late);
    if (!late) return 0;
    run->late = late;
    run->launch.withheld = run->launch.head.multicast;
    run->launch.head.multicast = NULL;
    run->launch.head.shared_window = 0;
    pthread_mutex_lock(&adversary->books);
    *late = (struct late_run){ .adversary = adversary, .run = run, .next = adversary->runs, .code = run->launch.code };
    late->random = late_mix(adversary->seed, run->launch.ordinal ? run->launch.ordinal : ++adversary->launches);
    __atomic_store_n(&adversary->runs, late, __ATOMIC_RELEASE); /* a turn may be walking over them */
    pthread_mutex_unlock(&adversary->books);
    return 1;
}

void *adversary_rights(const struct ptx_run *run) { return run->late->adversary->no_rights; }

static void empty(struct late_list *list, int forget) {
    while (list->first) (forget ? late_forget : late_carry_out)(list->first);
}

void adversary_run_over(struct ptx_run *run, int forget) {
    struct late_run *late = run->late;
    for (struct late_block *block = late->blocks; block; block = block->next) empty(&block->list, forget);
    empty(&late->ended, forget);
    if (late->over) return;
    late->over = true;
    pthread_mutex_lock(&late->adversary->books);
    struct late_run **at = &late->adversary->runs;
    while (*at != late) at = &(*at)->next;
    *at = late->next;
    pthread_mutex_unlock(&late->adversary->books);
}

void adversary_run_free(struct ptx_run *run) {
    struct late_run *late = run->late;
    if (!late) return;
    if (!late->over) { /* it never came to its end, so nobody is in a turn of it that could be waited for in vain */
        pthread_mutex_lock(&late->adversary->lock);
        adversary_run_over(run, 1);
        pthread_mutex_unlock(&late->adversary->lock);
    }
    for (struct late_block *block = late->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(late);
}

static void carry_out_due(struct late_list *list, uint64_t passes) {
    for (struct late *late = list->first, *next; late; late = next) {
        next = late->after;
        if (late->due <= passes) late_carry_out(late);
    }
}

void adversary_pass(struct ptx_run *run) {
    carry_out_due(&run->late->ended, ++run->late->passes);
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* Memory that nobody has written holds what is no number in any format: a sum over it shows. */
static void fill(char *memory, size_t size, uint64_t random) {
    for (size_t at = 0; at + 4 <= size; at += 4) {
        const uint32_t word = 0xffff0000u | (uint16_t)late_mix(random, at);
        memcpy(memory + at, &word, 4);
    }
}

void adversary_block_begin(struct ptx_block *block, uint64_t index) {
    struct ptx_run *run = block->group->run;
    struct late_block *late = calloc(1, sizeof *late);
    if (!late) ptx_fail(block->warps[0].warp, 0, 2, 0, 0, "the host has no memory for what adversarial memory remembers");
    late->run = run->late;
    late->block = block;
    late->device = run->launch.head.device;
    late->random = late_mix(late->run->random, index);
    late->serial = ++late->run->adversary->serials;
    late->next = late->run->blocks;
    late->run->blocks = late;
    for (uint32_t i = 0; i < run->warps; i++) block->warps[i].warp->adversary = late;
    const struct ptx_warp *first = block->warps[0].warp;
    fill(first->shared, run->launch.head.shared_size, late->random);
    fill(first->local, (size_t)run->launch.head.local_size * PTX_LANES * run->warps, late->random + 1);
}

void adversary_block_pass(struct ptx_block *block) {
    struct late_block *late = block->warps[0].warp->adversary;
    carry_out_due(&late->list, ++late->passes);
}

/* What was written to shared memory that is nobody's any more. */
static void forget_shared(struct late_list *list, const char *shared, uint32_t size) {
    for (struct late *late = list->first, *next; late; late = next) {
        next = late->after;
        if ((uint64_t)(late->place - shared) < size) late_forget(late);
    }
}

/* What it has written stays late. */
void adversary_block_end(struct ptx_block *block) {
    struct late_block *late = block->warps[0].warp->adversary;
    struct late_run *run = late->run;
    const char *shared = block->warps[0].warp->shared;
    const uint32_t size = block->group->run->launch.head.shared_size;
    forget_shared(&late->list, shared, size);
    if (block->group->run->cluster > 1) { /* others of its cluster may have written there */
        forget_shared(&run->ended, shared, size);
        for (struct late_block *other = run->blocks; other; other = other->next) forget_shared(&other->list, shared, size);
    }
    while (late->list.first) {
        late->list.first->due = run->passes + 1 + late_draw(&run->random, 16);
        late_move(late->list.first, &run->ended);
    }
    struct late_block **at = &run->blocks;
    while (*at != late) at = &(*at)->next;
    *at = late->next;
    for (uint32_t i = 0; i < block->group->run->warps; i++) block->warps[i].warp->adversary = NULL;
    free(late);
}
