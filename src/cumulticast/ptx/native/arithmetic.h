/* Atomic acts on memory for the lanes of a warp; the pairs of element and operation are those of the multicast
 * arithmetic, so that atom.add.f16 and multimem.red.add.f16 cannot differ. */
#ifndef PTX_ARITHMETIC_H
#define PTX_ARITHMETIC_H
#include "../../sim/native/elements.h"
#include "../../sim/native/native.h"
#include "memory.h"

/* Further elements and operations, numbered as class Element and class Operation in lower/elements.py. */
enum { PTX_E4M3 = ELEMENTS, PTX_E5M2, PTX_B16, PTX_B32, PTX_B64, PTX_B128 };
enum { PTX_INC = OPERATIONS, PTX_DEC, PTX_EXCH, PTX_CAS };

/* Instead of an operation: the bytes are copied. And where bulk copies are counted: at no barrier, at one, at one in each
 * of some blocks. */
#define PTX_COPY UINT32_MAX
enum { PTX_NO_BARRIER, PTX_ONE_BARRIER, PTX_BLOCKS };

static inline uint32_t ptx_element_size(uint32_t element) {
    static const uint8_t sizes[] = {4, 8, 2, 2, 4, 4, 8, 8, 1, 1, 2, 4, 8, 16};
    return sizes[element];
}

/* What is done, in one word: element, operation, elements of a lane. */
#define PTX_CODE_ELEMENT(code) ((code) & 255u)
#define PTX_CODE_OPERATION(code) ((code) >> 8 & 255u)
#define PTX_CODE_COUNT(code) ((code) >> 16)

/* For PTX_CODE_OPERATION: an f32 sum that flushes subnormal numbers. */
#define PTX_ADD_FLUSHED 255u

/* Lanes act in ascending order, each on its `count` elements at place[lane]. Sources and old values lie lane after
 * lane; `old` may be NULL; `second` is read by CAS only. */
void ptx_act(uint32_t code, uint32_t active, char *const *place, const void *first, const void *second, void *old);
#endif
