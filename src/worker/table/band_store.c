/*
 * band_store.c - slots in shared memory, and how ranks agree on them without a lock.
 * packing.c unpacks bands.
 */
#include "table/band_store.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/memory_file.h"

#define WAYS 8 /* slots in which a band may be */

/* The state of a slot, from bit 0: 2 bits for FREE, FILLING or READY; 14 bits for the
 * number of ranks that read it; 48 bits for the band in it. */
#define FREE    0u
#define FILLING 1u
#define READY   2u

#define STATE(word)   ((word)&3)
#define READERS(word) ((word) >> 2 & 0x3fff)
#define KEY(word)     ((word) >> 16)
#define ONE_READER    ((uint64_t)1 << 2)

#define PACKING_BITS 20
#define BAND_BITS    28

struct shared_slot {
    _Atomic uint64_t word;
    _Atomic uint64_t used; /* by the clock */
};

struct shared_column {
    uint64_t bytes; /* of a slot */
    uint64_t first; /* its slots among all, */
    uint64_t n;     /* how many, */
    uint64_t data;  /* and where their rows begin */
};

struct shared {
    uint64_t size; /* of all */
    uint64_t n_columns, n_slots;
    _Atomic uint64_t clock;
    struct shared_column columns[BAND_COLUMNS_MAX];
    struct shared_slot slots[];
};

struct band_store {
    struct shared *shared;
};

/* ---- Its memory ---- */

static uint64_t rounded(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Each column gets the same number of slots, and no more than it has bands. */
static uint64_t band_layout(struct shared *s, unsigned n, const uint64_t *bytes,
                            const uint64_t *bands, uint64_t slots)
{
    uint64_t at;

    s->n_columns = n;
    s->n_slots = 0;
    for (unsigned i = 0; i < n; i++) {
        s->columns[i] =
            (struct shared_column){.bytes = rounded(bytes[i], 64),
                                   .first = s->n_slots,
                                   .n = bands[i] < slots ? bands[i] : slots};
        s->n_slots += s->columns[i].n;
    }
    at = rounded(sizeof *s + s->n_slots * sizeof *s->slots, 4096);
    for (unsigned i = 0; i < n; i++) {
        s->columns[i].data = at;
        at += s->columns[i].n * s->columns[i].bytes;
    }
    return s->size = rounded(at, 4096);
}

static struct band_store *store_map(int fd, uint64_t size)
{
    struct band_store *s = malloc(sizeof *s);
    void *p = MAP_FAILED;

    if (s)
        p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        free(s);
        return NULL;
    }
    s->shared = p;
    return s;
}

struct band_store *band_store_create(int ranks, unsigned n, const uint64_t *bytes,
                                     const uint64_t *bands, uint64_t limit, int *fd)
{
    struct shared head = {0};
    struct band_store *s = NULL;
    uint64_t each = 0;

    *fd = -1;
    for (unsigned i = 0; i < n && n <= BAND_COLUMNS_MAX; i++)
        each += rounded(bytes[i], 64);
    if (ranks < 2 || each == 0 || limit / each < 2 * (uint64_t)ranks)
        return NULL;
    band_layout(&head, n, bytes, bands, limit / each);
    *fd = memory_file_create("raytrain-bands", head.size);
    if (*fd >= 0 && memory_file_grant(*fd, 0, head.size) == 0)
        s = store_map(*fd, head.size);
    if (!s) {
        if (*fd >= 0)
            close(*fd);
        *fd = -1;
        return NULL;
    }
    memcpy(s->shared, &head, sizeof head);
    return s;
}

struct band_store *band_store_attach(int fd)
{
    struct band_store *s = NULL;
    struct stat st;

    if (fstat(fd, &st) == 0 && (uint64_t)st.st_size >= sizeof *s->shared)
        s = store_map(fd, (uint64_t)st.st_size);
    close(fd);
    return s;
}

void band_store_detach(struct band_store *s)
{
    if (!s)
        return;
    munmap(s->shared, s->shared->size);
    free(s);
}

/* ---- Slots ---- */

static uint64_t band_key(const struct band_id *id)
{
    return id->packing << BAND_BITS | id->band;
}

/* The first of the slots in which the band may be; *n is their number. */
static uint64_t ways_of(const struct shared *s, const struct band_id *id, uint64_t *n)
{
    const struct shared_column *c = &s->columns[id->column];
    uint64_t sets = c->n / WAYS, set;

    if (sets < 2) {
        *n = c->n;
        return c->first;
    }
    set = (id->packing * UINT64_C(0x9e3779b97f4a7c15) + id->band) % sets;
    *n = set == sets - 1 ? c->n - set * WAYS : WAYS;
    return c->first + set * WAYS;
}

static unsigned char *slot_rows(struct shared *s, const struct band_id *id,
                                uint64_t slot)
{
    const struct shared_column *c = &s->columns[id->column];

    return (unsigned char *)s + c->data + (slot - c->first) * c->bytes;
}

/* Add a reader, if the slot still holds this band. */
static bool slot_pin(struct shared *s, uint64_t slot, uint64_t word)
{
    if (!atomic_compare_exchange_strong_explicit(
            &s->slots[slot].word, &word, word + ONE_READER, memory_order_acquire,
            memory_order_relaxed))
        return false;
    atomic_store_explicit(&s->slots[slot].used,
                          atomic_fetch_add_explicit(&s->clock, 1, memory_order_relaxed),
                          memory_order_relaxed);
    return true;
}

/* The slot that was used least recently of those that no rank is using; false: none. */
static bool slot_choose(const struct shared *s, uint64_t first, uint64_t n,
                        uint64_t *slot, uint64_t *word)
{
    uint64_t oldest = UINT64_MAX;

    for (uint64_t i = first; i < first + n; i++) {
        uint64_t w = atomic_load_explicit(&s->slots[i].word, memory_order_relaxed);
        uint64_t used = atomic_load_explicit(&s->slots[i].used, memory_order_relaxed);

        if (STATE(w) == FILLING || READERS(w) > 0)
            continue;
        if (STATE(w) == FREE)
            used = 0;
        if (used < oldest) {
            oldest = used;
            *slot = i;
            *word = w;
        }
    }
    return oldest != UINT64_MAX;
}

/* Take a slot for `key`. Ranks that find the same band missing at once may take
 * different slots; but each looks at the others after it has taken its own, in an order
 * that all agree on, so that at most one of them sees no other, and keeps its slot. */
static bool slot_take(struct shared *s, uint64_t first, uint64_t n, uint64_t slot,
                      uint64_t word, uint64_t key)
{
    if (!atomic_compare_exchange_strong(&s->slots[slot].word, &word,
                                        key << 16 | FILLING))
        return false;
    for (uint64_t i = first; i < first + n; i++) {
        uint64_t w = atomic_load(&s->slots[i].word);

        if (i != slot && STATE(w) != FREE && KEY(w) == key) {
            atomic_store(&s->slots[slot].word, FREE);
            return false;
        }
    }
    return true;
}

/* How often to look again, when another rank has changed a slot, before waiting. */
#define LOOKS 4

/* Find a slot with the band, or take one. False: look again. */
static bool band_slot_find(struct shared *s, const struct band_id *id, uint64_t *slot,
                           enum band_found *found)
{
    uint64_t key = band_key(id), n, first = ways_of(s, id, &n), word = 0;

    for (uint64_t i = first; i < first + n; i++) {
        uint64_t w = atomic_load_explicit(&s->slots[i].word, memory_order_relaxed);

        if (STATE(w) == FREE || KEY(w) != key)
            continue;
        *slot = i;
        *found = STATE(w) == FILLING ? BAND_AWAITED : BAND_READY;
        return STATE(w) == FILLING || slot_pin(s, i, w);
    }
    *found = BAND_NO_ROOM;
    if (!slot_choose(s, first, n, slot, &word))
        return true;
    *found = BAND_OURS;
    return slot_take(s, first, n, *slot, word, key);
}

enum band_found band_store_find(struct band_store *store, const struct band_id *id,
                                unsigned char **rows, uint32_t *slot)
{
    struct shared *s = store->shared;
    enum band_found found;
    uint64_t at = 0;

    if (id->packing >> PACKING_BITS || id->band >> BAND_BITS)
        return BAND_NO_ROOM;
    for (int i = 0; !band_slot_find(s, id, &at, &found); i++)
        if (i == LOOKS)
            return BAND_AWAITED;
    if (found == BAND_READY || found == BAND_OURS) {
        *slot = (uint32_t)at;
        *rows = slot_rows(s, id, at);
    }
    return found;
}

void band_store_release(struct band_store *store, uint32_t slot)
{
    atomic_fetch_sub_explicit(&store->shared->slots[slot].word, ONE_READER,
                              memory_order_release);
}

void band_store_publish(struct band_store *store, uint32_t slot, bool ok)
{
    struct shared_slot *s = &store->shared->slots[slot];
    uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);

    atomic_store_explicit(
        &s->used,
        atomic_fetch_add_explicit(&store->shared->clock, 1, memory_order_relaxed),
        memory_order_relaxed);
    atomic_store_explicit(&s->word, ok ? word - FILLING + READY : FREE,
                          memory_order_release);
}
