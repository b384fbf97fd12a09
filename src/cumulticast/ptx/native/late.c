/* A late write: kept, found, and at last carried out. */
#include "late.h"
#include <stdlib.h>

uint64_t late_mix(uint64_t a, uint64_t b) {
    uint64_t x = a + 0x9e3779b97f4a7c15u * (b + 1); /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint32_t late_draw(uint64_t *state, uint32_t limit) {
    *state += 0x9e3779b97f4a7c15u;
    return (uint32_t)((late_mix(*state, 0) >> 32) * limit >> 32);
}

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static void append(struct late *late, struct late_list *list) {
    late->list = list;
    late->after = NULL;
    late->before = list->last;
    *(list->last ? &list->last->after : &list->first) = late;
    list->last = late;
}

static void leave(struct late *late) {
    *(late->before ? &late->before->after : &late->list->first) = late->after;
    *(late->after ? &late->after->before : &late->list->last) = late->before;
}

void late_move(struct late *late, struct late_list *list) {
    leave(late);
    append(late, list);
}

static void leave_cell(struct ptx_adversary *adversary, struct late *late) {
    const uint32_t cell = cell_of(late->spot.key);
    *(late->last_in_cell ? &late->last_in_cell->next_in_cell : &adversary->cells[cell]) = late->next_in_cell;
    *(late->next_in_cell ? &late->next_in_cell->last_in_cell : &adversary->last_in_cells[cell]) = late->last_in_cell;
}

/* Answer an empty one in a list; NULL: the host has no memory for it. */
struct late *late_new(struct ptx_adversary *adversary, struct late_list *list) {
    struct late *late = adversary->spare;
    if (late) adversary->spare = late->after;
    else late = malloc(sizeof *late);
    if (late) append(late, list);
    return late;
}

/* Its spot is known: let it be found. */
void late_enter(struct ptx_adversary *adversary, struct late *late) {
    const uint32_t cell = cell_of(late->spot.key);
    late->next_in_cell = NULL;
    late->last_in_cell = adversary->last_in_cells[cell];
    *(late->last_in_cell ? &late->last_in_cell->next_in_cell : &adversary->cells[cell]) = late;
    adversary->last_in_cells[cell] = late;
    adversary->late_count++;
}

void late_widen(struct late *late) {
    struct ptx_adversary *adversary = late->run->adversary;
    if (late->wide) return;
    late->wide = true;
    late->wide_before = NULL;
    late->wide_after = adversary->wide;
    if (adversary->wide) adversary->wide->wide_before = late;
    adversary->wide = late;
}

static void narrow(struct ptx_adversary *adversary, struct late *late) {
    if (!late->wide) return;
    *(late->wide_before ? &late->wide_before->wide_after : &adversary->wide) = late->wide_after;
    if (late->wide_after) late->wide_after->wide_before = late->wide_before;
}

void late_forget(struct late *late) {
    struct ptx_adversary *adversary = late->run->adversary;
    narrow(adversary, late);
    leave_cell(adversary, late);
    leave(late);
    adversary->late_count--;
    late->after = adversary->spare;
    adversary->spare = late;
}

/* ---- the end of waiting ----------------------------------------------------------------------------------------- */

void late_record(struct ptx_adversary *adversary, const struct spot *spot, const struct seen *by, bool upon) {
    const uint64_t first = spot->key >> GRANULE_SHIFT, last = (spot->key + spot->size - 1) >> GRANULE_SHIFT;
    for (uint64_t number = first; number <= last; number++) {
        struct granule *granule = granule_of(adversary, number);
        if (upon && granule->number == number) memmove(granule->by + 1, granule->by, (WAYS - 1) * sizeof *by);
        else memset(granule->by, 0, sizeof granule->by);
        granule->number = number;
        granule->by[0] = *by;
    }
}

/* It is in no list any more when memory is touched: a fault of the host's leaves the books whole. */
void late_carry_out(struct late *late) {
    const struct late was = *late;
    char *place = was.place;
    late_forget(late);
    const struct seen by = { was.writer, was.party };
    late_record(was.run->adversary, &was.spot, &by, was.code != PTX_COPY);
    if (was.code == PTX_COPY) ptx_put(place, was.data, was.spot.size);
    else ptx_act(was.code, 1, &place, was.data, NULL, NULL);
}
