/* (Not math.h: that would hide the C library's.) Floating point that LLVM would call a library for, or has no instruction for. Called by machine code, lane by lane. */
#ifndef PTX_LANE_MATH_H
#define PTX_LANE_MATH_H
#include <stdint.h>

/* In one of the rounding modes: rz (toward zero), rm (down), rp (up). */
#define PTX_DIRECTED(mode, type, name) \
    void ptx_add_##mode##_##name(int n, type *out, const type *a, const type *b); \
    void ptx_mul_##mode##_##name(int n, type *out, const type *a, const type *b); \
    void ptx_div_##mode##_##name(int n, type *out, const type *a, const type *b); \
    void ptx_sqrt_##mode##_##name(int n, type *out, const type *a); \
    void ptx_fma_##mode##_##name(int n, type *out, const type *a, const type *b, const type *c);
#define PTX_DIRECTED_BOTH(mode) PTX_DIRECTED(mode, float, f32) PTX_DIRECTED(mode, double, f64)
PTX_DIRECTED_BOTH(rz)
PTX_DIRECTED_BOTH(rm)
PTX_DIRECTED_BOTH(rp)

/* To nearest, for hosts that have no such instruction. */
void ptx_fma_rn_f32(int n, float *out, const float *a, const float *b, const float *c);
void ptx_fma_rn_f64(int n, double *out, const double *a, const double *b, const double *c);

/* What .approx functions are rounded of. */
void ptx_sin_f64(int n, double *out, const double *a);
void ptx_cos_f64(int n, double *out, const double *a);
void ptx_ex2_f64(int n, double *out, const double *a);
void ptx_lg2_f64(int n, double *out, const double *a);
void ptx_tanh_f64(int n, double *out, const double *a);
#endif
