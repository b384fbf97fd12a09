/* mbarrier: a barrier of any threads in a word of shared memory, which also counts bytes that copies still owe.
 *
 * The word, from its lowest bit: pending arrivals (20 bits), arrivals expected in every phase (20), bytes owed (23, as
 * two's complement: bytes may arrive before they are announced), phase (1). The state that arrive answers is the word
 * as it was before. Source: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier". */
#include "mbarrier.h"

#include <stdio.h>

#define PENDING_SHIFT 0
#define EXPECTED_SHIFT 20
#define OWED_SHIFT 40
#define PHASE_SHIFT 63
#define COUNT_MASK (((uint64_t)1 << 20) - 1)
#define OWED_MASK (((uint64_t)1 << 23) - 1)

static uint64_t part(uint64_t word, int shift, uint64_t mask) { return word >> shift & mask; }

static uint64_t with(uint64_t word, int shift, uint64_t mask, uint64_t value) {
    return (word & ~(mask << shift)) | (value & mask) << shift;
}

/* A phase is over when nobody and nothing is waited for; the next one begins at once. */
static uint64_t settle(uint64_t word) {
    if (part(word, PENDING_SHIFT, COUNT_MASK) || part(word, OWED_SHIFT, OWED_MASK)) return word;
    return with(word, PENDING_SHIFT, COUNT_MASK, part(word, EXPECTED_SHIFT, COUNT_MASK)) ^ (uint64_t)1 << PHASE_SHIFT;
}

static uint64_t owe(uint64_t word, uint64_t bytes) {
    return with(word, OWED_SHIFT, OWED_MASK, part(word, OWED_SHIFT, OWED_MASK) + bytes);
}

static uint64_t arrive(uint64_t word, uint64_t count) {
    return settle(with(word, PENDING_SHIFT, COUNT_MASK, part(word, PENDING_SHIFT, COUNT_MASK) - count));
}

static uint64_t drop(uint64_t word, uint64_t count) {
    return arrive(with(word, EXPECTED_SHIFT, COUNT_MASK, part(word, EXPECTED_SHIFT, COUNT_MASK) - count), count);
}

static uint64_t after(uint64_t word, uint32_t operation, uint64_t operand) {
    switch (operation) {
    case PTX_INIT: return (operand & COUNT_MASK) << PENDING_SHIFT | (operand & COUNT_MASK) << EXPECTED_SHIFT;
    case PTX_INVAL: return 0;
    case PTX_ARRIVE_ON: return arrive(word, operand);
    case PTX_ARRIVE_EXPECT: return arrive(owe(word, operand), 1);
    case PTX_DROP: return drop(word, operand);
    case PTX_DROP_EXPECT: return drop(owe(word, operand), 1);
    case PTX_EXPECT: return owe(word, operand);
    case PTX_COMPLETE: return settle(owe(word, -operand));
    default: return word;
    }
}

uint64_t ptx_mbarrier_act(uint64_t *word, uint32_t operation, uint64_t operand) {
    uint64_t was = __atomic_load_n(word, __ATOMIC_ACQUIRE), now;
    do now = after(was, operation, operand);
    while (now != was && !__atomic_compare_exchange_n(word, &was, now, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    return was;
}

/* What a lane is told: a wait, whether the phase that the state (or the parity) names is over; else the state. */
static uint64_t answer(uint64_t was, uint32_t operation, uint64_t operand) {
    if (operation == PTX_TEST) return (was ^ operand) >> PHASE_SHIFT;
    if (operation == PTX_TEST_PARITY) return (was >> PHASE_SHIFT) != (operand & 1);
    return was;
}

/* How many arrivals an operation is; those that count none cannot be too many. */
static uint64_t arrivals(uint32_t operation, uint64_t operand) {
    switch (operation) {
    case PTX_ARRIVE_ON:
    case PTX_DROP: return operand;
    case PTX_ARRIVE_EXPECT:
    case PTX_DROP_EXPECT: return 1;
    default: return 0;
    }
}

/* More arrivals than are pending: the word was never initialised, most often. An H200 answers 719. */
static void check_arrivals(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint64_t address, uint64_t was,
                           uint64_t count) {
    char reason[PTX_REASON_BYTES];
    const uint64_t pending = part(was, PENDING_SHIFT, COUNT_MASK);
    if (count <= pending) return;
    snprintf(reason, sizeof reason, "%llu arrivals on the mbarrier at 0x%llx, where %llu are pending%s",
             (unsigned long long)count, (unsigned long long)address, (unsigned long long)pending,
             part(was, EXPECTED_SHIFT, COUNT_MASK) ? "" : ": it was not initialised");
    ptx_fail(warp, number, PTX_LAUNCH_FAILED, lane, address, reason);
}

void ptx_mbarrier(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint32_t operation,
                  const uint64_t *address, const uint64_t *operand, uint64_t *result) {
    char *place[PTX_LANES];
    ptx_places(warp, number, active, what, address, place);
    PTX_EACH_LANE(lane, active) {
        const uint64_t was = ptx_mbarrier_act((uint64_t *)place[lane], operation, operand[lane]);
        check_arrivals(warp, number, lane, address[lane], was, arrivals(operation, operand[lane]));
        result[lane] = answer(was, operation, operand[lane]);
    }
}

void ptx_mbarrier_complete(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint32_t space, uint64_t address,
                           uint32_t bytes) {
    const uint32_t what = space | 8u << 8 | (PTX_RIGHT_READ | PTX_RIGHT_WRITE) << 16;
    uint64_t addresses[PTX_LANES];
    char *place[PTX_LANES];
    addresses[lane] = address;
    ptx_places(warp, number, 1u << lane, what, addresses, place);
    ptx_mbarrier_act((uint64_t *)place[lane], PTX_COMPLETE, bytes);
}
