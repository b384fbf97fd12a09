/* What the two halves of the door share: libcuda.so.1 (door.c, no Python in it) and the extension module
 * cumulticast.libcuda._door (build_door.py), which puts a Python function behind it. */
#ifndef CUMULTICAST_DOOR_H
#define CUMULTICAST_DOOR_H
#include <stdint.h>

/* Why a call cannot be handed on as it is; `index` is the parameter's, from 0. */
enum { FAULT_NONE = 0, FAULT_NULL = 1, FAULT_UNREADABLE = 2, FAULT_UNWRITABLE = 3, FAULT_INTERRUPTED = 4 };
#define FAULT(kind, index) ((int32_t)((kind) | (index) << 8))

/* Answered by Python instead of a CUresult: wait on out[0] (address of a 32-bit futex word) while it holds
 * out[1], at most out[2] nanoseconds, then ask again. */
#define DOOR_WAIT (-1)

struct door_callbacks {
    /* Run one call. `u` and `i` are the same argument words, unsigned and sign-extended. */
    int32_t (*dispatch)(int32_t entry, int32_t fault, uint64_t thread, const uint64_t *u, const int64_t *i,
                        uint64_t *out);
    /* Run pending signal handlers. 0: none raised. 1: one raised, and the exception will be raised again as soon
     * as the call has returned. -1: one raised and there is nobody to raise it to. */
    int32_t (*signals)(void);
};
#endif
