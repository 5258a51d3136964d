/*
 * queries.c - see queries.h. Queries are usually sorted. Then each rank compares its
 * own, and the ends of all ranks are compared. Otherwise rank 0 gets 16 bytes for each
 * query, and sorts them.
 */
#include "gbdt/queries.h"

#include <stdlib.h>
#include <string.h>

#include "preprocess/reals.h"
#include "util/quote.h"

#define SIGN ((uint64_t)1 << 63)

/* ---- Keys ---- */

static uint64_t real_key(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
}

static double key_real(uint64_t key)
{
    uint64_t bits = key & SIGN ? key ^ SIGN : ~key;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool is_real_column(const struct frame_column *c)
{
    return c->kind == FRAME_NUMBERS && reals_is_float(c->row.dtype);
}

/* For little-endian machines: raytrain runs on no others. */
uint64_t gbdt_query_key(const struct frame_column *c, uint64_t row)
{
    size_t n = frame_row_bytes(c);
    uint64_t bits = 0;
    double x;

    if (is_real_column(c)) {
        reals_load(c, (size_t)row, 1, &x);
        return real_key(x);
    }
    memcpy(&bits, c->data + row * n, n);
    switch (c->kind == FRAME_WORDS ? RAYTRAIN_INT32 : c->row.dtype) {
    case RAYTRAIN_INT8:
    case RAYTRAIN_INT16:
    case RAYTRAIN_INT32:
    case RAYTRAIN_INT64:
        bits <<= 64 - 8 * n;
        return (uint64_t)((int64_t)bits >> (64 - 8 * n)) ^ SIGN;
    default:
        return bits;
    }
}

/* The query as it is in the dataset. */
static void key_text(const struct frame_column *c, uint64_t key,
                     char text[QUOTE_TEXT_MAX])
{
    int64_t number = (int64_t)(key ^ SIGN);
    char word[QUOTE_TEXT_MAX];
    const char *bytes;
    size_t n;

    if (is_real_column(c)) {
        snprintf(text, QUOTE_TEXT_MAX, "%.17g", key_real(key));
    } else if (c->kind == FRAME_WORDS && number < 0) {
        snprintf(text, QUOTE_TEXT_MAX, "without a name");
    } else if (c->kind == FRAME_WORDS) {
        bytes = dictionary_word(c->words, (size_t)number, &n);
        snprintf(word, sizeof word, "%.*s",
                 (int)(n < sizeof word ? n : sizeof word - 1), bytes);
        quote(word, text);
    } else if (c->row.dtype >= RAYTRAIN_UINT8) {
        snprintf(text, QUOTE_TEXT_MAX, "%llu", (unsigned long long)key);
    } else {
        snprintf(text, QUOTE_TEXT_MAX, "%lld", (long long)number);
    }
}

/* ---- Sorted queries ---- */

struct ends {
    uint64_t n, first, last;
    bool rising, falling;
};

static struct ends ends_of(const struct gbdt_rows *s)
{
    const uint64_t *keys = s->queries;
    struct ends e = {.n = s->n_groups, .rising = true, .falling = true};

    for (size_t i = 1; i < s->n_groups; i++) {
        e.rising = e.rising && keys[i] > keys[i - 1];
        e.falling = e.falling && keys[i] < keys[i - 1];
    }
    if (e.n > 0) {
        e.first = keys[0];
        e.last = keys[e.n - 1];
    }
    return e;
}

static void ends_join(struct ends *all, const struct ends *next)
{
    if (next->n == 0)
        return;
    if (all->n == 0) {
        *all = *next;
        return;
    }
    all->rising = all->rising && next->rising && next->first > all->last;
    all->falling = all->falling && next->falling && next->first < all->last;
    all->last = next->last;
}

/* COLLECTIVE */
static int queries_sorted(const struct gbdt_rows *s, struct comm *parts, bool *yes,
                          struct error *err)
{
    struct ends own = ends_of(s), joined = {.rising = true};
    struct ends *all = calloc((size_t)parts->size, sizeof *all);
    int rc = all ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for queries");

    rc = comm_agree(parts, rc, err);
    if (rc == 0)
        rc = parts->ops->allgather(parts, &own, sizeof own, all, err);
    for (int r = 0; rc == 0 && r < parts->size; r++)
        ends_join(&joined, &all[r]);
    *yes = joined.rising || joined.falling;
    free(all);
    return rc;
}

/* ---- Queries in any order ---- */

struct query {
    uint64_t key, row; /* the first row of the dataset that has it */
};

struct again {
    bool any;
    uint64_t key, first, row;
};

static int by_key(const void *a, const void *b)
{
    const struct query *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The first query that occurs again after other queries. */
static struct again again_find(struct query *queries, size_t n)
{
    struct again found = {.any = false};

    qsort(queries, n, sizeof *queries, by_key);
    for (size_t i = 1; i < n; i++) {
        const struct query *q = &queries[i];

        if (q->key == q[-1].key && (!found.any || q->row < found.row))
            found = (struct again){true, q->key, q[-1].row, q->row};
    }
    return found;
}

static struct query *queries_list(const struct gbdt_rows *s, struct error *err)
{
    struct query *list = calloc(s->n_groups + 1, sizeof *list);
    uint64_t row = s->first;

    if (!list)
        error_set(err, RAYTRAIN_ENOMEM, "out of memory for queries");
    for (size_t i = 0; list && i < s->n_groups; i++) {
        list[i] = (struct query){s->queries[i], row};
        row += s->groups[i];
    }
    return list;
}

/* COLLECTIVE: rank 0 searches, and all ranks get its result. */
static int search(const struct gbdt_rows *s, struct comm *parts, struct again *found,
                  struct error *err)
{
    struct query *own = queries_list(s, err);
    size_t *sizes = calloc((size_t)parts->size, sizeof *sizes), n = 0;
    void *all = NULL;
    int rc = own ? 0 : -1;

    if (rc == 0 && !sizes)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for queries");
    rc = comm_agree(parts, rc, err);
    if (rc == 0)
        rc = parts->ops->gatherv(parts, own, s->n_groups * sizeof *own, &all, sizes, 0,
                                 err);
    if (rc == 0 && parts->rank == 0) {
        for (int r = 0; r < parts->size; r++)
            n += sizes[r];
        *found = again_find(all, n / sizeof *own);
    }
    free(all);
    free(sizes);
    free(own);
    return rc;
}

/* ---- The check ---- */

static int queries_refuse(const raytrain_dataset *ds, const struct rows_job *job,
                          const struct again *found, struct error *err)
{
    const char *column = job->columns->qid;
    char query[QUOTE_TEXT_MAX], first[ERROR_TEXT_MAX / 3], row[ERROR_TEXT_MAX / 3];

    key_text(frame_find(dataset_schema(ds), column), found->key, query);
    dataset_row_place(ds, job->config, found->first, first, sizeof first);
    dataset_row_place(ds, job->config, found->row, row, sizeof row);
    return error_set(
        err, RAYTRAIN_EINVAL,
        "dataset \"%s\": query %s begins at %s, and occurs again at %s after "
        "other queries; the rows of a query must be adjacent: sort the rows "
        "by column \"%s\"",
        dataset_name(ds), query, first, row, column);
}

int gbdt_queries_check(const raytrain_dataset *ds, const struct rows_job *job,
                       struct comm *parts, struct gbdt_rows *rows, struct error *err)
{
    struct again found = {.any = false};
    bool good = true;
    int rc = 0;

    if (!gbdt_columns_qid(job->columns, dataset_schema(ds)))
        return 0;
    rc = queries_sorted(rows, parts, &good, err);
    if (rc == 0 && !good)
        rc = search(rows, parts, &found, err);
    free(rows->queries);
    rows->queries = NULL;
    if (rc == 0 && found.any)
        rc = queries_refuse(ds, job, &found, err);
    return comm_agree(parts, rc, err);
}
