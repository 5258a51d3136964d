/*
 * packing.c - reads rows from packed bands, which it keeps in band_cache.c and, for all
 * ranks of a node, in band_store.c. packing_filters.c reverses filters.
 */
#include "table/packing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "table/band_cache.h"
#include "table/band_store.h"
#include "table/table_source.h"
#include "util/clock.h"
#include "util/fs.h"

/* The time to wait for a band that another rank is unpacking. */
#define AWAIT_S  1.0
#define AWAIT_NS 20000

struct packing_cache {
    struct band_cache *bands;
    struct band_store *store; /* NULL: none */
    unsigned char *in, *out;  /* a chunk before and after unpacking */
    uint64_t in_bytes, out_bytes;
};

struct packing_cache *packing_cache_create(size_t bands, uint64_t bytes)
{
    struct packing_cache *cache = calloc(1, sizeof *cache);

    if (!cache)
        return NULL;
    cache->bands = band_cache_create(bands, bytes);
    if (!cache->bands) {
        free(cache);
        return NULL;
    }
    return cache;
}

void packing_cache_share(struct packing_cache *cache, struct band_store *store)
{
    cache->store = store;
}

void packing_cache_destroy(struct packing_cache *cache)
{
    if (!cache)
        return;
    band_cache_destroy(cache->bands);
    free(cache->in);
    free(cache->out);
    free(cache);
}

/* ---- Sizes ---- */

static uint64_t blocks(const struct packing *p, int dim)
{
    return p->shape[dim] / p->chunk[dim] + (p->shape[dim] % p->chunk[dim] != 0);
}

static uint64_t row_bytes(const struct packing *p)
{
    uint64_t n = p->width;

    for (int i = 1; i < p->ndim; i++)
        n *= p->shape[i];
    return n;
}

static uint64_t chunk_bytes(const struct packing *p)
{
    uint64_t n = p->width;

    for (int i = 0; i < p->ndim; i++)
        n *= p->chunk[i];
    return n;
}

static bool product_fits(const uint64_t *dims, int n, uint64_t start, uint64_t limit)
{
    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(start, dims[i], &start) || start > limit)
            return false;
    return true;
}

uint64_t packing_band_bytes(const struct packing *p)
{
    return p->chunk[0] * row_bytes(p);
}

bool packing_count(const struct packing *p, uint64_t *band, uint64_t *all)
{
    uint64_t first = p->width;

    for (int i = 0; i < p->ndim; i++)
        if (p->chunk[i] == 0)
            return false;
    if (__builtin_mul_overflow(first, p->chunk[0], &first) ||
        !product_fits(p->shape + 1, p->ndim - 1, first, PACKING_BAND_MAX) ||
        !product_fits(p->chunk, p->ndim, p->width, PACKING_BAND_MAX))
        return false;
    *band = 1;
    for (int i = 1; i < p->ndim; i++)
        *band *= blocks(p, i);
    return !__builtin_mul_overflow(*band, blocks(p, 0), all);
}

/* ---- Chunks ---- */

static bool buffer_reserve(unsigned char **buffer, uint64_t *have, uint64_t need)
{
    if (need <= *have)
        return true;
    free(*buffer);
    *buffer = malloc(need);
    *have = *buffer ? need : 0;
    return *buffer != NULL;
}

static int chunk_read(struct packing_cache *cache, const struct packing *p,
                      const struct packed_chunk *chunk, const struct source *s,
                      unsigned char *out, struct error *err)
{
    uint64_t size = chunk_bytes(p);
    uint64_t room = chunk->bytes > size ? chunk->bytes : size;
    int read;

    if (chunk->bytes == 0) {
        for (uint64_t at = 0; at < size; at += p->width)
            memcpy(out + at, p->fill, p->width);
        return 0;
    }
    if (!buffer_reserve(&cache->in, &cache->in_bytes, room))
        return error_no_memory(err);
    read = fs_pread_full(s->fd, cache->in, chunk->bytes, chunk->offset);
    if (read < 0 && errno != ENODATA)
        return fs_error(err, "read", s->path);
    if (read < 0 ||
        !packing_unpack(p, chunk->skipped, cache->in, chunk->bytes, out, size))
        return error_set(
            err, RAYTRAIN_ECORRUPT,
            "%s: the compressed chunk at byte %llu is damaged, or the file "
            "was changed while it was in use",
            s->path, (unsigned long long)chunk->offset);
    return 0;
}

/* Copy the elements of a chunk, from dimension `dim` on. The chunk begins at the
 * elements `begin`. */
static void chunk_scatter(const struct packing *p, int dim, const uint64_t *begin,
                          const unsigned char *from, unsigned char *to)
{
    uint64_t from_step = p->width, to_step = p->width;
    uint64_t left = dim ? p->shape[dim] - begin[dim] : p->chunk[0];
    uint64_t n = left < p->chunk[dim] ? left : p->chunk[dim];

    for (int i = dim + 1; i < p->ndim; i++) {
        from_step *= p->chunk[i];
        to_step *= p->shape[i];
    }
    to += begin[dim] * to_step;
    if (dim == p->ndim - 1) {
        memcpy(to, from, n * p->width);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        chunk_scatter(p, dim + 1, begin, from + i * from_step, to + i * to_step);
}

/* ---- Bands ---- */

/* Where chunk number i of a band begins, in elements; its rows count from the
 * band's. */
static void chunk_begin(const struct packing *p, uint64_t i,
                        uint64_t begin[RAYTRAIN_MAX_DIMS])
{
    for (int dim = p->ndim - 1; dim > 0; dim--) {
        begin[dim] = i % blocks(p, dim) * p->chunk[dim];
        i /= blocks(p, dim);
    }
    begin[0] = 0;
}

static int band_fill(struct packing_cache *cache, const struct packing *p,
                     const struct packed_chunk *chunks, const struct source *s,
                     uint64_t band, unsigned char *rows, struct error *err)
{
    bool whole = chunk_bytes(p) == packing_band_bytes(p);
    uint64_t begin[RAYTRAIN_MAX_DIMS], n, all;

    if (!packing_count(p, &n, &all))
        return error_set(err, RAYTRAIN_ECORRUPT, "%s: impossible chunks", s->path);
    chunks += p->first + band * n;
    if (whole && n == 1)
        return chunk_read(cache, p, chunks, s, rows, err);
    if (!buffer_reserve(&cache->out, &cache->out_bytes, chunk_bytes(p)))
        return error_no_memory(err);
    for (uint64_t i = 0; i < n; i++) {
        if (chunk_read(cache, p, &chunks[i], s, cache->out, err) < 0)
            return -1;
        chunk_begin(p, i, begin);
        chunk_scatter(p, 0, begin, cache->out, rows);
    }
    return 0;
}

static int band_get(struct packing_cache *cache, const struct packing *p,
                    const struct packed_chunk *chunks, const struct source *s,
                    uint64_t band, const unsigned char **rows, struct error *err)
{
    uint64_t bytes = packing_band_bytes(p);
    unsigned char *unpacked;

    *rows = band_cache_find(cache->bands, p, band);
    if (*rows)
        return 0;
    band_cache_make_room(cache->bands, bytes);
    unpacked = malloc(bytes);
    if (!unpacked)
        return error_no_memory(err);
    if (band_fill(cache, p, chunks, s, band, unpacked, err) < 0) {
        free(unpacked);
        return -1;
    }
    band_cache_add(cache->bands, p, band, unpacked, bytes);
    *rows = unpacked;
    return 0;
}

/* ---- Bands that ranks share ---- */

/* While another rank unpacks a band, unpack the next one, if it is not in the store. */
static void band_unpack_ahead(struct packing_cache *cache, const struct packing *p,
                              const struct packed_chunk *chunks, const struct source *s,
                              uint64_t band)
{
    struct band_id id = {p->column, p->number, band};
    unsigned char *rows;
    uint32_t slot;

    if (band >= blocks(p, 0))
        return;
    switch (band_store_find(cache->store, &id, &rows, &slot)) {
    case BAND_READY:
        band_store_release(cache->store, slot);
        break;
    case BAND_OURS:
        band_store_publish(cache->store, slot,
                           band_fill(cache, p, chunks, s, band, rows, NULL) == 0);
        break;
    default:
        break;
    }
}

/* Wait a moment for another rank; false after AWAIT_S. */
static bool band_await(double *since)
{
    const struct timespec moment = {.tv_nsec = AWAIT_NS};

    if (*since == 0)
        *since = clock_now();
    nanosleep(&moment, NULL);
    return clock_now() - *since < AWAIT_S;
}

/* Read k rows of a band from row `at` on. 1: done; 0: not through the store; -1:
 * error. */
static int shared_read(struct packing_cache *cache, const struct packing *p,
                       const struct packed_chunk *chunks, const struct source *s,
                       uint64_t band, uint64_t at, uint64_t k, unsigned char *out,
                       struct error *err)
{
    const struct band_id id = {p->column, p->number, band};
    uint64_t bytes = row_bytes(p);
    unsigned char *rows;
    double since = 0;
    uint32_t slot;
    int rc;

    for (;;) {
        switch (band_store_find(cache->store, &id, &rows, &slot)) {
        case BAND_READY:
            memcpy(out, rows + at * bytes, k * bytes);
            band_store_release(cache->store, slot);
            return 1;
        case BAND_OURS:
            rc = band_fill(cache, p, chunks, s, band, rows, err);
            if (rc == 0)
                memcpy(out, rows + at * bytes, k * bytes);
            band_store_publish(cache->store, slot, rc == 0);
            return rc == 0 ? 1 : -1;
        case BAND_AWAITED:
            if (since == 0)
                band_unpack_ahead(cache, p, chunks, s, band + 1);
            if (band_await(&since))
                continue;
            return 0;
        default:
            return 0;
        }
    }
}

int packing_read(struct packing_cache *cache, const struct packing *p,
                 const struct packed_chunk *chunks, const struct source *s,
                 uint64_t row, uint64_t n, unsigned char *out, struct error *err)
{
    uint64_t bytes = row_bytes(p);
    const unsigned char *rows = NULL;

    while (n > 0) {
        uint64_t at = row % p->chunk[0];
        uint64_t k = n < p->chunk[0] - at ? n : p->chunk[0] - at;

        int rc = cache->store ? shared_read(cache, p, chunks, s, row / p->chunk[0], at,
                                            k, out, err)
                              : 0;

        if (rc < 0)
            return -1;
        if (rc == 0) {
            if (band_get(cache, p, chunks, s, row / p->chunk[0], &rows, err) < 0)
                return -1;
            memcpy(out, rows + at * bytes, k * bytes);
        }
        out += k * bytes;
        row += k;
        n -= k;
    }
    return 0;
}
