/* Mappings and allocation: thin wrappers that know the flags the simulator needs. Pages are the caller's affair. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "native.h"

/* NORESERVE: half a terabyte of address range costs neither memory nor commit charge. */
#define NOTHING (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static int failed(int result) { return result ? errno : 0; }

static void *reserve(uintptr_t hint, size_t size) { return mmap((void *)hint, size, PROT_NONE, NOTHING, -1, 0); }

/* Keep the aligned `size` bytes of a range that is `alignment` longer; both ends go back. */
static intptr_t trim(uintptr_t start, size_t size, size_t alignment) {
    uintptr_t kept = (start + alignment - 1) & ~(uintptr_t)(alignment - 1);
    if (kept > start) munmap((void *)start, kept - start);
    if (start + alignment > kept) munmap((void *)(kept + size), start + alignment - kept);
    return (intptr_t)kept;
}

intptr_t memory_map_none(uintptr_t hint, size_t size, size_t alignment) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (size % page || (alignment & (alignment - 1))) return -EINVAL;
    void *range = reserve(hint, size);
    if (range == MAP_FAILED) return -errno;
    if (alignment <= page || (uintptr_t)range % alignment == 0) return (intptr_t)range;
    munmap(range, size);
    if (size > SIZE_MAX - alignment) return -ENOMEM;
    range = reserve(hint, size + alignment);
    return range == MAP_FAILED ? -errno : trim((uintptr_t)range, size, alignment);
}

int memory_map_file(uintptr_t address, size_t size, int fd, int64_t offset, int protection) {
    return failed(mmap((void *)address, size, protection, MAP_SHARED | MAP_FIXED, fd, offset) == MAP_FAILED);
}

int memory_map_back(uintptr_t address, size_t size) {
    return failed(mmap((void *)address, size, PROT_NONE, NOTHING | MAP_FIXED, -1, 0) == MAP_FAILED);
}

int memory_unmap(uintptr_t address, size_t size) { return failed(munmap((void *)address, size)); }

int memory_protect(uintptr_t address, size_t size, int protection) {
    return failed(mprotect((void *)address, size, protection));
}

/* The file keeps its size: it is the size of the allocation, sparse or not. */
int memory_allocate(int fd, int64_t offset, int64_t length) {
    int error;
    do error = failed(fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, length));
    while (error == EINTR);
    return error;
}

int memory_gather(uintptr_t dst, uintptr_t pointers, const uint32_t *places, uint32_t count) {
    if (!memory_readable(pointers, count * sizeof(uint64_t))) return (int)count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t from;
        memcpy(&from, (const char *)pointers + i * sizeof from, sizeof from);
        const uint32_t offset = places[2 * i], size = places[2 * i + 1];
        if (!memory_readable((uintptr_t)from, size)) return (int)i;
        memcpy((char *)dst + offset, (const void *)(uintptr_t)from, size);
    }
    return -1;
}

void memory_copy(uintptr_t dst, uintptr_t src, size_t nbytes) { memmove((void *)dst, (const void *)src, nbytes); }

void memory_copy_2d(uintptr_t dst, size_t dst_pitch, uintptr_t src, size_t src_pitch, size_t width, size_t height) {
    for (size_t row = 0; row < height; row++) memory_copy(dst + row * dst_pitch, src + row * src_pitch, width);
}

/* The element's low bytes, by memcpy: dst need not be aligned, and the loop vectorises. */
#define FILL(T) \
    static void fill_##T(char *dst, T value, size_t count) { \
        for (size_t i = 0; i < count; i++) memcpy(dst + i * sizeof value, &value, sizeof value); \
    }
FILL(uint16_t)
FILL(uint32_t)

void memory_fill(uintptr_t dst, uint32_t value, size_t element_size, size_t count) {
    if (element_size == 4) fill_uint32_t((char *)dst, value, count);
    else if (element_size == 2) fill_uint16_t((char *)dst, (uint16_t)value, count);
    else memset((void *)dst, (uint8_t)value, count);
}

void memory_fill_2d(uintptr_t dst, size_t pitch, uint32_t value, size_t element_size, size_t width, size_t height) {
    for (size_t row = 0; row < height; row++) memory_fill(dst + row * pitch, value, element_size, width);
}
