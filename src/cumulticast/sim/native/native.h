/* The simulator's C primitives: multicast arithmetic and memory. One declaration each; read by C and by cffi.
 *
 * build_native.py hands everything below the line "// cffi" to cffi, so it holds plain declarations only.
 * Addresses travel as uintptr_t. Unless said otherwise a function answers 0 or an errno value. */
#ifndef CUMULTICAST_NATIVE_H
#define CUMULTICAST_NATIVE_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
// cffi
enum element { ELEMENT_F32, ELEMENT_F64, ELEMENT_F16, ELEMENT_BF16, ELEMENT_U32, ELEMENT_S32, ELEMENT_U64, ELEMENT_S64, ELEMENTS };
enum operation { OPERATION_ADD, OPERATION_MIN, OPERATION_MAX, OPERATION_AND, OPERATION_OR, OPERATION_XOR, OPERATIONS };

/* Replica i of n lies at base + i * stride. */
void multimem_store(uintptr_t base, size_t stride, size_t n, uintptr_t src, size_t nbytes);
int multimem_load_reduce(uintptr_t dst, uintptr_t base, size_t stride, size_t n, size_t count, int element, int operation);
int multimem_reduce(uintptr_t base, size_t stride, size_t n, uintptr_t src, size_t count, int element, int operation);
/* The instruction set of load_reduce: its name; and a choice by number (ERANGE: no such number, ENOSYS: not
 * on this CPU). */
const char *multimem_kernels(void);
int multimem_use_kernels(size_t index);

/* The address, or the negated errno value. */
intptr_t memory_map_none(uintptr_t hint, size_t size, size_t alignment);
int memory_map_file(uintptr_t address, size_t size, int fd, int64_t offset, int protection);
int memory_map_back(uintptr_t address, size_t size);
int memory_unmap(uintptr_t address, size_t size);
int memory_protect(uintptr_t address, size_t size, int protection);
int memory_allocate(int fd, int64_t offset, int64_t length);

/* 1 or 0; neither faults nor modifies. */
int memory_readable(uintptr_t address, size_t length);
int memory_writable(uintptr_t address, size_t length);

/* Copy `count` pieces, each from where its pointer says to its place (offset, size) behind dst. Answers the number of the
 * first piece that cannot be read, `count` for the array of pointers itself, -1 when all went well. */
int memory_gather(uintptr_t dst, uintptr_t pointers, const uint32_t *places, uint32_t count);

void memory_copy(uintptr_t dst, uintptr_t src, size_t nbytes);
void memory_copy_2d(uintptr_t dst, size_t dst_pitch, uintptr_t src, size_t src_pitch, size_t width, size_t height);
void memory_fill(uintptr_t dst, uint32_t value, size_t element_size, size_t count);
void memory_fill_2d(uintptr_t dst, size_t pitch, uint32_t value, size_t element_size, size_t width, size_t height);

/* Words that processes share. */
uint32_t word_load(uintptr_t word);
void word_add_and_wake(uintptr_t word);
// end
#endif
