/*
 * band_cache.h - bands that have been unpacked, in this process: found by their packing
 * and number, and dropped in the order of their last use. The cost of a call does not
 * depend on how many there are: a table may have tens of thousands of columns, each
 * with a band of its own.
 *
 * For one thread.
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

/* The rows of a band, which is now the one that was used last; they are the cache's,
 * until the next band_cache_make_room(). NULL: it is not there. */
const unsigned char *band_cache_find(struct band_cache *cache, const void *packing,
                                     uint64_t band);

/* Drop bands until there is room for another one of that many bytes. */
void band_cache_make_room(struct band_cache *cache, uint64_t bytes);
/* Add a band that is not there, for which there is room. Takes rows, of malloc(). */
void band_cache_add(struct band_cache *cache, const void *packing, uint64_t band,
                    unsigned char *rows, uint64_t bytes);

#endif
