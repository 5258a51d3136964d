/*
 * gunzip.c - inflates members of gzip with zlib, and checks that nothing else follows.
 */
#include "table/gunzip.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "util/fs.h"

#define WINDOW_GZIP (15 + 16) /* largest window; gzip wrapping only */
#define GZIP_MAGIC  0x1f      /* the first byte of a member */
#define INPUT_BYTES 65536
#define MAX_RATIO   1032 /* of deflate: 258 bytes from two bits */

struct gunzip {
    z_stream z;
    const struct source *source;
    uint64_t read; /* bytes of the file that went into input */
    bool ended;    /* at the end of a member */
    bool padded;   /* zeros follow that one */
    unsigned char input[INPUT_BYTES];
};

bool gunzip_probe(const unsigned char *head, size_t n)
{
    return n >= 3 && head[0] == GZIP_MAGIC && head[1] == 0x8b && head[2] == Z_DEFLATED;
}

uint64_t gunzip_bound(uint64_t n)
{
    uint64_t bound;

    return __builtin_mul_overflow(n, (uint64_t)MAX_RATIO, &bound) ? UINT64_MAX : bound;
}

size_t gunzip_head(const unsigned char *head, size_t n, unsigned char *out, size_t size)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)head,
                  .avail_in = (uInt)n,
                  .next_out = out,
                  .avail_out = (uInt)size};

    if (inflateInit2(&z, WINDOW_GZIP) != Z_OK)
        return 0;
    inflate(&z, Z_SYNC_FLUSH);
    inflateEnd(&z);
    return size - z.avail_out;
}

static int gunzip_damaged(const struct gunzip *g, const char *what, struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s: %s; download or compress it again (gzip -t checks a file)",
                     g->source->path, what);
}

static int gunzip_fill(struct gunzip *g, struct error *err)
{
    uint64_t left = g->source->size - g->read;
    size_t n = left < INPUT_BYTES ? (size_t)left : INPUT_BYTES;

    if (n == 0)
        return gunzip_damaged(g, "the compressed data end too early", err);
    if (fs_pread_full(g->source->fd, g->input, n, g->read) < 0)
        return fs_error(err, "read", g->source->path);
    g->read += n;
    g->z.next_in = g->input;
    g->z.avail_in = (uInt)n;
    return 0;
}

static int gunzip_contradicts(const struct gunzip *g, const char *what,
                              struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s: decompressed, %s; download or make it again", g->source->path,
                     what);
}

/* After a member: begin the next one if the input has bytes. As gzip does, ignore zeros
 * at the end of the file. */
static int gunzip_next(struct gunzip *g, struct error *err)
{
    for (; g->z.avail_in > 0 && *g->z.next_in == 0; g->z.next_in++, g->z.avail_in--)
        g->padded = true;
    if (g->z.avail_in == 0)
        return 0;
    if (g->padded || *g->z.next_in != GZIP_MAGIC)
        return error_set(
            err, RAYTRAIN_ECORRUPT,
            "%s: other bytes follow the compressed data; compress the file again",
            g->source->path);
    g->ended = false;
    return inflateReset(&g->z) == Z_OK ? 0 : error_no_memory(err);
}

/* Inflate more of the content into out[0..size); *left is the room that is left
 * there. */
static int gunzip_step(struct gunzip *g, unsigned char *out, uint64_t size,
                       uint64_t *left, struct error *err)
{
    uInt room = size < UINT_MAX ? (uInt)size : UINT_MAX;
    int rc;

    if (g->z.avail_in == 0 && gunzip_fill(g, err) < 0)
        return -1;
    *left = size;
    if (g->ended && gunzip_next(g, err) < 0)
        return -1;
    if (g->ended)
        return 0;
    g->z.next_out = out;
    g->z.avail_out = room;
    rc = inflate(&g->z, Z_NO_FLUSH);
    if (rc == Z_MEM_ERROR)
        return error_no_memory(err);
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        return gunzip_damaged(g, g->z.msg ? g->z.msg : "damaged compressed data", err);
    g->ended = rc == Z_STREAM_END;
    *left = size - (room - g->z.avail_out);
    return 0;
}

/* Only empty members may follow. Reads up to the end, so that the last checksum is
 * verified. */
static int gunzip_finish(struct gunzip *g, struct error *err)
{
    unsigned char extra;
    uint64_t left = 1;

    while (!g->ended || g->z.avail_in || g->read < g->source->size) {
        if (gunzip_step(g, &extra, 1, &left, err) < 0)
            return -1;
        if (left == 0)
            return gunzip_contradicts(g, "it has more than its header claims", err);
    }
    return 0;
}

int gunzip_file(const struct source *s, unsigned char *out, uint64_t size,
                struct error *err)
{
    struct gunzip g = {.source = s};
    int rc = 0;

    if (inflateInit2(&g.z, WINDOW_GZIP) != Z_OK)
        return error_no_memory(err);
    for (uint64_t left = size; left > 0 && rc == 0;) {
        if (g.ended && g.z.avail_in == 0 && g.read == s->size)
            rc = gunzip_contradicts(&g, "it has less than its header claims", err);
        else
            rc = gunzip_step(&g, out + (size - left), left, &left, err);
    }
    if (rc == 0)
        rc = gunzip_finish(&g, err);
    inflateEnd(&g.z);
    return rc;
}
