/*
 * packing.h - a column whose rows are packed in the chunks of an HDF5 dataset: where
 * the chunks are, how to unpack them, and a bounded cache of unpacked ones.
 *
 * A dataset of any number of dimensions is divided into chunks of one shape. The chunks
 * with the same rows are a band, which is unpacked as a whole. These functions do not
 * call HDF5: they read chunks with pread(2), in any thread.
 */
#ifndef RAYTRAIN_TABLE_PACKING_H
#define RAYTRAIN_TABLE_PACKING_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct source;

/* A larger band is not unpacked. */
#define PACKING_BAND_MAX    (UINT64_C(1) << 30)
#define PACKING_FILTERS_MAX 3

/* Each occurs at most once, in this order. */
enum packing_filter { FILTER_SHUFFLE, FILTER_DEFLATE, FILTER_FLETCHER32 };

struct packing {
    int ndim;                          /* with the rows as the first dimension */
    uint64_t shape[RAYTRAIN_MAX_DIMS]; /* of the dataset, in elements */
    uint64_t chunk[RAYTRAIN_MAX_DIMS]; /* of a chunk; not 0 */
    uint64_t width;                    /* bytes of an element */
    unsigned char fill[8];             /* an element of a chunk that is not stored */
    int n_filters;                     /* in the order in which they were applied */
    enum packing_filter filters[PACKING_FILTERS_MAX];
    uint64_t first; /* its first chunk in the table; they are in row-major order */
    /* By table_ready(): its index in the table, and that of its column. */
    uint64_t number;
    unsigned column;
};

struct packed_chunk {
    uint64_t offset;  /* in the source */
    uint32_t bytes;   /* 0: not stored */
    uint32_t skipped; /* bit i: without filter i */
};

/* The numbers of chunks in a band, and of all chunks. False if they cannot be used: the
 * numbers are impossible, or a band would be larger than PACKING_BAND_MAX. */
bool packing_count(const struct packing *p, uint64_t *band, uint64_t *all);

/* The size of an unpacked band. */
uint64_t packing_band_bytes(const struct packing *p);

/* A cache of at most `bands` unpacked bands with at most `bytes` bytes together, but at
 * least one band. Only one thread at a time may use it. NULL: out of memory. */
struct packing_cache;
struct packing_cache *packing_cache_create(size_t bands, uint64_t bytes);
/* Makes the cache share bands with other ranks. The store is not owned. */
struct band_store;
void packing_cache_share(struct packing_cache *cache, struct band_store *store);
void packing_cache_destroy(struct packing_cache *cache); /* NULL is fine */

/*
 * Reads rows row..row+n into out, dense. `chunks` are all those of the table, s is the
 * file that has them. RAYTRAIN_ECORRUPT if a chunk is damaged.
 */
int packing_read(struct packing_cache *cache, const struct packing *p,
                 const struct packed_chunk *chunks, const struct source *s,
                 uint64_t row, uint64_t n, unsigned char *out, struct error *err);

/*
 * Reverses the filters of a chunk of `bytes` bytes in `in`, and fills out[0..size).
 * Both buffers are overwritten; `in` has room for `size` bytes too.
 */
bool packing_unpack(const struct packing *p, unsigned skipped, unsigned char *in,
                    uint64_t bytes, unsigned char *out, uint64_t size);

#endif
