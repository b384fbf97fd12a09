/* Barriers in shared memory. */
#ifndef PTX_MBARRIER_H
#define PTX_MBARRIER_H
#include "memory.h"

/* Operations, numbered as class Act in lower/mbarrier.py. */
enum {
    PTX_INIT, PTX_INVAL, PTX_ARRIVE_ON, PTX_ARRIVE_EXPECT, PTX_DROP, PTX_DROP_EXPECT, PTX_EXPECT, PTX_COMPLETE,
    PTX_TEST, PTX_TEST_PARITY
};

/* Carry an operation out on a barrier; answers the word as it was before. */
uint64_t ptx_mbarrier_act(uint64_t *word, uint32_t operation, uint64_t operand);

/* Count bytes of a copy that a lane began as arrived. */
void ptx_mbarrier_complete(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint32_t space, uint64_t address,
                           uint32_t bytes);
#endif
