/* multimem.st: the same bytes into every replica. */
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "native.h"

/* The source is read from memory once per block and from the L2 cache for the other replicas. */
#define BLOCK_BYTES (64u << 10)
/* From this many bytes in all, stores go past the cache: they would push out everything else, and an ordinary
 * store reads each line before it writes it. */
#define STREAM_BYTES (4u << 20)

static void stream_to(char *dst, const char *src, size_t nbytes) {
#if defined(__SSE2__)
    size_t head = -(uintptr_t)dst % 64;
    if (head > nbytes) head = nbytes;
    memcpy(dst, src, head);
    dst += head, src += head, nbytes -= head;
    for (; nbytes >= 64; nbytes -= 64, dst += 64, src += 64)
        for (int i = 0; i < 4; i++)
            _mm_stream_si128((__m128i *)dst + i, _mm_loadu_si128((const __m128i *)src + i));
#endif
    memcpy(dst, src, nbytes);
}

void multimem_store(uintptr_t base, size_t stride, size_t n, uintptr_t src, size_t nbytes) {
    const int stream = nbytes >= STREAM_BYTES / (n ? n : 1);
    for (size_t start = 0; start < nbytes; start += BLOCK_BYTES) {
        const size_t m = nbytes - start < BLOCK_BYTES ? nbytes - start : BLOCK_BYTES;
        for (size_t i = 0; i < n; i++) {
            char *dst = (char *)base + i * stride + start;
            if (stream) stream_to(dst, (const char *)src + start, m);
            else memcpy(dst, (const char *)src + start, m);
        }
    }
#if defined(__SSE2__)
    if (stream) _mm_sfence(); /* streaming stores are weakly ordered: a flag written after us must not overtake them */
#endif
}
