#include "lane_math.h"
#include <fenv.h>
#include <math.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/* The rounding mode of the arithmetic below; x87's stays, it computes nothing here. */
enum direction { NEAREST, DOWN, UP, TOWARD_ZERO };

static inline unsigned turn(enum direction direction) {
#if defined(__SSE2__)
    unsigned before = _mm_getcsr();
    _mm_setcsr((before & ~0x6000u) | (unsigned)direction << 13);
    return before;
#else
    static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    unsigned before = (unsigned)fegetround();
    fesetround(modes[direction]);
    return before;
#endif
}

static inline void turn_back(unsigned before) {
#if defined(__SSE2__)
    _mm_setcsr(before);
#else
    fesetround((int)before);
#endif
}

/* The compiler knows nothing of rounding modes: what it may not do is move memory accesses over this. */
#define BARRIER() __asm__ volatile("" ::: "memory")

#define IN_DIRECTION(direction, body) \
    do { \
        unsigned before = turn(direction); \
        BARRIER(); \
        for (int i = 0; i < n; i++) body; \
        BARRIER(); \
        turn_back(before); \
    } while (0)

/* The product of two floats is exact in double; rounding the sum twice in one direction is rounding it once. */
static inline float fused_float(float a, float b, float c) { return (float)((double)a * b + c); }
static inline double fused_double(double a, double b, double c) { return fma(a, b, c); }
static inline float root_float(float a) { return sqrtf(a); }
static inline double root_double(double a) { return sqrt(a); }

#define DIRECTED(mode, direction, type, name) \
    void ptx_add_##mode##_##name(int n, type *out, const type *a, const type *b) { \
        IN_DIRECTION(direction, out[i] = a[i] + b[i]); \
    } \
    void ptx_mul_##mode##_##name(int n, type *out, const type *a, const type *b) { \
        IN_DIRECTION(direction, out[i] = a[i] * b[i]); \
    } \
    void ptx_div_##mode##_##name(int n, type *out, const type *a, const type *b) { \
        IN_DIRECTION(direction, out[i] = a[i] / b[i]); \
    } \
    void ptx_sqrt_##mode##_##name(int n, type *out, const type *a) { \
        IN_DIRECTION(direction, out[i] = root_##type(a[i])); \
    } \
    void ptx_fma_##mode##_##name(int n, type *out, const type *a, const type *b, const type *c) { \
        IN_DIRECTION(direction, out[i] = fused_##type(a[i], b[i], c[i])); \
    }
#define DIRECTED_BOTH(mode, direction) DIRECTED(mode, direction, float, f32) DIRECTED(mode, direction, double, f64)
DIRECTED_BOTH(rz, TOWARD_ZERO)
DIRECTED_BOTH(rm, DOWN)
DIRECTED_BOTH(rp, UP)

#define EACH(name, type, expression, ...) \
    void name(int n, type *out, __VA_ARGS__) { \
        for (int i = 0; i < n; i++) out[i] = expression; \
    }
EACH(ptx_fma_rn_f32, float, fmaf(a[i], b[i], c[i]), const float *a, const float *b, const float *c)
EACH(ptx_fma_rn_f64, double, fma(a[i], b[i], c[i]), const double *a, const double *b, const double *c)
