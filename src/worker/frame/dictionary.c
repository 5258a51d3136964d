/*
 * dictionary.c - see dictionary.h. An open-addressing hash table of codes over an array
 * of words, whose bytes are stored one after the other.
 *
 * The hash function multiplies and folds 8 bytes at a time, as wyhash does (Wang Yi,
 * public domain). It need not resist an attacker: colliding words only make it slow.
 */
#include "frame/dictionary.h"

#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_MIN 64

struct word {
    size_t at; /* where its bytes begin */
    uint32_t n;
    uint32_t hash;
};

/* Slots have the hash, so that words with another hash are not compared. */
struct slot {
    uint32_t hash;
    int32_t code; /* -1: empty */
};

struct dictionary {
    struct word *words;
    size_t n, room;
    char *bytes;
    size_t n_bytes, bytes_room;
    struct slot *slots; /* the number of them is a power of two */
    size_t n_slots;
};

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load(const char *at, size_t n)
{
    uint64_t x = 0;
    uint32_t low, high;

    if (n >= 8) {
        memcpy(&x, at, 8);
    } else if (n >= 4) { /* these may overlap */
        memcpy(&low, at, 4);
        memcpy(&high, at + n - 4, 4);
        x = low | (uint64_t)high << 32;
    } else if (n > 0) {
        x = (unsigned char)at[0] | (uint64_t)(unsigned char)at[n / 2] << 8 |
            (uint64_t)(unsigned char)at[n - 1] << 16;
    }
    return x;
}

static uint32_t hash_of(const char *word, size_t n)
{
    uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15);

    for (; n > 8; word += 8, n -= 8)
        h = fold(h ^ load(word, 8), UINT64_C(0xd6e8feb86659fd93));
    h = fold(h ^ load(word, n), UINT64_C(0xa0761d6478bd642f));
    return (uint32_t)(h ^ h >> 32);
}

/* Faster than a call of memcmp() for short words, as most are. */
static bool equal(const char *a, const char *b, size_t n)
{
    if (n <= 8)
        return load(a, n) == load(b, n);
    if (n > 32)
        return memcmp(a, b, n) == 0;
    for (size_t i = 0; i < n - 8; i += 8) {
        if (load(a + i, 8) != load(b + i, 8))
            return false;
    }
    return load(a + n - 8, 8) == load(b + n - 8, 8);
}

static void slot_put(struct dictionary *d, uint32_t hash, int32_t code)
{
    size_t at = hash & (d->n_slots - 1);

    while (d->slots[at].code >= 0)
        at = (at + 1) & (d->n_slots - 1);
    d->slots[at] = (struct slot){hash, code};
}

static int slots_make(struct dictionary *d, size_t n_slots, struct error *err)
{
    struct slot *slots = malloc(n_slots * sizeof *slots);

    if (!slots)
        return error_no_memory(err);
    free(d->slots);
    memset(slots, 0xff, n_slots * sizeof *slots);
    d->slots = slots;
    d->n_slots = n_slots;
    for (size_t i = 0; i < d->n; i++)
        slot_put(d, d->words[i].hash, (int32_t)i);
    return 0;
}

struct dictionary *dictionary_create(void)
{
    struct dictionary *d = calloc(1, sizeof *d);

    if (d && slots_make(d, SLOTS_MIN, NULL) < 0) {
        free(d);
        d = NULL;
    }
    return d;
}

void dictionary_destroy(struct dictionary *d)
{
    if (!d)
        return;
    free(d->words);
    free(d->bytes);
    free(d->slots);
    free(d);
}

size_t dictionary_count(const struct dictionary *d)
{
    return d->n;
}

size_t dictionary_memory(const struct dictionary *d)
{
    return d->room * sizeof *d->words + d->bytes_room + d->n_slots * sizeof *d->slots;
}

const char *dictionary_word(const struct dictionary *d, size_t code, size_t *n)
{
    *n = d->words[code].n;
    return d->bytes + d->words[code].at;
}

static int32_t hashed_word_find(const struct dictionary *d, const char *word, size_t n,
                                uint32_t hash)
{
    size_t at = hash & (d->n_slots - 1);

    for (; d->slots[at].code >= 0; at = (at + 1) & (d->n_slots - 1)) {
        const struct word *w = &d->words[d->slots[at].code];

        if (d->slots[at].hash == hash && w->n == n && equal(d->bytes + w->at, word, n))
            break;
    }
    return d->slots[at].code;
}

int32_t dictionary_find(const struct dictionary *d, const char *word, size_t n)
{
    return hashed_word_find(d, word, n, hash_of(word, n));
}

/* Make room for another word of n bytes. */
static int words_grow(struct dictionary *d, size_t n, struct error *err)
{
    if (d->n == d->room) {
        size_t room = d->room ? 2 * d->room : 64;
        struct word *grown = reallocarray(d->words, room, sizeof *grown);

        if (!grown)
            return error_no_memory(err);
        d->words = grown;
        d->room = room;
    }
    if (d->bytes_room - d->n_bytes < n + 1) {
        size_t room = 2 * d->bytes_room + n + 1;
        char *grown = realloc(d->bytes, room);

        if (!grown)
            return error_no_memory(err);
        d->bytes = grown;
        d->bytes_room = room;
    }
    /* At most 5 of 8 slots are used. */
    if (8 * (d->n + 1) > 5 * d->n_slots)
        return slots_make(d, 2 * d->n_slots, err);
    return 0;
}

static int add(struct dictionary *d, const char *word, size_t n, uint32_t hash,
               int32_t *code, struct error *err)
{
    *code = hashed_word_find(d, word, n, hash);
    if (*code >= 0)
        return 0;
    if (d->n == DICTIONARY_MAX || n > UINT32_MAX)
        return error_set(err, RAYTRAIN_EFIT, "too many different words, or too long");
    if (words_grow(d, n, err) < 0)
        return -1;
    d->words[d->n] = (struct word){.at = d->n_bytes, .n = (uint32_t)n, .hash = hash};
    if (n > 0)
        memcpy(d->bytes + d->n_bytes, word, n);
    d->bytes[d->n_bytes + n] = '\0';
    d->n_bytes += n + 1;
    *code = (int32_t)d->n++;
    slot_put(d, hash, *code);
    return 0;
}

int dictionary_add(struct dictionary *d, const char *word, size_t n, int32_t *code,
                   struct error *err)
{
    return add(d, word, n, hash_of(word, n), code, err);
}

/* Prefetch what adding these words will read. */
static void fetch(const struct dictionary *d, const uint32_t hashes[], size_t n)
{
    int32_t codes[DICTIONARY_AHEAD];

    for (size_t i = 0; i < n; i++) {
        size_t at = hashes[i] & (d->n_slots - 1);

        while (d->slots[at].code >= 0 && d->slots[at].hash != hashes[i])
            at = (at + 1) & (d->n_slots - 1);
        codes[i] = d->slots[at].code;
        if (codes[i] >= 0)
            __builtin_prefetch(&d->words[codes[i]]);
    }
    for (size_t i = 0; i < n; i++) {
        if (codes[i] >= 0)
            __builtin_prefetch(d->bytes + d->words[codes[i]].at);
    }
}

int dictionary_add_some(struct dictionary *d, const struct dictionary_text texts[],
                        size_t n, int32_t codes[], struct error *err)
{
    uint32_t hashes[DICTIONARY_AHEAD];

    for (size_t i = 0; i < n; i++) {
        hashes[i] = hash_of(texts[i].bytes, texts[i].n);
        __builtin_prefetch(&d->slots[hashes[i] & (d->n_slots - 1)]);
    }
    fetch(d, hashes, n);
    for (size_t i = 0; i < n; i++) {
        if (add(d, texts[i].bytes, texts[i].n, hashes[i], &codes[i], err) < 0)
            return -1;
    }
    return 0;
}

/* ---- Order ---- */

struct sorted {
    uint64_t key; /* the first bytes after those that all words begin with */
    const char *bytes;
    uint32_t n;
    int32_t code;
};

static int by_bytes(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->n < y->n ? x->n : y->n);

    if (order != 0)
        return order;
    return (x->n > y->n) - (x->n < y->n);
}

/* The length of the beginning that all words share. */
static size_t common_bytes(const struct dictionary *d)
{
    const char *first = d->bytes;
    size_t common = d->n > 0 ? d->words[0].n : 0;

    for (size_t i = 1; i < d->n && common > 0; i++) {
        const struct word *w = &d->words[i];
        size_t n = 0;

        while (n < common && n < w->n &&
               d->bytes[w->at + n] == first[d->words[0].at + n])
            n++;
        common = n;
    }
    return common;
}

/* A key of 8 bytes, padded with zeros; keys have the order of the bytes. */
static uint64_t word_key(const char *word, size_t n)
{
    unsigned char bytes[8] = {0};
    uint64_t key;

    memcpy(bytes, word, n < sizeof bytes ? n : sizeof bytes);
    memcpy(&key, bytes, sizeof key);
    return be64toh(key);
}

/* Make the list of words and codes to sort. */
static void order_make(const struct dictionary *d, struct sorted *order)
{
    size_t common = common_bytes(d);

    for (size_t i = 0; i < d->n; i++) {
        const struct word *w = &d->words[i];
        const char *bytes = d->bytes + w->at;

        order[i] = (struct sorted){word_key(bytes + common, w->n - common), bytes, w->n,
                                   (int32_t)i};
    }
}

/* A stable sort by one byte of the keys, into `to`; false if the byte is the same in
 * all. */
static bool byte_sort(const struct sorted *from, struct sorted *to, size_t n,
                      unsigned shift)
{
    size_t begins[257] = {0};

    for (size_t i = 0; i < n; i++)
        begins[(from[i].key >> shift & 0xff) + 1]++;
    if (begins[(from[0].key >> shift & 0xff) + 1] == n)
        return false;
    for (size_t i = 1; i < 257; i++)
        begins[i] += begins[i - 1];
    for (size_t i = 0; i < n; i++)
        to[begins[from[i].key >> shift & 0xff]++] = from[i];
    return true;
}

/* Sort by keys, from the last byte to the first, then words whose keys are equal.
 * *spare has the same size; the two may be swapped. */
static void sort(struct sorted **order, struct sorted **spare, size_t n)
{
    for (unsigned shift = 0; n > 1 && shift < 64; shift += 8) {
        if (byte_sort(*order, *spare, n, shift)) {
            struct sorted *sorted = *spare;

            *spare = *order;
            *order = sorted;
        }
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && (*order)[end].key == (*order)[i].key; end++)
            ;
        if (end - i > 1)
            qsort(*order + i, end - i, sizeof **order, by_bytes);
    }
}

int dictionary_sort(struct dictionary *d, int32_t *codes, struct error *err)
{
    struct sorted *order = malloc((d->n + 1) * sizeof *order);
    struct sorted *spare = malloc((d->n + 1) * sizeof *spare);
    struct word *words = malloc((d->n + 1) * sizeof *words);

    if (!order || !spare || !words) {
        free(order);
        free(spare);
        free(words);
        return error_no_memory(err);
    }
    order_make(d, order);
    sort(&order, &spare, d->n);
    free(spare);
    for (size_t i = 0; i < d->n; i++) {
        words[i] = d->words[order[i].code];
        if (codes)
            codes[order[i].code] = (int32_t)i;
    }
    free(order);
    free(d->words);
    d->words = words;
    d->room = d->n + 1;
    memset(d->slots, 0xff, d->n_slots * sizeof *d->slots);
    for (size_t i = 0; i < d->n; i++)
        slot_put(d, d->words[i].hash, (int32_t)i);
    return 0;
}

/* ---- As bytes ---- */

int dictionary_pack(const struct dictionary *d, unsigned char **bytes, size_t *n,
                    struct error *err)
{
    unsigned char *at = malloc(d->n_bytes + d->n * sizeof(uint32_t) + 1);

    if (!at)
        return error_no_memory(err);
    *bytes = at;
    for (size_t i = 0; i < d->n; i++) {
        const struct word *w = &d->words[i];

        memcpy(at, &w->n, sizeof w->n);
        memcpy(at + sizeof w->n, d->bytes + w->at, w->n);
        at += sizeof w->n + w->n;
    }
    *n = (size_t)(at - *bytes);
    return 0;
}

int dictionary_unpack(struct dictionary *d, const unsigned char *bytes, size_t n,
                      int32_t *codes, struct error *err)
{
    uint32_t length;
    int32_t code;

    for (size_t i = 0; n > 0; i++) {
        if (n < sizeof length)
            return error_set(err, RAYTRAIN_ECORRUPT,
                             "the words of a column are cut off");
        memcpy(&length, bytes, sizeof length);
        bytes += sizeof length;
        n -= sizeof length;
        if (length > n)
            return error_set(err, RAYTRAIN_ECORRUPT,
                             "the words of a column are cut off");
        if (dictionary_add(d, (const char *)bytes, length, &code, err) < 0)
            return -1;
        if (codes)
            codes[i] = code;
        bytes += length;
        n -= length;
    }
    return 0;
}
