/* What accesses see of late writes, and what releases and fences make of them. */
#include "late.h"

/* ---- which memory an address means ------------------------------------------------------------------------------- */

static const struct ptx_alias *alias_of(const struct ptx_adversary *adversary, uint64_t address) {
    const struct ptx_alias *aliases = adversary->now.aliases;
    uint64_t low = 0, high = adversary->now.count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (aliases[middle].begin <= address) low = middle + 1;
        else high = middle;
    }
    return low && address < aliases[low - 1].end ? &aliases[low - 1] : NULL;
}

static struct spot spot_of(const struct ptx_adversary *adversary, const char *place, uint32_t size) {
    struct spot spot = { .key = (uintptr_t)place, .size = size };
    const struct ptx_alias *alias = alias_of(adversary, spot.key);
    if (!alias) return spot;
    spot.key = alias->to + (spot.key - alias->begin);
    spot.bound = alias->bound;
    return spot;
}

static struct spot replica_spot(const char *place, uint32_t size) {
    return (struct spot){ .key = (uintptr_t)place, .size = size, .multicast = true, .bound = true };
}

static struct ptx_party party_of(const struct ptx_warp *warp, uint32_t number, uint32_t lanes, uint64_t address) {
    const struct ptx_launch_head *head = warp->launch;
    struct ptx_party party = { .grid = head->gridid, .address = address, .instruction = number };
    memcpy(party.block, warp->ctaid, sizeof party.block);
    party.thread = warp->warpid * PTX_LANES + (lanes ? (uint32_t)__builtin_ctz(lanes) : 0);
    return party;
}

/* ---- to see ------------------------------------------------------------------------------------------------------ */

/* One who looks. */
struct view {
    struct late_block *block;
    uint32_t warp, lanes;
    bool reads, weak;
    struct spot spot;
    struct ptx_party party;
};

static bool has_to_see(const struct late *late, const struct view *view) {
    if (!own(late, view->block, view->warp, view->lanes) && !covers(late, view->block, view->warp)) return false;
    return late->spot.multicast == view->spot.multicast || late->fenced || !late->spot.bound;
}

/* Whether the block has seen a write that the missed one was to be visible before. */
static const struct seen *seen_after(const struct late_block *block, const struct late *late) {
    for (uint32_t i = 0; i < MOST_SEEN && i < block->seen_count; i++) {
        const struct writer *by = &block->seen[i].writer, *of = &late->writer;
        const bool same = by->block == of->block && by->warp == of->warp && (by->lanes & of->lanes);
        if (same && by->sequence > of->sequence) return &block->seen[i];
        const bool ordered = (late->scope >= PTX_SCOPE_WARP && by->block == of->block && by->warp == of->warp) ||
                             (late->scope >= PTX_SCOPE_CTA && by->block == of->block) ||
                             (late->scope >= PTX_SCOPE_GPU && by->device == of->device);
        if (ordered && by->sequence > late->released) return &block->seen[i];
    }
    return NULL;
}

/* A write that need not be seen was missed. Was that meant? */
static void missed(struct late *late, const struct view *view) {
    if (own(late, view->block, view->warp, view->lanes) || covers(late, view->block, view->warp)) {
        finding_alias(late, view->block, &view->party);
        if (!late->patience--) late_carry_out(late);
        return;
    }
    const struct seen *later = seen_after(view->block, late);
    if (later || (view->weak && late->weak)) finding_order(late, view->block, &view->party, later);
}

/* A write for all lanes of a warp and one of a lane are different ones here: each is compared with its like. */
static bool same_thread(const struct writer *a, const struct writer *b) {
    return a->block == b->block && a->warp == b->warp && a->lanes == b->lanes;
}

/* Of each thread the last write that was seen is kept; of the threads, those seen last. */
static void remember(struct late_block *block, const struct seen *by) {
    const uint32_t known = block->seen_count < MOST_SEEN ? block->seen_count : MOST_SEEN;
    uint32_t at = 0;
    while (at < known && !same_thread(&block->seen[at].writer, &by->writer)) at++;
    if (at < known && block->seen[at].writer.sequence >= by->writer.sequence) return;
    if (at == known) at = block->seen_count++ % MOST_SEEN;
    block->seen[at] = *by;
}

/* Take down whose writes stand in what is read. */
static void learn(const struct view *view) {
    const uint64_t first = view->spot.key >> GRANULE_SHIFT, last = (view->spot.key + view->spot.size - 1) >> GRANULE_SHIFT;
    for (uint64_t number = first; number <= last; number++) {
        const struct granule *granule = granule_of(adversary_of(view->block), number);
        for (uint32_t way = 0; granule->number == number && way < WAYS; way++)
            if (granule->by[way].writer.sequence) remember(view->block, &granule->by[way]);
    }
}

static void look(const struct view *view) {
    struct ptx_adversary *adversary = adversary_of(view->block);
    for (struct late *late = adversary->cells[cell_of(view->spot.key)], *next; late; late = next) {
        next = late->next_in_cell;
        if (!overlap(&late->spot, &view->spot)) continue;
        if (has_to_see(late, view)) late_carry_out(late);
        else if (view->reads) missed(late, view);
    }
    if (view->reads) learn(view);
}

/* With every access some write of the block's may be carried out, and some of a block's that has ended. */
static void stir(struct late_block *block) {
    struct late_list *lists[] = { &block->list, &block->run->ended };
    for (int i = 0; i < 2; i++) {
        if (late_draw(&block->random, 4)) continue;
        struct late *late = lists[i]->first;
        for (uint32_t steps = late_draw(&block->random, 16); late && steps; steps--) late = late->after;
        if (late) late_carry_out(late);
    }
}

static void touch(struct ptx_warp *warp, uint32_t number, uint32_t lanes, uint32_t what, struct spot spot, uint64_t address) {
    struct view view = { .block = block_of(warp), .warp = warp->warpid, .lanes = lanes, .spot = spot };
    const uint32_t right = PTX_WHAT_RIGHT(what);
    view.reads = (right & PTX_RIGHT_READ) != 0;
    view.weak = right == PTX_RIGHT_READ && !PTX_WHAT_STRONG(what);
    view.party = party_of(warp, number, lanes, address);
    view.party.multicast = spot.multicast;
    look(&view);
}

void adversary_touch(struct ptx_warp *warp, uint32_t number, uint32_t lanes, uint32_t what, const char *place) {
    touch(warp, number, lanes, what, spot_of(adversary_of(block_of(warp)), place, PTX_WHAT_SIZE(what)), (uintptr_t)place);
}

void adversary_touch_replica(struct ptx_warp *warp, uint32_t number, uint32_t lanes, uint32_t what, uint64_t address,
                             const char *place) {
    touch(warp, number, lanes, what, replica_spot(place, PTX_WHAT_SIZE(what)), address);
}

/* ---- to write ---------------------------------------------------------------------------------------------------- */

static struct writer writer_of(const struct ptx_warp *warp, uint32_t lanes) {
    const struct late_block *block = block_of(warp);
    return (struct writer){ block->serial, block->device, warp->warpid, lanes, ++adversary_of(block)->sequence };
}

static void make_room(struct late_block *block) {
    struct ptx_adversary *adversary = adversary_of(block);
    if (adversary->late_count < MOST_LATE) return;
    struct late *oldest = block->run->ended.first ? block->run->ended.first : block->list.first;
    if (oldest) late_carry_out(oldest);
}

enum { LONGEST_WAIT = 8, LONGEST_PATIENCE = 8 };

void adversary_write(struct ptx_warp *warp, uint32_t number, uint32_t lanes, uint32_t what, uint32_t code, uint64_t shown,
                     char *place, const void *data) {
    struct late_block *block = block_of(warp);
    struct ptx_adversary *adversary = adversary_of(block);
    const uint32_t size = PTX_WHAT_SIZE(what);
    make_room(block);
    struct late *late = late_new(adversary, &block->list);
    if (!late) ptx_fail(warp, number, 2, 0, 0, "the host has no memory for writes that are late");
    struct late_list *list = late->list;
    struct late *before = late->before;
    memset(late, 0, sizeof *late);
    late->list = list;
    late->before = before;
    late->run = block->run;
    late->spot = shown ? replica_spot(place, size) : spot_of(adversary, place, size);
    late->writer = writer_of(warp, lanes);
    late->due = block->passes + 1 + late_draw(&block->random, LONGEST_WAIT);
    late->patience = 1 + late_draw(&block->random, LONGEST_PATIENCE);
    late->code = code;
    late->weak = !PTX_WHAT_STRONG(what);
    late->place = place;
    late->party = party_of(warp, number, lanes, shown ? shown : (uintptr_t)place);
    late->party.multicast = shown != 0;
    memcpy(late->data, data, size);
    late_enter(adversary, late);
    stir(block);
}

void adversary_acted(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint32_t what, const char *place) {
    struct ptx_adversary *adversary = adversary_of(block_of(warp));
    const struct spot spot = spot_of(adversary, place, PTX_WHAT_SIZE(what));
    const struct seen by = { writer_of(warp, 1u << lane), party_of(warp, number, 1u << lane, (uintptr_t)place) };
    late_record(adversary, &spot, &by, true);
}

/* ---- to order ---------------------------------------------------------------------------------------------------- */

struct order {
    struct late_block *block;
    uint32_t warp, lanes, scope;
};

typedef void each(struct late *late, const struct order *order);

static bool concerns(const struct late *late, const struct order *order) {
    return own(late, order->block, order->warp, order->lanes) || covers(late, order->block, order->warp);
}

/* Go through all that concerns somebody: it is in its own block, or was released further. */
static void each_late(each *act, const struct order *order, bool far) {
    for (struct late *late = order->block->list.first, *next; late; late = next) {
        next = late->after;
        if (concerns(late, order)) act(late, order);
    }
    for (struct late *late = far ? adversary_of(order->block)->wide : NULL, *next; late; late = next) {
        next = late->wide_after;
        if (concerns(late, order)) act(late, order);
    }
}

/* Whether a write was released to all kernels that run. */
static bool reaches_all(const struct late *late) {
    if (late->scope != PTX_SCOPE_GPU) return late->scope == PTX_SCOPE_SYS;
    for (const struct late_run *run = __atomic_load_n(&late->run->adversary->runs, __ATOMIC_ACQUIRE); run; run = run->next)
        if (run->run->launch.head.device != late->writer.device) return false;
    return true;
}

/* Released to everybody, a write waits only for those who look through the other kind of address. */
static void publish(struct late *late) {
    const struct ptx_adversary *adversary = late->run->adversary;
    if (reaches_all(late) && (late->fenced || !late->spot.bound || !adversary->now.alone)) late_carry_out(late);
}

static void raise(struct late *late, const struct order *order) {
    if (late->scope >= order->scope) return;
    late->scope = order->scope;
    late->released = late->run->adversary->sequence;
    if (late->scope >= PTX_SCOPE_GPU) late_widen(late);
    publish(late);
}

/* What a thread has seen released is released with what it releases itself: all that covers it. */
void adversary_release(struct ptx_warp *warp, uint32_t lanes, uint32_t scope) {
    const struct order order = { block_of(warp), warp->warpid, lanes, scope };
    each_late(raise, &order, scope > PTX_SCOPE_CTA);
}

static void fence_alias(struct late *late, const struct order *order) {
    (void)order;
    late->fenced = true;
    publish(late);
}

static void settle(struct late *late, const struct order *order) {
    (void)order;
    late_carry_out(late);
}

void adversary_settle(struct ptx_warp *warp) {
    const struct order order = { block_of(warp), warp->warpid, UINT32_MAX, 0 };
    each_late(settle, &order, true);
}

/* Machine code: fences, and instructions that release. */
void ptx_order(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what) {
    warp->instruction = number;
    if (PTX_ORDER_ALIAS(what)) {
        const struct order order = { block_of(warp), warp->warpid, active, 0 };
        each_late(fence_alias, &order, true);
    }
    if (PTX_ORDER_SCOPE(what)) adversary_release(warp, active, PTX_ORDER_SCOPE(what));
}
