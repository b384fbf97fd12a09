/* What is reported of adversarial memory: each pair of instructions once. */
#include "late.h"

static bool news(struct ptx_adversary *adversary, const struct told *now) {
    for (uint32_t i = 0; i < adversary->told_count; i++)
        if (!memcmp(&adversary->told[i], now, sizeof *now)) return false;
    if (adversary->told_count == MOST_TOLD || adversary->finding_count == MOST_FINDINGS) return false;
    adversary->told[adversary->told_count++] = *now;
    return true;
}

static struct ptx_finding *begin(uint32_t kind, const struct late *late, const struct late_block *block,
                                 const struct ptx_party *reader) {
    struct ptx_adversary *adversary = adversary_of(block);
    struct told now;
    memset(&now, 0, sizeof now); /* compared whole */
    now.kind = kind;
    now.reader = reader->instruction;
    now.writer = late->party.instruction;
    now.reader_code = block->run->code;
    now.writer_code = late->run->code;
    if (!news(adversary, &now)) return NULL;
    struct ptx_finding *finding = &adversary->findings[adversary->finding_count++];
    *finding = (struct ptx_finding){ .kind = kind, .had = late->scope, .reader = *reader, .writer = late->party };
    finding->wanted = late->writer.block == block->serial     ? PTX_SCOPE_CTA
                      : late->writer.device == block->device ? PTX_SCOPE_GPU
                                                              : PTX_SCOPE_SYS;
    return finding;
}

void finding_alias(const struct late *late, const struct late_block *block, const struct ptx_party *reader) {
    begin(PTX_FINDING_ALIAS, late, block, reader);
}

void finding_order(const struct late *late, const struct late_block *block, const struct ptx_party *reader,
                   const struct seen *later) {
    struct ptx_finding *finding = begin(later ? PTX_FINDING_RELEASE : PTX_FINDING_RACE, late, block, reader);
    if (finding && later) finding->later = later->party;
}

uint32_t ptx_adversary_take(struct ptx_adversary *adversary, struct ptx_finding *out, uint32_t room) {
    pthread_mutex_lock(&adversary->lock);
    uint32_t count = adversary->finding_count < room ? adversary->finding_count : room;
    memcpy(out, adversary->findings, count * sizeof *out);
    adversary->finding_count -= count;
    memmove(adversary->findings, adversary->findings + count, adversary->finding_count * sizeof *out);
    pthread_mutex_unlock(&adversary->lock);
    return count;
}
