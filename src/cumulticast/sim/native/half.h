/* The 16-bit floats in integer code: exact for all 65536 values and vectorised by any compiler on any CPU.
 *
 * _Float16 is not used: without F16C gcc calls a library function for every element, and with it gcc 12 converts them
 * one by one. */
#ifndef CUMULTICAST_HALF_H
#define CUMULTICAST_HALF_H
#include <stdint.h>
#include <string.h>

/* PTX: a NaN result is canonical (the destination's all-ones pattern with the sign clear). */
#define F32_NAN 0x7fffffffu
#define HALF_NAN 0x7fffu
#define F16_INFINITY 0x7c00u
#define BF16_INFINITY 0x7f80u

static inline float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float canonical_f32(float value) { return value == value ? value : float_of(F32_NAN); }

static inline float float_of_bf16(uint16_t half) { return float_of((uint32_t)half << 16); }

/* Round to nearest, ties to even: add half of the last place, less one when that place is even. */
static inline uint16_t bf16_of_float(float value) {
    uint32_t bits = bits_of(value);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? HALF_NAN : rounded);
}

static inline float float_of_f16(uint16_t half) {
    uint32_t magnitude = (uint32_t)(half & 0x7fffu) << 13, sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t normal = magnitude + (112u << 23); /* the exponent's bias: 127 - 15 */
    /* A subnormal is its mantissa times 2^-24: hang it below 2^-14 and take that away again. */
    uint32_t subnormal = bits_of(float_of(magnitude + (113u << 23)) - float_of(113u << 23));
    uint32_t bits = magnitude < (1u << 23) ? subnormal : normal;
    bits = magnitude >= (31u << 23) ? (magnitude | (255u << 23)) : bits; /* infinity and NaN */
    return float_of(bits | sign);
}

static inline uint16_t f16_of_float(float value) {
    uint32_t all = bits_of(value), bits = all & 0x7fffffffu, sign = (all >> 16) & 0x8000u;
    /* Overflow needs no case below 2^16: from 65520 on the carry of the rounding makes 0x7c00, infinity. */
    uint32_t normal = (bits - (112u << 23) + 0xfffu + ((bits >> 13) & 1u)) >> 13;
    /* Below 2^-14 adding 0.5 leaves the multiples of 2^-24 in the last place, rounded by the FPU itself. */
    uint32_t subnormal = bits_of(float_of(bits) + 0.5f) - bits_of(0.5f);
    uint32_t half = bits < (113u << 23) ? subnormal : normal;
    half = bits >= (143u << 23) ? F16_INFINITY : half;
    return (uint16_t)(bits > 0x7f800000u ? HALF_NAN : (half | sign));
}

/* An integer that orders as the float does, -0 below +0. Its own inverse on the bits. */
static inline int16_t half_key(uint16_t half) {
    return (int16_t)(half ^ ((uint16_t)((int16_t)half >> 15) & 0x7fffu));
}

static inline int half_is_nan(uint16_t half, uint16_t infinity) { return (half & 0x7fffu) > infinity; }

/* For min a NaN becomes the greatest key, for max the least: any number wins over it. */
static inline int16_t half_min_key(uint16_t half, uint16_t infinity) {
    return half_is_nan(half, infinity) ? INT16_MAX : half_key(half);
}

static inline int16_t half_max_key(uint16_t half, uint16_t infinity) {
    return half_is_nan(half, infinity) ? INT16_MIN : half_key(half);
}

static inline uint16_t half_of_key(int16_t key) {
    uint16_t half = (uint16_t)half_key((uint16_t)key);
    return key == INT16_MAX || key == INT16_MIN ? HALF_NAN : half;
}
#endif
