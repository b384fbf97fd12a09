/* atom and red. */
#include "adversary.h"
#include "arithmetic.h"

/* Nobody but the lanes of this warp asks in which order; across threads every element is one atomic act. */
#define FETCH_ADD __atomic_fetch_add
#define FETCH_AND __atomic_fetch_and
#define FETCH_OR __atomic_fetch_or
#define FETCH_XOR __atomic_fetch_xor

#define WORD_float uint32_t
#define WORD_double uint64_t
#define WORD_uint16_t uint16_t
#define WORD_uint32_t uint32_t
#define WORD_int32_t uint32_t
#define WORD_uint64_t uint64_t
#define WORD_int64_t uint64_t

#define ARGUMENTS \
    uint32_t count, uint32_t active, char *const *place, const void *first, const void *second, void *old
typedef void act(ARGUMENTS);

/* Walk over the elements of the active lanes: `i` counts in the arrays of sources, `target` is in memory. */
#define EACH_ELEMENT(W) \
    (void)second; \
    PTX_EACH_LANE(lane, active) \
        for (uint32_t j = 0, i = lane * count; j < count; j++, i++) \
            for (W *target = (W *)place[lane] + j, *once = target; once; once = NULL)

#define KEEP(W, value) \
    if (old) ((W *)old)[i] = (value)

#define DEFINE_FETCH(element, operation, T, A, LOAD, COMBINE, FINISH) \
    static void element##_##operation(ARGUMENTS) { \
        EACH_ELEMENT(T) { \
            T was = FETCH_##operation(target, ((const T *)first)[i], __ATOMIC_RELAXED); \
            KEEP(T, was); \
        } \
    }
FETCH_PAIRS(DEFINE_FETCH)

/* Bits are compared, never values: a NaN differs from itself. What would not change is left alone. */
#define EXCHANGE(W, result) \
    W was = __atomic_load_n(target, __ATOMIC_RELAXED), now; \
    do now = (result); \
    while (now != was && !__atomic_compare_exchange_n(target, &was, now, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
    KEEP(W, was)

#define DEFINE_EXCHANGE(element, operation, T, A, LOAD, COMBINE, FINISH) \
    static inline WORD_##T element##_##operation##_of(WORD_##T was, WORD_##T operand) { \
        T held, other, result; \
        memcpy(&held, &was, sizeof held); \
        memcpy(&other, &operand, sizeof other); \
        A x = LOAD(held), y = LOAD(other); \
        result = (T)FINISH((A)COMBINE(x, y)); \
        memcpy(&was, &result, sizeof was); \
        return was; \
    } \
    static void element##_##operation(ARGUMENTS) { \
        EACH_ELEMENT(WORD_##T) { EXCHANGE(WORD_##T, element##_##operation##_of(was, ((const WORD_##T *)first)[i])); } \
    }
FLOAT_PAIRS(DEFINE_EXCHANGE)
ORDER_PAIRS(DEFINE_EXCHANGE)

/* PTX ISA, "atom": inc wraps to 0 behind the operand, dec to the operand below 0 and above it. */
static inline uint32_t incremented(uint32_t was, uint32_t limit) { return was >= limit ? 0 : was + 1; }
static inline uint32_t decremented(uint32_t was, uint32_t limit) { return was == 0 || was > limit ? limit : was - 1; }

static void increment(ARGUMENTS) {
    EACH_ELEMENT(uint32_t) { EXCHANGE(uint32_t, incremented(was, ((const uint32_t *)first)[i])); }
}
static void decrement(ARGUMENTS) {
    EACH_ELEMENT(uint32_t) { EXCHANGE(uint32_t, decremented(was, ((const uint32_t *)first)[i])); }
}

#define DEFINE_BITS(bits) \
    static void exchange##bits(ARGUMENTS) { \
        EACH_ELEMENT(uint##bits##_t) { \
            uint##bits##_t was = __atomic_exchange_n(target, ((const uint##bits##_t *)first)[i], __ATOMIC_RELAXED); \
            KEEP(uint##bits##_t, was); \
        } \
    } \
    static void swap##bits(ARGUMENTS) { \
        EACH_ELEMENT(uint##bits##_t) { \
            uint##bits##_t was = ((const uint##bits##_t *)first)[i]; \
            __atomic_compare_exchange_n(target, &was, ((const uint##bits##_t *)second)[i], 0, __ATOMIC_RELAXED, \
                                        __ATOMIC_RELAXED); \
            KEEP(uint##bits##_t, was); \
        } \
    }
DEFINE_BITS(16)
DEFINE_BITS(32)
DEFINE_BITS(64)

/* The __atomic form would call libatomic; this one is cmpxchg16b, or what libgcc has on aarch64. */
#if defined(__x86_64__)
#define WIDE __attribute__((target("cx16")))
#else
#define WIDE
#endif
typedef unsigned __int128 uint128_t;

WIDE static void swap128(ARGUMENTS) {
    EACH_ELEMENT(uint128_t) {
        uint128_t was = __sync_val_compare_and_swap(target, ((const uint128_t *)first)[i], ((const uint128_t *)second)[i]);
        KEEP(uint128_t, was);
    }
}

WIDE static void exchange128(ARGUMENTS) {
    EACH_ELEMENT(uint128_t) {
        uint128_t was = 0, found;
        while ((found = __sync_val_compare_and_swap(target, was, ((const uint128_t *)first)[i])) != was) was = found;
        KEEP(uint128_t, was);
    }
}

/* PTX ISA, "atom", "red", "cp.reduce.async.bulk": .add.f32 on global memory flushes subnormal inputs and results. */
static inline uint32_t flushed(uint32_t bits) { return bits & 0x7f800000u ? bits : bits & 0x80000000u; }

static void add_flushed(ARGUMENTS) {
    EACH_ELEMENT(uint32_t) {
        EXCHANGE(uint32_t, flushed(F32_ADD_of(flushed(was), flushed(((const uint32_t *)first)[i]))));
    }
}

static act *act_of(uint32_t element, uint32_t operation) {
    switch (element << 8 | operation) {
#define CASE(element, operation, T, A, LOAD, COMBINE, FINISH) \
    case ELEMENT_##element << 8 | OPERATION_##operation: return element##_##operation;
        ALL_PAIRS(CASE)
    case ELEMENT_F32 << 8 | PTX_ADD_FLUSHED: return add_flushed;
    case ELEMENT_S64 << 8 | OPERATION_ADD: return U64_ADD;
    case ELEMENT_U32 << 8 | PTX_INC: return increment;
    case ELEMENT_U32 << 8 | PTX_DEC: return decrement;
#define BITS_CASE(bits) \
    case PTX_B##bits << 8 | PTX_EXCH: return exchange##bits; \
    case PTX_B##bits << 8 | PTX_CAS: return swap##bits;
        BITS_CASE(16)
        BITS_CASE(32)
        BITS_CASE(64)
        BITS_CASE(128)
    }
    __builtin_trap(); /* the compiler refuses such a form */
}

void ptx_act(uint32_t code, uint32_t active, char *const *place, const void *first, const void *second, void *old) {
    act_of(PTX_CODE_ELEMENT(code), PTX_CODE_OPERATION(code))(PTX_CODE_COUNT(code), active, place, first, second, old);
}

/* The active lanes whose address is in global memory. */
static uint32_t global_lanes(const struct ptx_warp *warp, uint32_t space, uint32_t active, char *const *place) {
    if (space != PTX_GENERIC) return space == PTX_GLOBAL ? active : 0;
    uint32_t lanes = 0;
    PTX_EACH_LANE(lane, active) if (ptx_is_global(warp, (uintptr_t)place[lane])) lanes |= 1u << lane;
    return lanes;
}

/* Sums of f32 in global memory flush. */
static uint32_t flushed_lanes(const struct ptx_warp *warp, uint32_t what, uint32_t code, uint32_t active,
                              char *const *place) {
    return PTX_CODE_ELEMENT(code) == ELEMENT_F32 ? global_lanes(warp, PTX_WHAT_SPACE(what), active, place) : 0;
}

static void act_on(const struct ptx_warp *warp, uint32_t what, uint32_t code, uint32_t active, char *const *place,
                   const void *first, const void *second, void *old) {
    const uint32_t lanes = flushed_lanes(warp, what, code, active, place);
    if (lanes) ptx_act(code | PTX_ADD_FLUSHED << 8, lanes, place, first, second, old);
    if (active & ~lanes) ptx_act(code, active & ~lanes, place, first, second, old);
}

void ptx_atom(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint32_t code,
              const uint64_t *address, const void *first, const void *second, void *old) {
    char *place[PTX_LANES];
    ptx_places(warp, number, active, what, address, place);
    act_on(warp, what, code, active, place, first, second, old);
    if (warp->adversary) PTX_EACH_LANE(lane, active) adversary_acted(warp, number, lane, what, place[lane]);
}

/* As stores: late, each lane by itself. */
static void red_late(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint32_t code,
                     const uint64_t *address, const void *first) {
    const uint32_t writes = (what & 0xff00ffffu) | PTX_RIGHT_WRITE << 16;
    char *place[PTX_LANES];
    ptx_allowed(warp, number, active, what, address, place);
    const uint32_t flushed = flushed_lanes(warp, what, code, active, place);
    PTX_EACH_LANE(lane, active) {
        if (!ptx_is_common(warp, PTX_WHAT_SPACE(what), lane, place[lane])) {
            act_on(warp, what, code, 1u << lane, place, first, NULL, NULL);
            continue;
        }
        adversary_touch(warp, number, 1u << lane, writes, place[lane]);
        adversary_write(warp, number, 1u << lane, writes, flushed >> lane & 1 ? code | PTX_ADD_FLUSHED << 8 : code, 0,
                        place[lane], (const char *)first + lane * PTX_WHAT_SIZE(what));
    }
}

void ptx_red(struct ptx_warp *warp, uint32_t number, uint32_t active, uint32_t what, uint32_t code,
             const uint64_t *address, const void *first, const void *second) {
    if (warp->adversary) red_late(warp, number, active, what, code, address, first);
    else ptx_atom(warp, number, active, what, code, address, first, second, NULL);
}
