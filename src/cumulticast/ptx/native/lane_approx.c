/* What .approx functions are rounded of: double precision, some 50 bits, in loops that every compiler vectorises.
 *
 * A C library's functions take ten times as long for 32 lanes, one by one. Results become f32 or narrower. */
#include "lane_math.h"
#include <math.h>
#include <string.h>

static inline double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Added to a number below 2^51, this leaves the nearest integer in the lowest bits of the sum. */
#define INTEGER_PLACE 6755399441055744.0 /* 1.5 * 2^52 */
#define LN2 0.69314718055994530942

/* e^r for |r| <= ln 2 / 2: Taylor's series, whose next term is below 2^-56. */
static inline double exponential(double r) {
    double sum = 1.0 / 6227020800.0;
    sum = sum * r + 1.0 / 479001600.0;
    sum = sum * r + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    sum = sum * r + 1.0;
    return sum * r + 1.0;
}

/* 2^x; what lies beyond 2^±1000 is cut there: no f32 can tell. NaN stays NaN. */
static inline double power_of_two(double x) {
    x = x > 1000.0 ? 1000.0 : x;
    x = x < -1000.0 ? -1000.0 : x;
    double place = x + INTEGER_PLACE;
    double rest = x - (place - INTEGER_PLACE);
    return exponential(rest * LN2) * double_of((bits_of(place) + 1023) << 52);
}

/* tanh by e^2x; below 1/16, where that cancels, by its series. */
static inline double hyperbolic(double x) {
    double power = power_of_two(x * (2.0 / LN2));
    double far = 1.0 - 2.0 / (power + 1.0);
    double q = x * x;
    double series = -1382.0 / 155925.0;
    series = series * q + 62.0 / 2835.0;
    series = series * q - 17.0 / 315.0;
    series = series * q + 2.0 / 15.0;
    series = series * q - 1.0 / 3.0;
    double near = x * (1.0 + q * series); /* so that -0 stays */
    return q < 1.0 / 256.0 ? near : far;
}

/* pi / 2 in three parts of 33 bits: a multiple of the first two below 2^20 is exact. */
#define PART_1 1.57079632673412561417e+00
#define PART_2 6.07710050630396597660e-11
#define PART_3 2.02226624879595063154e-21
#define LARGEST 823549.0 /* 2^19 * pi / 2 */

static inline double sine(double r) {
    double q = r * r, sum = 1.0 / 355687428096000.0;
    sum = sum * q - 1.0 / 1307674368000.0;
    sum = sum * q + 1.0 / 6227020800.0;
    sum = sum * q - 1.0 / 39916800.0;
    sum = sum * q + 1.0 / 362880.0;
    sum = sum * q - 1.0 / 5040.0;
    sum = sum * q + 1.0 / 120.0;
    sum = sum * q - 1.0 / 6.0;
    return r * (1.0 + q * sum); /* so that -0 stays */
}

static inline double cosine(double r) {
    double q = r * r, sum = 1.0 / 20922789888000.0;
    sum = sum * q - 1.0 / 87178291200.0;
    sum = sum * q + 1.0 / 479001600.0;
    sum = sum * q - 1.0 / 3628800.0;
    sum = sum * q + 1.0 / 40320.0;
    sum = sum * q - 1.0 / 720.0;
    sum = sum * q + 1.0 / 24.0;
    sum = sum * q - 0.5;
    return sum * q + 1.0;
}

/* sin(x + turn * pi / 2) for |x| <= LARGEST. */
static inline double turned_sine(double x, uint64_t turn) {
    double place = x * (2.0 / 3.14159265358979323846) + INTEGER_PLACE;
    double count = place - INTEGER_PLACE;
    double r = ((x - count * PART_1) - count * PART_2) - count * PART_3;
    uint64_t quarter = bits_of(place) + turn;
    double value = quarter & 1 ? cosine(r) : sine(r);
    return double_of(bits_of(value) ^ ((quarter & 2) << 62));
}

static inline int all_small(int n, const double *a) {
    int large = 0;
    for (int i = 0; i < n; i++) large |= !(fabs(a[i]) <= LARGEST);
    return !large;
}

/* One more copy for processors with wider vectors, where the loader can choose; no bit of a result differs. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define EVERY_HOST __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define EVERY_HOST
#endif

#define EACH(name, expression) \
    EVERY_HOST void name(int n, double *restrict out, const double *restrict a) { \
        for (int i = 0; i < n; i++) out[i] = expression; \
    }
EACH(ptx_ex2_f64, power_of_two(a[i]))
EACH(ptx_tanh_f64, hyperbolic(a[i]))
EACH(ptx_lg2_f64, log2(a[i]))

/* Large angles, infinities and NaN are rare: all lanes wait for the C library then. */
#define ANGLES(name, turn, function) \
    EVERY_HOST void name(int n, double *restrict out, const double *restrict a) { \
        if (all_small(n, a)) \
            for (int i = 0; i < n; i++) out[i] = turned_sine(a[i], turn); \
        else \
            for (int i = 0; i < n; i++) out[i] = function(a[i]); \
    }
ANGLES(ptx_sin_f64, 0, sin)
ANGLES(ptx_cos_f64, 1, cos)
