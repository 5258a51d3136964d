/*
 * rows_load.c - reads blocks of rows from the dataset, and stores the numbers of those
 * rows that are this worker's.
 */
#include "gbdt/rows_load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gbdt/queries.h"
#include "preprocess/reals.h"

/* The approximate size of the numbers of a block. */
#define BLOCK_BYTES    ((uint64_t)4 << 20)
#define BLOCK_ROWS_MAX 8192

struct loading {
    raytrain_dataset *ds;
    const struct rows_job *job;
    struct gbdt_rows *rows;
    const char *weight, *qid; /* columns; NULL: there is none */
    uint64_t first, end;      /* this part, before it is moved to begin with a query */
    uint64_t room;            /* rows for which there is memory */
    uint64_t values_room;     /* sparse: elements for which there is memory */
    size_t groups_room;
    uint64_t at;          /* the number of the next row that is read */
    unsigned char *query; /* the bytes of the query's number in the row before */
    size_t query_bytes;
    bool taking; /* the first query that begins in this part has begun */
    bool done;
};

static int loaded_no_memory(const struct loading *l, struct error *err)
{
    return error_set(
        err, RAYTRAIN_ENOMEM,
        "out of memory for the rows of dataset \"%s\": this worker has %llu "
        "of them; use more workers, or give them more memory",
        l->rows->name, (unsigned long long)(l->end - l->first));
}

/* ---- Memory ---- */

static bool loaded_grow(void *pointer, uint64_t n, size_t size)
{
    void **p = pointer;
    void *more;

    if (n > SIZE_MAX / size || !(more = realloc(*p, (size_t)n * size)))
        return false;
    *p = more;
    return true;
}

static int loaded_rows_reserve(struct loading *l, uint64_t rows, struct error *err)
{
    const struct gbdt_columns *c = l->job->columns;
    struct gbdt_rows *s = l->rows;
    uint64_t room = rows > 2 * l->room ? rows : 2 * l->room;
    bool ok = true;

    if (rows <= l->room)
        return 0;
    if (l->room == 0)
        room = rows;
    if (!s->sparse)
        ok = room <= UINT64_MAX / s->features &&
             loaded_grow(&s->values, room * s->features, raytrain_dtype_size(s->dtype));
    else
        ok = loaded_grow(&s->offsets, room + 1, sizeof *s->offsets);
    ok = ok && (!c->label || loaded_grow(&s->label, room, sizeof *s->label)) &&
         (!l->weight || loaded_grow(&s->weight, room, sizeof *s->weight)) &&
         (!c->margin || loaded_grow(&s->margin, room * s->margins, sizeof *s->margin));
    if (!ok)
        return loaded_no_memory(l, err);
    l->room = room;
    return 0;
}

static int loaded_values_reserve(struct loading *l, uint64_t n, struct error *err)
{
    struct gbdt_rows *s = l->rows;
    uint64_t room = n > l->values_room + l->values_room / 2
                        ? n
                        : l->values_room + l->values_room / 2;

    if (n <= l->values_room)
        return 0;
    if (!loaded_grow(&s->values, room, raytrain_dtype_size(s->dtype)) ||
        !loaded_grow(&s->indices, room, sizeof *s->indices))
        return loaded_no_memory(l, err);
    l->values_room = room;
    return 0;
}

/* ---- Numbers ---- */

static void number_store(struct gbdt_rows *s, uint64_t at, double x)
{
    if (s->dtype == RAYTRAIN_FLOAT32)
        ((float *)s->values)[at] = (float)x;
    else
        ((double *)s->values)[at] = x;
}

/* Copy rows from..from + n of the block into the matrix. */
static void dense_copy(struct gbdt_rows *s, const struct frame_column *c,
                       uint64_t feature, uint64_t from, uint64_t n)
{
    uint64_t width = gbdt_column_width(c), at = s->n * s->features + feature, in = 0;
    double block[REALS_BLOCK];

    for (uint64_t e = 0; e < n * width;) {
        size_t k = n * width - e < REALS_BLOCK ? (size_t)(n * width - e) : REALS_BLOCK;

        reals_load(c, (size_t)(from * width + e), k, block);
        for (size_t i = 0; i < k; i++) {
            number_store(s, at + in, block[i]);
            if (++in == width) {
                in = 0;
                at += s->features;
            }
        }
        e += k;
    }
}

static uint64_t sparse_count(const struct frame_column *c, uint64_t from, uint64_t n)
{
    if (c->kind == FRAME_SPARSE)
        return c->offsets[from + n] - c->offsets[from];
    return n * gbdt_column_width(c);
}

/* Refuse row `row`: it has an element that is not a feature of the training set. */
static int loaded_no_feature(const struct loading *l, const struct gbdt_column *to,
                             uint64_t row, uint64_t element, struct error *err)
{
    char place[ERROR_TEXT_MAX / 2];

    dataset_row_place(l->ds, l->job->config, l->rows->first + row, place, sizeof place);
    return error_set(
        err, RAYTRAIN_EINVAL,
        "dataset \"%s\": %s has an element \"%s_%llu\", which is not among "
        "the %llu features of the training set",
        l->rows->name, place, to->name, (unsigned long long)element,
        (unsigned long long)l->job->columns->features);
}

/* Append the elements of one row of a column. Returns the first one that is not a
 * feature, or -1 if all are. */
static int64_t sparse_append(struct gbdt_rows *s, const struct frame_column *c,
                             const struct gbdt_column *to, uint64_t row)
{
    bool sparse = c->kind == FRAME_SPARSE;
    uint64_t width = gbdt_column_width(c);
    uint64_t begin = sparse ? c->offsets[row] : row * width;
    uint64_t n = sparse ? c->offsets[row + 1] - begin : width;
    double block[REALS_BLOCK];

    for (uint64_t e = 0; e < n;) {
        size_t k = n - e < REALS_BLOCK ? (size_t)(n - e) : REALS_BLOCK;

        reals_load(c, (size_t)(begin + e), k, block);
        for (size_t i = 0; i < k; i++) {
            uint64_t index = sparse ? c->indices[begin + e + i] : e + i;

            if (index >= to->width)
                return (int64_t)index;
            s->indices[s->n_values] = (uint32_t)(to->first + index);
            number_store(s, s->n_values++, block[i]);
        }
        e += k;
    }
    return -1;
}

static int sparse_copy(struct loading *l, const struct frame *f, uint64_t from,
                       uint64_t n, struct error *err)
{
    const struct gbdt_columns *columns = l->job->columns;
    struct gbdt_rows *s = l->rows;
    uint64_t more = 0;
    size_t next = 0;

    for (size_t i = 0; i < columns->n; i++)
        more += sparse_count(frame_find_next(f, columns->list[i].name, &next), from, n);
    if (loaded_values_reserve(l, s->n_values + more, err) < 0)
        return -1;
    for (uint64_t r = 0; r < n; r++) {
        s->offsets[s->n + r] = s->n_values;
        next = 0;
        for (size_t i = 0; i < columns->n; i++) {
            const struct gbdt_column *to = &columns->list[i];
            int64_t other =
                sparse_append(s, frame_find_next(f, to->name, &next), to, from + r);

            if (other >= 0)
                return loaded_no_feature(l, to, s->n + r, (uint64_t)other, err);
        }
    }
    s->offsets[s->n + n] = s->n_values;
    return 0;
}

static void floats_copy(const struct frame *f, const char *column, uint64_t from,
                        uint64_t n, float *to)
{
    const struct frame_column *c = column ? frame_find(f, column) : NULL;
    double block[REALS_BLOCK];

    for (uint64_t at = 0; c && at < n;) {
        size_t k = n - at < REALS_BLOCK ? (size_t)(n - at) : REALS_BLOCK;

        reals_load(c, (size_t)(from + at), k, block);
        for (size_t i = 0; i < k; i++)
            to[at + i] = (float)block[i];
        at += k;
    }
}

static void margin_copy(const struct frame *f, const char *column, uint64_t margins,
                        uint64_t from, uint64_t n, double *to)
{
    const struct frame_column *c = column ? frame_find(f, column) : NULL;
    uint64_t all = n * margins;

    for (uint64_t at = 0; c && at < all;) {
        size_t k = all - at < REALS_BLOCK ? (size_t)(all - at) : REALS_BLOCK;

        reals_load(c, (size_t)(from * margins + at), k, to + at);
        at += k;
    }
}

static int no_label(const struct loading *l, uint64_t row, struct error *err)
{
    char place[ERROR_TEXT_MAX / 2];

    dataset_row_place(l->ds, l->job->config, row, place, sizeof place);
    return error_set(
        err, RAYTRAIN_EINVAL,
        "dataset \"%s\": %s has no label in column \"%s\"; leave such rows "
        "out with datasets.%s.filter",
        l->rows->name, place, l->job->columns->label, l->rows->name);
}

static int labels_check(const struct loading *l, uint64_t n, struct error *err)
{
    const struct gbdt_rows *s = l->rows;

    for (uint64_t i = 0; s->label && i < n; i++)
        if (isnan(s->label[s->n + i]))
            return no_label(l, s->first + s->n + i, err);
    return 0;
}

/* Take rows from..from + n of the block, which are this worker's. */
static int loaded_rows_take(struct loading *l, const struct frame *f, uint64_t from,
                            uint64_t n, struct error *err)
{
    const struct gbdt_columns *c = l->job->columns;
    struct gbdt_rows *s = l->rows;
    size_t next = 0;

    if (n == 0)
        return 0;
    if (loaded_rows_reserve(l, s->n + n, err) < 0)
        return -1;
    if (s->sparse && sparse_copy(l, f, from, n, err) < 0)
        return -1;
    for (size_t i = 0; !s->sparse && i < c->n; i++)
        dense_copy(s, frame_find_next(f, c->list[i].name, &next), c->list[i].first,
                   from, n);
    floats_copy(f, c->label, from, n, s->label ? s->label + s->n : NULL);
    floats_copy(f, l->weight, from, n, s->weight ? s->weight + s->n : NULL);
    margin_copy(f, c->margin, s->margins, from, n,
                s->margin ? s->margin + s->n * s->margins : NULL);
    if (labels_check(l, n, err) < 0)
        return -1;
    s->n += n;
    return 0;
}

/* ---- Queries ---- */

static int group_begin(struct loading *l, uint64_t query, struct error *err)
{
    struct gbdt_rows *s = l->rows;

    if (s->n_groups == l->groups_room) {
        size_t room = l->groups_room > 0 ? 2 * l->groups_room : 1024;

        if (!loaded_grow(&s->groups, room, sizeof *s->groups) ||
            !loaded_grow(&s->queries, room, sizeof *s->queries))
            return loaded_no_memory(l, err);
        l->groups_room = room;
    }
    s->queries[s->n_groups] = query;
    s->groups[s->n_groups++] = 0;
    return 0;
}

/* Find *from..*end: those rows of a block whose queries begin in this part. The block
 * has n rows, and begins with row l->at. */
static int queries_scan(struct loading *l, const struct frame *f, uint64_t n,
                        uint64_t *from, uint64_t *end, struct error *err)
{
    const struct frame_column *c = frame_find(f, l->qid);

    *from = n;
    *end = n;
    for (uint64_t i = 0; i < n && !l->done; i++) {
        const unsigned char *query = c->data + i * l->query_bytes;
        uint64_t row = l->at + i;
        bool begins = row == 0 || memcmp(l->query, query, l->query_bytes) != 0;

        memcpy(l->query, query, l->query_bytes);
        if (row < l->first)
            continue; /* read only for its query */
        if (row >= l->end && (begins || !l->taking)) {
            l->done = true;
            *end = i;
            break;
        }
        if (begins && group_begin(l, gbdt_query_key(c, i), err) < 0)
            return -1;
        l->taking = l->taking || begins;
        if (!l->taking)
            continue;
        if (*from == n)
            *from = i;
        l->rows->groups[l->rows->n_groups - 1]++;
    }
    if (*from > *end)
        *from = *end;
    return 0;
}

/* ---- Blocks ---- */

static int block_take(struct loading *l, uint64_t n, struct error *err)
{
    const struct frame *f = dataset_batch(l->ds);
    uint64_t from = 0, end = l->at + n > l->end ? l->end - l->at : n;

    if (l->qid && queries_scan(l, f, n, &from, &end, err) < 0)
        return -1;
    if (l->rows->n == 0)
        l->rows->first = l->at + from;
    if (loaded_rows_take(l, f, from, end - from, err) < 0)
        return -1;
    l->at += n;
    if (!l->qid && l->at >= l->end)
        l->done = true;
    return 0;
}

/* With queries, the row before this part shows whether its first row begins a query. */
static int blocks_read(struct loading *l, struct error *err)
{
    struct dataset_state begin = {.position = l->first};
    uint64_t n;
    int rc;

    if (l->qid && l->first > 0)
        begin.position--;
    l->at = begin.position;
    l->done = l->first == l->end;
    if (l->done)
        return 0;
    if (dataset_state_set(l->ds, &begin, err) < 0)
        return -1;
    while (!l->done) {
        if (l->job->block && l->job->block(l->job->arg, err) < 0)
            return -1;
        rc = dataset_next(l->ds, &n, err);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
        if (block_take(l, n, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- Life ---- */

static int loading_begin(struct loading *l, struct error *err)
{
    const struct gbdt_columns *c = l->job->columns;
    const struct frame *schema = dataset_schema(l->ds);
    uint64_t all = dataset_rows(l->ds), size = (uint64_t)l->job->size,
             rank = (uint64_t)l->job->rank, rest = all % size;
    uint64_t block = BLOCK_BYTES / (8 * (c->sparse ? 64 : c->features));
    struct gbdt_rows *s = l->rows;

    l->weight = gbdt_columns_weight(c, schema);
    l->qid = gbdt_columns_qid(c, schema);
    l->first = all / size * rank + (rank < rest ? rank : rest);
    l->end = l->first + all / size + (rank < rest);
    snprintf(s->name, sizeof s->name, "%s", dataset_name(l->ds));
    s->all = all;
    s->first = l->first;
    s->sparse = c->sparse;
    s->features = c->features;
    s->dtype = l->job->wide && c->wide ? RAYTRAIN_FLOAT64 : RAYTRAIN_FLOAT32;
    if (c->margin)
        s->margins = gbdt_column_width(frame_find(schema, c->margin));
    if (l->qid) {
        l->query_bytes = frame_row_bytes(frame_find(schema, l->qid));
        l->query = calloc(1, l->query_bytes);
        if (!l->query)
            return loaded_no_memory(l, err);
    }
    if (block > BLOCK_ROWS_MAX)
        block = BLOCK_ROWS_MAX;
    if (dataset_set_batch_size(l->ds, block > 0 ? block : 1, err) < 0)
        return -1;
    return loaded_rows_reserve(l, l->end - l->first + 1, err);
}

/* Even without rows, `offsets` has its first element. */
static void loading_end(struct loading *l)
{
    struct gbdt_rows *s = l->rows;

    if (s->sparse)
        s->offsets[s->n] = s->n_values;
    else
        s->n_values = s->n * s->features;
}

int gbdt_rows_load(raytrain_dataset *ds, const struct rows_job *job,
                   struct gbdt_rows *out, struct error *err)
{
    struct loading l = {.ds = ds, .job = job, .rows = out};
    int rc;

    memset(out, 0, sizeof *out);
    rc = loading_begin(&l, err);
    if (rc == 0)
        rc = blocks_read(&l, err);
    if (rc == 0)
        loading_end(&l);
    else
        gbdt_rows_clear(out);
    free(l.query);
    return rc;
}
