/* May this foreign pointer be read or written? The kernel tries, so a bad one answers EFAULT instead of
 * killing us.
 *
 * futex(2) is the probe, since every process may call it (glibc's locks live on it; process_vm_readv is often
 * forbidden in containers). FUTEX_CMP_REQUEUE reads a word; FUTEX_WAKE_OP ORs 0 into it, atomically, so that
 * nothing changes. Both are asked to wake and move nobody. Any errno but EFAULT means that the word was
 * reached, or that the kernel forbids the question; then the pointer is taken on trust, as a real driver
 * takes it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "native.h"

#ifndef MADV_POPULATE_READ /* Linux 5.14; the C library may be older than the kernel */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#define MANY_PAGES 8

static uint32_t bystander; /* the other word that both operations ask for */

static int reads(uintptr_t word) {
    return syscall(SYS_futex, word, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0, 0L, &bystander, 0) >= 0 || errno != EFAULT;
}

static int writes(uintptr_t word) {
    /* Waiters on the word would be woken if it were below -2048; they must stand a needless wake anyway. */
    const unsigned or_nothing = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0x800);
    return syscall(SYS_futex, &bystander, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0L, word, or_nothing) >= 0 ||
           errno != EFAULT;
}

/* One aligned word of every page that [address, address + length) touches; no page ends inside an aligned
 * word. */
static int every_page(uintptr_t address, size_t length, int (*probe)(uintptr_t)) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (length == 0) return 1;
    if (address == 0 || length - 1 > UINTPTR_MAX - address) return 0;
    const uintptr_t last = address + (length - 1);
    for (uintptr_t at = address;;) {
        if (!probe(at & ~(uintptr_t)3)) return 0;
        if (last - (at & ~(page - 1)) < page) return 1;
        at = (at & ~(page - 1)) + page;
    }
}

/* A long range at one stroke: the kernel faults all its pages in, as using them would. It refuses some good mappings
 * (device memory), older kernels and sandboxes refuse all; so a yes is a yes, and a no sends us from page to page. */
static int whole_range(uintptr_t address, size_t length, int advice) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = address & ~(page - 1);
    if (length < MANY_PAGES * page || length > UINTPTR_MAX - address) return 0;
    if (UINTPTR_MAX - address - length < page) return 0; /* the rounded end would wrap round to 0 */
    return madvise((void *)start, ((address + length + page - 1) & ~(page - 1)) - start, advice) == 0;
}

int memory_readable(uintptr_t address, size_t length) {
    return whole_range(address, length, MADV_POPULATE_READ) || every_page(address, length, reads);
}

int memory_writable(uintptr_t address, size_t length) {
    return whole_range(address, length, MADV_POPULATE_WRITE) || every_page(address, length, writes);
}
