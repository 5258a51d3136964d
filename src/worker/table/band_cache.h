/*
 * band_cache.h - a cache of bands that this process has unpacked: found by their
 * packing and number, and dropped in the order of their last use. The cost of a call
 * does not depend on the number of bands: a table may have tens of thousands of
 * columns, each with its own band.
 *
 * Only one thread may use a cache.
 */
#ifndef RAYTRAIN_TABLE_BAND_CACHE_H
#define RAYTRAIN_TABLE_BAND_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct band_cache;

/* `bands` and `bytes` are its limits; one band may be larger. NULL: out of memory. */
struct band_cache *band_cache_create(size_t bands, uint64_t bytes);
/* NULL is fine. */
void band_cache_destroy(struct band_cache *cache);

/* The rows of a band, which becomes the one that was used last. They belong to the
 * cache, and are valid until the next band_cache_make_room(). NULL: the band is not
 * cached. */
const unsigned char *band_cache_find(struct band_cache *cache, const void *packing,
                                     uint64_t band);

/* Drops bands until there is room for one of `bytes` bytes. */
void band_cache_make_room(struct band_cache *cache, uint64_t bytes);
/* Adds a band that is not cached, and for which there is room. Takes rows, of
 * malloc(). */
void band_cache_add(struct band_cache *cache, const void *packing, uint64_t band,
                    unsigned char *rows, uint64_t bytes);

#endif
