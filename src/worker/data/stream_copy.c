/*
 * stream_copy.c - copies by SSE2 stores that bypass the caches; without SSE2, by
 * memcpy().
 */
#include "data/stream_copy.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

#define LINE ((size_t)64)

/* Whole lines: `to` is at the beginning of one. */
static size_t lines_stream(unsigned char *to, const unsigned char *from, size_t n)
{
    size_t at = 0;

    for (; n - at >= LINE; at += LINE) {
        const __m128i *in = (const __m128i *)(const void *)(from + at);
        __m128i *out = (__m128i *)(void *)(to + at);
        __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
        __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);

        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
    }
    return at;
}

void stream_copy(unsigned char *to, const unsigned char *from, size_t n)
{
    size_t head = -(uintptr_t)to % LINE, lines;

    head = head < n ? head : n;
    memcpy(to, from, head);
    lines = lines_stream(to + head, from + head, n - head);
    memcpy(to + head + lines, from + head + lines, n - head - lines);
}

void stream_end(void)
{
    _mm_sfence();
}
#else
void stream_copy(unsigned char *to, const unsigned char *from, size_t n)
{
    memcpy(to, from, n);
}

void stream_end(void)
{
}
#endif
