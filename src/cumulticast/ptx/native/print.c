/* printf and assert of kernels. Arguments lie in a buffer as the compiler packs them: each aligned to its size, integers
 * of 4 bytes unless the format says longer, floats as doubles, strings as addresses. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

enum { MOST_TEXT = 4096, ASSERT_STATUS = 710 };

/* A string of the device, cut off where it is too long; what cannot be read ends the kernel. */
static void read_text(struct ptx_warp *warp, uint32_t number, uint32_t lane, uint64_t address, char *text) {
    for (uint32_t i = 0; i + 1 < MOST_TEXT; i++) {
        const char *at = ptx_place(warp, PTX_GENERIC, lane, address + i, 1, PTX_RIGHT_READ);
        if (!at) ptx_refuse(warp, number, PTX_GENERIC | 1u << 8 | PTX_RIGHT_READ << 16, lane, address + i);
        text[i] = *at;
        if (!*at) return;
    }
    text[MOST_TEXT - 1] = 0;
}

struct arguments {
    struct ptx_warp *warp;
    uint32_t number, lane;
    uint64_t at;
};

static uint64_t take(struct arguments *from, uint32_t size) {
    from->at = (from->at + size - 1) & ~(uint64_t)(size - 1);
    const char *place = ptx_place(from->warp, PTX_GENERIC, from->lane, from->at, size, PTX_RIGHT_READ);
    if (!place) ptx_refuse(from->warp, from->number, PTX_GENERIC | size << 8 | PTX_RIGHT_READ << 16, from->lane, from->at);
    uint64_t value = 0;
    memcpy(&value, place, size);
    from->at += size;
    return value;
}

/* Where a conversion ends: at its letter. `longer` counts what makes an integer 8 bytes. */
static const char *conversion_end(const char *format, int *longer, int *stars) {
    *longer = *stars = 0;
    const char *at = format + 1;
    for (; *at && !strchr("diouxXeEfFgGaAcsp%", *at); at++) {
        *longer += *at == 'l' || *at == 'j' || *at == 'z' || *at == 't';
        *stars += *at == '*';
    }
    return at;
}

static int print_one(FILE *out, const char *spec, char letter, int longer, const int *stars, int count,
                     struct arguments *from) {
#define PRINT(value) \
    (count == 0 ? fprintf(out, spec, value) \
     : count == 1 ? fprintf(out, spec, stars[0], value) : fprintf(out, spec, stars[0], stars[1], value))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    if (strchr("eEfFgGaA", letter)) {
        uint64_t bits = take(from, 8);
        double value;
        memcpy(&value, &bits, sizeof value);
        return PRINT(value);
    }
    if (letter == 's') {
        char text[MOST_TEXT];
        read_text(from->warp, from->number, from->lane, take(from, 8), text);
        return PRINT(text);
    }
    if (letter == 'p') return PRINT((void *)(uintptr_t)take(from, 8));
    if (longer) return PRINT((long long)take(from, 8));
    return PRINT((int)take(from, 4));
#pragma GCC diagnostic pop
}

static int print_all(FILE *out, const char *format, struct arguments *from) {
    int converted = 0;
    while (*format) {
        if (*format != '%') {
            fputc(*format++, out);
            continue;
        }
        int longer, wanted, stars[2] = { 0, 0 };
        const char *end = conversion_end(format, &longer, &wanted);
        char spec[64];
        size_t length = (size_t)(end - format) + 1;
        if (!*end || length >= sizeof spec || wanted > 2) return -2;
        memcpy(spec, format, length);
        spec[length] = 0;
        format = end + 1;
        if (*end == '%') {
            fputc('%', out);
            continue;
        }
        for (int i = 0; i < wanted; i++) stars[i] = (int)take(from, 4);
        print_one(out, spec, *end, longer, stars, wanted, from);
        converted++;
    }
    return converted;
}

void ptx_vprintf(struct ptx_warp *warp, uint32_t number, uint32_t active, int32_t *printed, const uint64_t *format,
                 const uint64_t *arguments) {
    PTX_EACH_LANE(lane, active) {
        char text[MOST_TEXT];
        read_text(warp, number, lane, format[lane], text);
        struct arguments from = { warp, number, lane, arguments[lane] };
        char *line = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&line, &size); /* one write, so that the lines of threads stay whole */
        if (!out) {
            printed[lane] = -1;
            continue;
        }
        printed[lane] = print_all(out, text, &from);
        fclose(out);
        fwrite(line, 1, size, stdout);
        free(line);
    }
    fflush(stdout);
}

/* What one lane says of its assertion. */
struct assertion {
    char what[MOST_TEXT], where[MOST_TEXT], who[MOST_TEXT];
    uint32_t line;
};

static void say(const struct ptx_warp *warp, uint32_t lane, const struct assertion *failed) {
    const int32_t *tid = warp->tid;
    fprintf(stderr, "%s:%" PRIu32 ": %s: block: [%u,%u,%u], thread: [%d,%d,%d] Assertion `%s` failed.\n", failed->where,
            failed->line, failed->who, warp->ctaid[0], warp->ctaid[1], warp->ctaid[2], tid[lane], tid[PTX_LANES + lane],
            tid[2 * PTX_LANES + lane], failed->what);
}

/* Every lane prints, the last one last (as on an H200), and the first is named in the fault. */
_Noreturn void ptx_assertfail(struct ptx_warp *warp, uint32_t number, uint32_t active, const uint64_t *message,
                              const uint64_t *file, const uint32_t *line, const uint64_t *function) {
    char reason[512] = "";
    struct assertion failed;
    PTX_EACH_LANE(lane, active) {
        read_text(warp, number, lane, message[lane], failed.what);
        read_text(warp, number, lane, file[lane], failed.where);
        read_text(warp, number, lane, function[lane], failed.who);
        failed.line = line[lane];
        say(warp, lane, &failed);
        if (!*reason)
            snprintf(reason, sizeof reason, "assertion `%.200s` failed at %.200s:%" PRIu32, failed.what, failed.where,
                     failed.line);
    }
    ptx_fail(warp, number, ASSERT_STATUS, active ? (uint32_t)__builtin_ctz(active) : 0, 0, reason);
}

_Noreturn void ptx_no_heap(struct ptx_warp *warp, uint32_t instruction, uint32_t active) {
    ptx_fail(warp, instruction, PTX_LAUNCH_FAILED, active ? (uint32_t)__builtin_ctz(active) : 0, 0,
             "malloc and free in device code are not simulated: allocate before the launch");
}
