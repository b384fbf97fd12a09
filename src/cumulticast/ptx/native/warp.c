/* match and redux where the lanes of a warp belong to different groups: each lane's group is a mask of lanes. */
#include <math.h>
#include <string.h>

#include "runtime.h"

/* For each lane: which lanes have the same value. */
void ptx_match(int n, uint32_t *out, const uint64_t *value) {
    for (int lane = 0; lane < n; lane++) {
        uint32_t same = 0;
        for (int other = 0; other < n; other++) same |= (uint32_t)(value[other] == value[lane]) << other;
        out[lane] = same;
    }
}

/* Operations, numbered as REDUCTIONS in lower/warp.py. */
static uint32_t combine(uint32_t operation, uint32_t a, uint32_t b) {
    switch (operation) {
    case 0: return a + b;
    case 1: return a & b;
    case 2: return a | b;
    case 3: return a ^ b;
    case 4: return b < a ? b : a;
    case 5: return b > a ? b : a;
    case 6: return (int32_t)b < (int32_t)a ? b : a;
    default: return (int32_t)b > (int32_t)a ? b : a;
    }
}

void ptx_redux(int n, uint32_t *out, const uint32_t *value, const uint32_t *group, const uint32_t *operation) {
    for (int lane = 0; lane < n; lane++) {
        uint32_t members = group[lane];
        if (!members) continue;
        uint32_t found = value[__builtin_ctz(members)];
        for (uint32_t left = members & (members - 1); left; left &= left - 1)
            found = combine(operation[lane], found, value[__builtin_ctz(left)]);
        out[lane] = found;
    }
}

enum { MAXIMUM = 1, ABSOLUTE = 2, NAN_WINS = 4 };

static float of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* PTX ISA, redux.sync: without .NaN a number wins over NaN; -0 is less than +0. */
static uint32_t extreme(uint32_t flags, uint32_t a, uint32_t b) {
    const uint32_t nan = 0x7fffffffu;
    float x = of_bits(a), y = of_bits(b);
    if (isnan(x) || isnan(y)) {
        if ((flags & NAN_WINS) || (isnan(x) && isnan(y))) return nan;
        return isnan(x) ? b : a;
    }
    if (x == y) return (flags & MAXIMUM) == (a >> 31) ? b : a;
    return ((flags & MAXIMUM) != 0) == (y > x) ? b : a;
}

void ptx_redux_float(int n, uint32_t *out, const uint32_t *value, const uint32_t *group, const uint32_t *given) {
    for (int lane = 0; lane < n; lane++) {
        uint32_t flags = given[lane], keep = flags & ABSOLUTE ? 0x7fffffffu : 0xffffffffu, members = group[lane];
        if (!members) continue;
        uint32_t found = value[__builtin_ctz(members)] & keep;
        if (isnan(of_bits(found))) found = 0x7fffffffu;
        for (uint32_t left = members & (members - 1); left; left &= left - 1)
            found = extreme(flags, found, value[__builtin_ctz(left)] & keep);
        out[lane] = found;
    }
}
