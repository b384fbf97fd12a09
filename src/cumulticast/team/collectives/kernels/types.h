// Types and operations of reductions.
#pragma once
#include "call.h"

// ---- types: how they lie in memory, what they are computed in

struct kind_f32 {
    typedef u32 Bits;
    typedef float Wide;
    static __device__ Wide widen(Bits bits) { return __uint_as_float(bits); }
    static __device__ Bits narrow(Wide wide) { return __float_as_uint(wide); }
};
struct kind_f64 {
    typedef u64 Bits;
    typedef double Wide;
    static __device__ Wide widen(Bits bits) { return __longlong_as_double(bits); }
    static __device__ Bits narrow(Wide wide) { return __double_as_longlong(wide); }
};
struct kind_f16 {
    typedef u16 Bits;
    typedef float Wide;
    static __device__ Wide widen(Bits bits) {
        Wide wide;
        asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
        return wide;
    }
    static __device__ Bits narrow(Wide wide) {
        Bits bits;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(wide));
        return bits;
    }
};
struct kind_bf16 {
    typedef u16 Bits;
    typedef float Wide;
    static __device__ Wide widen(Bits bits) { return __uint_as_float((u32)bits << 16); }
    static __device__ Bits narrow(Wide wide) {
        Bits bits;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(wide));
        return bits;
    }
};
template <class B, class W> struct integer {
    typedef B Bits;
    typedef W Wide;
    static __device__ Wide widen(Bits bits) { return (Wide)bits; }
    static __device__ Bits narrow(Wide wide) { return (Bits)wide; }
};
typedef integer<u32, int> kind_i32;
typedef integer<u32, u32> kind_u32;
typedef integer<u64, long long> kind_i64;
typedef integer<u64, u64> kind_u64;

// ---- operations; a number wins over NaN, and -0 is less than +0, as in PTX

struct sum {
    static __device__ float of(float a, float b) { return __fadd_rn(a, b); }
    static __device__ double of(double a, double b) { return __dadd_rn(a, b); }
    static __device__ u32 of(u32 a, u32 b) { return a + b; }
    static __device__ int of(int a, int b) { return (int)((u32)a + (u32)b); }
    static __device__ u64 of(u64 a, u64 b) { return a + b; }
    static __device__ long long of(long long a, long long b) { return (long long)((u64)a + (u64)b); }
};
struct least {
    static __device__ float of(float a, float b) { return fminf(a, b); }
    static __device__ double of(double a, double b) { return fmin(a, b); }
    template <class T> static __device__ T of(T a, T b) { return b < a ? b : a; }
};
struct most {
    static __device__ float of(float a, float b) { return fmaxf(a, b); }
    static __device__ double of(double a, double b) { return fmax(a, b); }
    template <class T> static __device__ T of(T a, T b) { return a < b ? b : a; }
};
