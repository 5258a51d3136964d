/*
 * band_cache.c - see band_cache.h. A table of slots; those in use are in a list by
 * their last use, and in chains by a hash of their key. Links are numbers of slots.
 */
#include "table/band_cache.h"

#include <stdlib.h>

#define NONE SIZE_MAX

struct slot {
    const void *packing;
    uint64_t band, bytes;
    unsigned char *rows;
    size_t older, newer; /* by last use */
    size_t next;         /* in its chain, or among free slots */
};

struct band_cache {
    struct slot *slots;
    size_t *chains; /* as many as slots */
    size_t n, free, oldest, newest;
    uint64_t bytes, limit;
};

struct band_cache *band_cache_create(size_t bands, uint64_t bytes)
{
    struct band_cache *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    *c = (struct band_cache){
        .n = bands, .limit = bytes, .free = NONE, .oldest = NONE, .newest = NONE};
    c->slots = calloc(bands, sizeof *c->slots);
    c->chains = malloc(bands * sizeof *c->chains);
    if (!c->slots || !c->chains) {
        c->n = 0;
        band_cache_destroy(c);
        return NULL;
    }
    for (size_t i = 0; i < bands; i++) {
        c->chains[i] = NONE;
        c->slots[i].next = c->free;
        c->free = i;
    }
    return c;
}

void band_cache_destroy(struct band_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        free(c->slots[i].rows);
    free(c->slots);
    free(c->chains);
    free(c);
}

/* The bits of both numbers, mixed by multiplication (Fibonacci hashing). */
static size_t *chain_of(const struct band_cache *c, const void *packing, uint64_t band)
{
    uint64_t h = ((uint64_t)(uintptr_t)packing >> 4) * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ (h >> 32) ^ band) * UINT64_C(0x9e3779b97f4a7c15);
    return &c->chains[(h >> 32) % c->n];
}

/* ---- By last use ---- */

static void use_end(struct band_cache *c, const struct slot *s)
{
    *(s->older == NONE ? &c->oldest : &c->slots[s->older].newer) = s->newer;
    *(s->newer == NONE ? &c->newest : &c->slots[s->newer].older) = s->older;
}

static void use_begin(struct band_cache *c, size_t i)
{
    c->slots[i].older = c->newest;
    c->slots[i].newer = NONE;
    *(c->newest == NONE ? &c->oldest : &c->slots[c->newest].newer) = i;
    c->newest = i;
}

/* ---- Bands ---- */

const unsigned char *band_cache_find(struct band_cache *c, const void *packing,
                                     uint64_t band)
{
    size_t i = *chain_of(c, packing, band);

    while (i != NONE && (c->slots[i].packing != packing || c->slots[i].band != band))
        i = c->slots[i].next;
    if (i == NONE)
        return NULL;
    use_end(c, &c->slots[i]);
    use_begin(c, i);
    return c->slots[i].rows;
}

static void oldest_drop(struct band_cache *c)
{
    size_t i = c->oldest;
    struct slot *s = &c->slots[i];
    size_t *at = chain_of(c, s->packing, s->band);

    while (*at != i)
        at = &c->slots[*at].next;
    *at = s->next;
    use_end(c, s);
    c->bytes -= s->bytes;
    free(s->rows);
    s->rows = NULL;
    s->next = c->free;
    c->free = i;
}

void band_cache_make_room(struct band_cache *c, uint64_t bytes)
{
    while (c->oldest != NONE && (c->free == NONE || c->bytes + bytes > c->limit))
        oldest_drop(c);
}

void band_cache_add(struct band_cache *c, const void *packing, uint64_t band,
                    unsigned char *rows, uint64_t bytes)
{
    size_t i = c->free, *chain = chain_of(c, packing, band);
    struct slot *s = &c->slots[i];

    c->free = s->next;
    s->packing = packing;
    s->band = band;
    s->bytes = bytes;
    s->rows = rows;
    s->next = *chain;
    *chain = i;
    use_begin(c, i);
    c->bytes += bytes;
}
