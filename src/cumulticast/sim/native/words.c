/* Words of memory that processes share: generations that are counted up, and waiters that are woken. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "native.h"

uint32_t word_load(uintptr_t word) { return __atomic_load_n((uint32_t *)word, __ATOMIC_ACQUIRE); }

void word_add_and_wake(uintptr_t word) {
    __atomic_fetch_add((uint32_t *)word, 1, __ATOMIC_ACQ_REL);
    syscall(SYS_futex, (uint32_t *)word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
