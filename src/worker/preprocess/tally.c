/*
 * tally.c - see tally.h. In order: counting; the counts of words, and those of numbers,
 * to rank 0 and back; choosing the values to keep.
 */
#include "preprocess/tally.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/reals.h"

/* ---- Counting ---- */

int tally_create(struct tally *t, const char *what, const struct frame_column *c,
                 struct error *err)
{
    bool words = c->kind == FRAME_WORDS || c->kind == FRAME_WORD_LISTS;

    *t = (struct tally){.type = FITTED_WORDS, .of = words ? c->words : NULL};
    if (words) {
        t->room = dictionary_count(c->words) + 1;
        t->counts = calloc(t->room, sizeof *t->counts);
        return t->counts ? 0 : error_no_memory(err);
    }
    if (c->kind != FRAME_NUMBERS || reals_width(c) != 1)
        return error_set(err, RAYTRAIN_ETYPE,
                         "%s: column \"%s\" consists neither of words nor of single "
                         "numbers",
                         what, c->name);
    t->type = reals_is_float(c->row.dtype) ? FITTED_REALS : FITTED_INTEGERS;
    return 0;
}

void tally_free(struct tally *t)
{
    key_index_clear(&t->keys);
    free(t->counts);
    dictionary_destroy(t->words);
    free(t->integers);
    free(t->reals);
    memset(t, 0, sizeof *t);
}

static int key_count(struct tally *t, uint64_t key, int64_t times, struct error *err)
{
    int32_t number;

    if (key_index_add(&t->keys, key, &number, err) < 0)
        return -1;
    if ((size_t)number >= t->room) {
        size_t room = t->keys.room;
        int64_t *grown = reallocarray(t->counts, room, sizeof *grown);

        if (!grown)
            return error_no_memory(err);
        memset(grown + t->room, 0, (room - t->room) * sizeof *grown);
        t->counts = grown;
        t->room = room;
    }
    t->counts[number] += times;
    return 0;
}

static void tally_words_add(struct tally *t, const int32_t *codes, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        if (codes[i] < 0)
            t->missing++;
        else
            t->counts[codes[i]]++;
    }
}

static int numbers_add(struct tally *t, const struct frame_column *c, uint64_t rows,
                       struct error *err)
{
    uint64_t keys[REALS_BLOCK];
    bool missing[REALS_BLOCK];
    size_t step;

    for (uint64_t done = 0; done < rows; done += step) {
        step = rows - done < REALS_BLOCK ? (size_t)(rows - done) : REALS_BLOCK;
        reals_keys(c, (size_t)done, step, t->type == FITTED_REALS, keys, missing);
        for (size_t i = 0; i < step; i++) {
            if (missing[i])
                t->missing++;
            else if (key_count(t, keys[i], 1, err) < 0)
                return -1;
        }
    }
    return 0;
}

int tally_add(struct tally *t, const struct frame_column *c, uint64_t rows,
              struct error *err)
{
    const int32_t *codes = (const int32_t *)(const void *)c->data;

    if (t->type != FITTED_WORDS)
        return numbers_add(t, c, rows, err);
    tally_words_add(t, codes,
                    c->kind == FRAME_WORDS || rows == 0 ? rows : c->offsets[rows]);
    return 0;
}

/* ---- Words of all ranks ---- */

struct message {
    unsigned char *words;
    size_t n_bytes;
    int64_t *counts;
    size_t n;
};

static void message_free(struct message *m)
{
    free(m->words);
    free(m->counts);
}

/* Pack the words that occurred on this rank, and their counts. */
static int words_pack(const struct tally *t, struct message *m, struct error *err)
{
    struct dictionary *seen = dictionary_create();
    size_t all = dictionary_count(t->of);
    int rc = 0;

    *m = (struct message){.counts = malloc((all + 1) * sizeof *m->counts)};
    if (!seen || !m->counts)
        rc = error_no_memory(err);
    for (size_t code = 0; rc == 0 && code < all; code++) {
        size_t n;
        const char *word = dictionary_word(t->of, code, &n);
        int32_t added;

        if (t->counts[code] == 0)
            continue;
        m->counts[m->n++] = t->counts[code];
        if (memchr(word, '\0', n))
            rc = error_set(err, RAYTRAIN_EINVAL, "a category has a byte of value 0");
        else
            rc = dictionary_add(seen, word, n, &added, err);
    }
    if (rc == 0)
        rc = dictionary_pack(seen, &m->words, &m->n_bytes, err);
    dictionary_destroy(seen);
    return rc;
}

/* Add the words of one rank, whose counts are at `counts`. */
static int words_unpack(struct tally *t, const unsigned char *bytes, size_t n_bytes,
                        const int64_t *counts, size_t n, struct error *err)
{
    int32_t *codes = malloc((n + 1) * sizeof *codes);
    int rc = codes ? dictionary_unpack(t->words, bytes, n_bytes, codes, err)
                   : error_no_memory(err);
    size_t room = dictionary_count(t->words) + 1;
    int64_t *grown;

    if (rc == 0 && room > t->room) {
        grown = reallocarray(t->counts, room, sizeof *grown);
        if (grown) {
            memset(grown + t->room, 0, (room - t->room) * sizeof *grown);
            t->counts = grown;
            t->room = room;
        } else {
            rc = error_no_memory(err);
        }
    }
    for (size_t i = 0; rc == 0 && i < n; i++)
        t->counts[codes[i]] += counts[i];
    free(codes);
    return rc;
}

static int words_sort(struct tally *t, struct error *err)
{
    size_t n = dictionary_count(t->words);
    int32_t *codes = malloc((n + 1) * sizeof *codes);
    int64_t *counts = malloc((n + 1) * sizeof *counts);
    int rc =
        codes && counts ? dictionary_sort(t->words, codes, err) : error_no_memory(err);

    for (size_t i = 0; rc == 0 && i < n; i++)
        counts[codes[i]] = t->counts[i];
    free(codes);
    if (rc == 0) {
        free(t->counts);
        t->counts = counts;
        t->room = n + 1;
        t->n = n;
    } else {
        free(counts);
    }
    return rc;
}

/* On rank 0: merge the messages of all. */
static int words_merge(struct tally *t, const unsigned char *bytes, const size_t *sizes,
                       const int64_t *counts, const size_t *n, int ranks,
                       struct error *err)
{
    memset(t->counts, 0, t->room * sizeof *t->counts);
    for (int r = 0; r < ranks; r++) {
        size_t words = n[r] / sizeof *counts;

        if (words_unpack(t, bytes, sizes[r], counts, words, err) < 0)
            return -1;
        bytes += sizes[r];
        counts += words;
    }
    return words_sort(t, err);
}

/* COLLECTIVE: send rank 0's bytes and counts to all. */
static int words_publish(struct tally *t, struct comm *comm, struct error *err)
{
    struct message m = {.n = t->n};
    uint64_t sizes[2];
    int rc = 0;

    if (comm->rank == 0)
        rc = dictionary_pack(t->words, &m.words, &m.n_bytes, err);
    sizes[0] = m.n_bytes;
    sizes[1] = t->n;
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, sizes, sizeof sizes, 0, err);
    if (rc == 0)
        rc = comm_bcast_alloc(comm, (void **)&m.words, (size_t)sizes[0], 0, err);
    if (comm->rank == 0) {
        m.counts = t->counts;
    }
    if (rc == 0)
        rc = comm_bcast_alloc(comm, (void **)&m.counts,
                              (size_t)sizes[1] * sizeof *m.counts, 0, err);
    if (comm->rank != 0 && rc == 0) {
        rc = dictionary_unpack(t->words, m.words, (size_t)sizes[0], NULL, err);
        free(t->counts);
        t->counts = m.counts;
        t->room = t->n = (size_t)sizes[1];
        m.counts = NULL;
    }
    if (comm->rank == 0)
        m.counts = NULL;
    message_free(&m);
    return comm_agree(comm, rc, err);
}

static int words_reduce(struct tally *t, struct comm *comm, struct error *err)
{
    size_t ranks = (size_t)comm->size, *sizes = calloc(2 * ranks, sizeof *sizes);
    void *bytes = NULL, *counts = NULL;
    struct message m = {NULL, 0, NULL, 0};
    int rc = 0;

    t->words = dictionary_create();
    if (!sizes || !t->words)
        rc = error_no_memory(err);
    if (rc == 0)
        rc = words_pack(t, &m, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->gatherv(comm, m.words, m.n_bytes, &bytes, sizes, 0, err);
    if (rc == 0)
        rc = comm->ops->gatherv(comm, m.counts, m.n * sizeof *m.counts, &counts,
                                sizes + ranks, 0, err);
    if (rc == 0 && comm->rank == 0)
        rc = words_merge(t, bytes, sizes, counts, sizes + ranks, comm->size, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = words_publish(t, comm, err);
    message_free(&m);
    free(bytes);
    free(counts);
    free(sizes);
    return rc;
}

/* ---- Numbers of all ranks ---- */

struct pair {
    uint64_t key;
    int64_t count;
};

static double real_of(uint64_t key)
{
    double x;

    memcpy(&x, &key, sizeof x);
    return x;
}

static int by_integer(const void *a, const void *b)
{
    int64_t x = (int64_t)((const struct pair *)a)->key;
    int64_t y = (int64_t)((const struct pair *)b)->key;

    return (x > y) - (x < y);
}

static int by_real(const void *a, const void *b)
{
    double x = real_of(((const struct pair *)a)->key);
    double y = real_of(((const struct pair *)b)->key);

    return (x > y) - (x < y);
}

static int pairs_make(const struct tally *t, struct pair **pairs, struct error *err)
{
    *pairs = malloc((t->keys.n + 1) * sizeof **pairs);
    if (!*pairs)
        return error_no_memory(err);
    for (size_t i = 0; i < t->keys.n; i++)
        (*pairs)[i] = (struct pair){t->keys.keys[i], t->counts[i]};
    return 0;
}

/* Merge the pairs of all ranks, so that each key occurs once, and sort them. */
static int pairs_merge(struct tally *t, const struct pair *all, size_t n,
                       struct pair **sorted, struct error *err)
{
    key_index_clear(&t->keys);
    if (t->room > 0)
        memset(t->counts, 0, t->room * sizeof *t->counts);
    for (size_t i = 0; i < n; i++)
        if (key_count(t, all[i].key, all[i].count, err) < 0)
            return -1;
    if (pairs_make(t, sorted, err) < 0)
        return -1;
    if (t->keys.n > 1)
        qsort(*sorted, t->keys.n, sizeof **sorted,
              t->type == FITTED_REALS ? by_real : by_integer);
    return 0;
}

static int values_set(struct tally *t, const struct pair *pairs, size_t n,
                      struct error *err)
{
    t->integers = malloc((n + 1) * sizeof *t->integers);
    t->reals = malloc((n + 1) * sizeof *t->reals);
    free(t->counts);
    t->counts = malloc((n + 1) * sizeof *t->counts);
    t->room = t->n = t->counts ? n : 0;
    if (!t->integers || !t->reals || !t->counts)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        t->integers[i] = (int64_t)pairs[i].key;
        t->reals[i] = real_of(pairs[i].key);
        t->counts[i] = pairs[i].count;
    }
    return 0;
}

static int numbers_reduce(struct tally *t, struct comm *comm, struct error *err)
{
    struct pair *own = NULL, *sorted = NULL;
    size_t *sizes = calloc((size_t)comm->size, sizeof *sizes), all_bytes = 0;
    void *all = NULL;
    uint64_t n = 0;
    int rc = sizes ? pairs_make(t, &own, err) : error_no_memory(err);

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc =
            comm->ops->gatherv(comm, own, t->keys.n * sizeof *own, &all, sizes, 0, err);
    if (rc == 0 && comm->rank == 0) {
        for (int r = 0; r < comm->size; r++)
            all_bytes += sizes[r];
        rc = pairs_merge(t, all, all_bytes / sizeof *own, &sorted, err);
        n = t->keys.n;
    }
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &n, sizeof n, 0, err);
    if (rc == 0)
        rc = comm_bcast_alloc(comm, (void **)&sorted, (size_t)n * sizeof *sorted, 0,
                              err);
    if (rc == 0)
        rc = values_set(t, sorted, (size_t)n, err);
    free(own);
    free(sorted);
    free(all);
    free(sizes);
    return comm_agree(comm, rc, err);
}

int tally_reduce(struct tally *t, struct comm *comm, struct error *err)
{
    if (comm->ops->allreduce(comm, &t->missing, 1, COMM_INT64, COMM_SUM, err) < 0)
        return -1;
    return t->type == FITTED_WORDS ? words_reduce(t, comm, err)
                                   : numbers_reduce(t, comm, err);
}

/* ---- Choosing the values to keep ---- */

struct place {
    int64_t count;
    size_t at;
};

static int by_count(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->at > y->at) - (x->at < y->at);
}

static int value_copy(const struct tally *t, size_t at, struct fitted_item *to,
                      size_t i, struct error *err)
{
    const char *word;
    int32_t code;
    size_t n;

    if (t->type == FITTED_REALS) {
        to->reals[i] = t->reals[at];
    } else if (t->type == FITTED_INTEGERS) {
        to->integers[i] = t->integers[at];
    } else {
        word = dictionary_word(t->words, at, &n);
        return dictionary_add(to->words, word, n, &code, err);
    }
    return 0;
}

int tally_save(const struct tally *t, size_t max, const char *column,
               struct fitted *fitted, struct error *err)
{
    struct place *order = malloc((t->n + 1) * sizeof *order);
    uint64_t n = max > 0 && max < t->n ? max : t->n;
    struct fitted_item *item;
    int rc = order ? 0 : error_no_memory(err);

    for (size_t i = 0; rc == 0 && i < t->n; i++)
        order[i] = (struct place){t->counts[i], i};
    if (rc == 0 && max > 0 && t->n > 1)
        qsort(order, t->n, sizeof *order, by_count);
    if (rc == 0) {
        item = fitted_add(fitted, column, "categories", t->type, 1, &n, err);
        rc = item ? 0 : -1;
        for (size_t i = 0; rc == 0 && i < n; i++)
            rc = value_copy(t, order[i].at, item, i, err);
    }
    if (rc == 0) {
        item = fitted_add(fitted, column, "counts", FITTED_INTEGERS, 1, &n, err);
        rc = item ? 0 : -1;
        for (size_t i = 0; rc == 0 && i < n; i++)
            item->integers[i] = order[i].count;
    }
    free(order);
    return rc;
}
