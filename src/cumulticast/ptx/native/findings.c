/* What is reported of adversarial memory: each pair of instructions once. */
#include "late.h"

/* Whether it has not been told before and there is room for it: it has been told then. */
static bool news(struct ptx_adversary *adversary, const struct told *now) {
    for (uint32_t i = 0; i < adversary->told_count; i++)
        if (!memcmp(&adversary->told[i], now, sizeof *now)) return false;
    if (adversary->told_count == MOST_TOLD || adversary->finding_count == MOST_FINDINGS) return false;
    adversary->told[adversary->told_count++] = *now;
    return true;
}

static void note(uint32_t kind, const struct late *late, const struct late_block *block, const struct ptx_party *reader,
                 const struct seen *later) {
    struct ptx_adversary *adversary = adversary_of(block);
    struct told now;
    memset(&now, 0, sizeof now); /* it is compared with all that is between its fields */
    now.kind = kind;
    now.reader = reader->instruction;
    now.writer = late->party.instruction;
    now.reader_code = block->run->code;
    now.writer_code = late->run->code;
    pthread_mutex_lock(&adversary->books);
    if (news(adversary, &now)) {
        struct ptx_finding *finding = &adversary->findings[adversary->finding_count++];
        *finding = (struct ptx_finding){ .kind = kind, .had = late->scope, .reader = *reader, .writer = late->party };
        finding->wanted = common_scope(&late->writer, block, reader->thread / PTX_LANES);
        if (later) finding->later = later->party;
    }
    pthread_mutex_unlock(&adversary->books);
}

void finding_alias(const struct late *late, const struct late_block *block, const struct ptx_party *reader) {
    note(PTX_FINDING_ALIAS, late, block, reader, NULL);
}

void finding_order(const struct late *late, const struct late_block *block, const struct ptx_party *reader,
                   const struct seen *later) {
    note(later ? PTX_FINDING_RELEASE : PTX_FINDING_RACE, late, block, reader, later);
}

uint32_t ptx_adversary_take(struct ptx_adversary *adversary, struct ptx_finding *out, uint32_t room) {
    pthread_mutex_lock(&adversary->books);
    const uint32_t count = adversary->finding_count < room ? adversary->finding_count : room;
    memcpy(out, adversary->findings, count * sizeof *out);
    adversary->finding_count -= count;
    memmove(adversary->findings, adversary->findings + count, adversary->finding_count * sizeof *out);
    pthread_mutex_unlock(&adversary->books);
    return count;
}
