/*
 * packing.h - a column whose rows are packed in the chunks of an HDF5 dataset: where
 * these are, how they are unpacked, and a bounded cache of unpacked ones.
 *
 * A dataset of any number of dimensions is cut into chunks of one shape. The chunks
 * with the same rows are a band, which is unpacked as a whole. No function here calls
 * HDF5: chunks are read with pread(2) in any thread.
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

/* Each comes at most once, in this order. */
enum packing_filter { FILTER_SHUFFLE, FILTER_DEFLATE, FILTER_FLETCHER32 };

struct packing {
    int ndim;                          /* with the rows as the first dimension */
    uint64_t shape[RAYTRAIN_MAX_DIMS]; /* of the dataset, in elements */
    uint64_t chunk[RAYTRAIN_MAX_DIMS]; /* of a chunk; none is 0 */
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

/* The number of chunks in a band and in all; false if they cannot be used: the numbers
 * are impossible, or a band would be larger than PACKING_BAND_MAX. */
bool packing_count(const struct packing *p, uint64_t *band, uint64_t *all);

/* The size of an unpacked band. */
uint64_t packing_band_bytes(const struct packing *p);

/* A cache of unpacked bands: at most `bands`, of at most `bytes` together, but always
 * one. One thread at a time. NULL: out of memory. */
struct packing_cache;
struct packing_cache *packing_cache_create(size_t bands, uint64_t bytes);
/* Bands are also looked for, and put, into memory that others share. Not owned. */
struct band_store;
void packing_cache_share(struct packing_cache *cache, struct band_store *store);
void packing_cache_destroy(struct packing_cache *cache); /* NULL is fine */

/*
 * Rows row..row+n to out, dense. `chunks` are all those of the table, s is the file
 * that they are in. RAYTRAIN_ECORRUPT if a chunk is damaged.
 */
int packing_read(struct packing_cache *cache, const struct packing *p,
                 const struct packed_chunk *chunks, const struct source *s,
                 uint64_t row, uint64_t n, unsigned char *out, struct error *err);

/*
 * Undo the filters of a chunk of `bytes` bytes in `in`, into out[0..size), which is
 * filled. Both buffers are overwritten; in has room for `size` bytes, too.
 */
bool packing_unpack(const struct packing *p, unsigned skipped, unsigned char *in,
                    uint64_t bytes, unsigned char *out, uint64_t size);

#endif
