/* The 8-bit floats of the OCP formats: to float exactly; from float to nearest even, saturating to the greatest finite
 * number as cvt.rn.satfinite does; NaN is 0x7f. e4m3 has no infinity. */
#ifndef PTX_SMALL_FLOATS_H
#define PTX_SMALL_FLOATS_H
#include <math.h>

#include "../../sim/native/half.h"

/* The layout of a format: mantissa bits, exponent bias, greatest finite number. */
struct small_format { int mantissa, bias; uint8_t greatest; };
static const struct small_format e4m3 = {3, 7, 0x7e}, e5m2 = {2, 15, 0x7b};

static inline float float_of_small(uint8_t bits, struct small_format format) {
    const int magnitude = bits & 0x7f, exponent = magnitude >> format.mantissa;
    const int fraction = magnitude & ((1 << format.mantissa) - 1), one = 1 << format.mantissa;
    float value = exponent ? ldexpf((float)(one + fraction), exponent - format.bias - format.mantissa)
                           : ldexpf((float)fraction, 1 - format.bias - format.mantissa);
    if (magnitude > format.greatest) value = format.mantissa == 2 && !fraction ? INFINITY : float_of(F32_NAN);
    return bits & 0x80 ? -value : value;
}

static inline uint8_t small_of_float(float value, struct small_format format) {
    if (value != value) return 0x7f;
    const uint8_t sign = (uint8_t)(bits_of(value) >> 24 & 0x80);
    const float magnitude = fabsf(value);
    if (magnitude >= float_of_small(format.greatest, format)) return sign | format.greatest;
    int exponent;
    frexpf(magnitude, &exponent); /* magnitude < 2^exponent; of 0 it is 0 */
    if (magnitude == 0 || exponent < 2 - format.bias) exponent = 2 - format.bias; /* subnormals share the least one */
    const int last = exponent - 1 - format.mantissa; /* the last place is 2^last */
    const int steps = (int)rintf(ldexpf(magnitude, -last));
    return sign | (uint8_t)((((exponent - 2 + format.bias) << format.mantissa) + steps));
}
#endif
