/* packing_filters.c - reverses filters of HDF5: transposed bytes of elements
 * ("shuffle"), zlib ("deflate"), and a checksum at the end ("fletcher32"). */
#include "config.h"
#include "table/packing.h"

#include <endian.h>
#include <string.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#define CHECKSUM_BYTES 4
#define ADD_AT_ONCE    256 /* words whose sums fit into 32 bits with those before */

/* Fletcher's checksum of big-endian words of 16 bits; a last single byte is a high
 * one. */
static uint32_t fletcher32(const unsigned char *p, uint64_t n)
{
    uint32_t a = 0, b = 0;

    for (uint64_t i = 0; i < n;) {
        for (int k = 0; k < ADD_AT_ONCE && i < n; k++, i += 2) {
            a += (uint32_t)p[i] << 8 | (i + 1 < n ? p[i + 1] : 0);
            b += a;
        }
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
    return b << 16 | a;
}

static bool checksum_remove(const unsigned char *in, uint64_t *n)
{
    const unsigned char *end;

    if (*n < CHECKSUM_BYTES)
        return false;
    *n -= CHECKSUM_BYTES;
    end = in + *n;
    return fletcher32(in, *n) == (end[0] | (uint32_t)end[1] << 8 |
                                  (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24);
}

/* Elements of 4 or 8 bytes are assembled as words: compilers vectorize these loops. */
static void quads_transpose(const unsigned char *restrict in, uint64_t count,
                            unsigned char *restrict out)
{
    const unsigned char *a = in, *b = a + count, *c = b + count, *d = c + count;

    for (uint64_t i = 0; i < count; i++) {
        uint32_t quad = htole32(a[i] | (uint32_t)b[i] << 8 | (uint32_t)c[i] << 16 |
                                (uint32_t)d[i] << 24);

        memcpy(out + 4 * i, &quad, sizeof quad);
    }
}

static void octets_transpose(const unsigned char *restrict in, uint64_t count,
                             unsigned char *restrict out)
{
    const unsigned char *high = in + 4 * count;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t octet = 0;

        for (int b = 0; b < 4; b++)
            octet |= (uint64_t)in[(uint64_t)b * count + i] << 8 * b |
                     (uint64_t)high[(uint64_t)b * count + i] << (8 * b + 32);
        octet = htole64(octet);
        memcpy(out + 8 * i, &octet, sizeof octet);
    }
}

/* The input has all first bytes, then all second ones, and so on; remaining bytes stay
 * at the end. */
static void bytes_transpose(const unsigned char *in, uint64_t n, uint64_t width,
                            unsigned char *out)
{
    uint64_t count = n / width;

    if (width == 4)
        quads_transpose(in, count, out);
    else if (width == 8)
        octets_transpose(in, count, out);
    else
        for (uint64_t b = 0; b < width; b++)
            for (uint64_t i = 0; i < count; i++)
                out[i * width + b] = in[b * count + i];
    memcpy(out + count * width, in + count * width, n - count * width);
}

#ifdef HAVE_LIBDEFLATE
static bool inflate_all(const unsigned char *in, uint64_t n, unsigned char *out,
                        uint64_t room, uint64_t *done)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    size_t size = 0;
    bool ok = d && libdeflate_zlib_decompress(d, in, n, out, room, &size) ==
                       LIBDEFLATE_SUCCESS;

    if (d)
        libdeflate_free_decompressor(d);
    *done = size;
    return ok;
}
#else
static bool inflate_all(const unsigned char *in, uint64_t n, unsigned char *out,
                        uint64_t room, uint64_t *done)
{
    uLongf size = room;
    bool ok = uncompress(out, &size, in, n) == Z_OK;

    *done = size;
    return ok;
}
#endif

bool packing_unpack(const struct packing *p, unsigned skipped, unsigned char *in,
                    uint64_t bytes, unsigned char *out, uint64_t size)
{
    unsigned char *from = in, *to = out, *other;
    bool ok = true;

    for (int i = p->n_filters - 1; i >= 0 && ok; i--) {
        if (skipped >> i & 1)
            continue;
        if (p->filters[i] == FILTER_FLETCHER32) {
            ok = checksum_remove(from, &bytes);
            continue;
        }
        if (p->filters[i] == FILTER_DEFLATE)
            ok = inflate_all(from, bytes, to, size, &bytes);
        else if ((ok = bytes <= size))
            bytes_transpose(from, bytes, p->width, to);
        other = from;
        from = to;
        to = other;
    }
    if (ok && bytes == size && from != out)
        memcpy(out, from, size);
    return ok && bytes == size;
}
