/* Every legal pair of element and operation, once: PTX ISA, multimem.ld_reduce and multimem.red, as ptxas 13.5 has them.
 *
 * X(element, operation, stored type, accumulated type, load, combine, finish): load widens a stored element,
 * combine joins two, finish narrows. The bit-wise pairs of signed types are those of the unsigned (b32, b64),
 * as is signed addition. */
#ifndef CUMULTICAST_ELEMENTS_H
#define CUMULTICAST_ELEMENTS_H
#include "half.h"

#define SAME(a) (a)
#define ADD(a, b) ((a) + (b))
#define MIN(a, b) ((b) < (a) ? (b) : (a))
#define MAX(a, b) ((b) > (a) ? (b) : (a))
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define F16_MIN_KEY(a) half_min_key((a), F16_INFINITY)
#define F16_MAX_KEY(a) half_max_key((a), F16_INFINITY)
#define BF16_MIN_KEY(a) half_min_key((a), BF16_INFINITY)
#define BF16_MAX_KEY(a) half_max_key((a), BF16_INFINITY)

#define FLOAT_PAIRS(X) \
    X(F32, ADD, float, float, SAME, ADD, canonical_f32) \
    X(F64, ADD, double, double, SAME, ADD, SAME) \
    X(F16, ADD, uint16_t, float, float_of_f16, ADD, f16_of_float) \
    X(F16, MIN, uint16_t, int16_t, F16_MIN_KEY, MIN, half_of_key) \
    X(F16, MAX, uint16_t, int16_t, F16_MAX_KEY, MAX, half_of_key) \
    X(BF16, ADD, uint16_t, float, float_of_bf16, ADD, bf16_of_float) \
    X(BF16, MIN, uint16_t, int16_t, BF16_MIN_KEY, MIN, half_of_key) \
    X(BF16, MAX, uint16_t, int16_t, BF16_MAX_KEY, MAX, half_of_key)

#define INTEGER_PAIR(X, element, operation, type) X(element, operation, type, type, SAME, operation, SAME)
#define ORDER(X, element, type) INTEGER_PAIR(X, element, MIN, type) INTEGER_PAIR(X, element, MAX, type)
#define BITS(X, element, type) \
    INTEGER_PAIR(X, element, AND, type) INTEGER_PAIR(X, element, OR, type) INTEGER_PAIR(X, element, XOR, type)

#define ORDER_PAIRS(X) ORDER(X, U32, uint32_t) ORDER(X, S32, int32_t) ORDER(X, U64, uint64_t) ORDER(X, S64, int64_t)

/* The pairs that processors have as one atomic instruction. */
#define FETCH_PAIRS(X) \
    INTEGER_PAIR(X, U32, ADD, uint32_t) BITS(X, U32, uint32_t) INTEGER_PAIR(X, S32, ADD, uint32_t) BITS(X, S32, uint32_t) \
    INTEGER_PAIR(X, U64, ADD, uint64_t) BITS(X, U64, uint64_t) BITS(X, S64, uint64_t)

#define ALL_PAIRS(X) FLOAT_PAIRS(X) ORDER_PAIRS(X) FETCH_PAIRS(X)

#define ELEMENT_SIZE(element) \
    ((element) == ELEMENT_F16 || (element) == ELEMENT_BF16 ? 2u \
     : (element) == ELEMENT_F64 || (element) == ELEMENT_U64 || (element) == ELEMENT_S64 ? 8u : 4u)
#endif
