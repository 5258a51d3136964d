/*
 * lightgbm_sample.c - draws the sample of rows as the library would, and exchanges it
 * between members. lightgbm_data.c creates datasets from it.
 */
#include "lightgbm/lightgbm_sample.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of dense rows that are exchanged at once. */
#define BLOCK_BYTES ((size_t)8 << 20)
/* The library takes numbers nearer to 0 as 0. */
#define ZERO 1e-35F

/* The rows of the dataset that are in the sample, and the members that have them. */
struct draw {
    struct comm *comm;
    const struct gbdt_rows *train;
    size_t element;  /* bytes of a value */
    uint64_t *rows;  /* their numbers in the dataset, rising */
    size_t n;        /* the number of rows */
    size_t *first;   /* comm size + 1: member r's are rows[first[r]..first[r + 1]) */
    size_t low, own; /* this member's */
    size_t *cuts;    /* comm size + 1, for an exchange */
};

static int sample_no_memory(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOMEM,
                     "out of memory for the sample of rows from which LightGBM makes "
                     "bins: set a smaller bin_construct_sample_cnt in params");
}

/* ---- The draw ---- */

/* Draw the rows. The library counts them in 32 bits: if there are more, it draws from
 * fewer, and the drawn numbers are scaled up. */
static int rows_draw(struct draw *d, const struct lightgbm *l, const char *params,
                     struct error *err)
{
    const uint64_t all = d->train->all;
    const int32_t counted = all > INT32_MAX ? INT32_MAX : (int32_t)all;
    int32_t *drawn;
    int32_t n = 0;
    int count = 0;

    if (l->GetSampleCount(counted, params, &count) != 0)
        return lightgbm_fail(l, RAYTRAIN_EINVAL, "refuses params", err);
    drawn = malloc(((size_t)count + 1) * sizeof *drawn);
    if (!drawn)
        return sample_no_memory(err);
    if (l->SampleIndices(counted, params, drawn, &n) != 0) {
        free(drawn);
        return lightgbm_fail(l, RAYTRAIN_EINVAL, "cannot sample rows", err);
    }
    d->n = (size_t)n;
    d->rows = malloc((d->n + 1) * sizeof *d->rows);
    for (size_t i = 0; d->rows && i < d->n; i++)
        d->rows[i] = all > INT32_MAX
                         ? (uint64_t)((long double)drawn[i] * (long double)all /
                                      (long double)INT32_MAX)
                         : (uint64_t)drawn[i];
    free(drawn);
    return d->rows ? 0 : sample_no_memory(err);
}

/* The first of the drawn rows that is not before `row`. */
static size_t draw_find(const struct draw *d, uint64_t row)
{
    size_t low = 0, high = d->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (d->rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int members_find(struct draw *d, struct error *err)
{
    const int size = d->comm ? d->comm->size : 1, rank = d->comm ? d->comm->rank : 0;
    uint64_t *firsts = malloc((size_t)size * sizeof *firsts);

    d->first = malloc(((size_t)size + 1) * sizeof *d->first);
    d->cuts = malloc(((size_t)size + 1) * sizeof *d->cuts);
    if (!firsts || !d->first || !d->cuts) {
        free(firsts);
        return sample_no_memory(err);
    }
    firsts[0] = 0;
    if (d->comm && d->comm->ops->allgather(d->comm, &d->train->first, sizeof *firsts,
                                           firsts, err) < 0) {
        free(firsts);
        return -1;
    }
    for (int r = 0; r < size; r++)
        d->first[r] = draw_find(d, firsts[r]);
    d->first[0] = 0;
    d->first[size] = d->n;
    free(firsts);
    d->low = d->first[rank];
    d->own = d->first[rank + 1] - d->low;
    for (size_t i = 0; i < d->own; i++)
        if (d->rows[d->low + i] < d->train->first ||
            d->rows[d->low + i] - d->train->first >= d->train->n)
            return error_set(err, RAYTRAIN_EFAILED,
                             "the workers' rows of the dataset %s are not adjacent",
                             d->train->name);
    return 0;
}

static void draw_clear(struct draw *d)
{
    free(d->rows);
    free(d->first);
    free(d->cuts);
}

/* The number in the training set of row i of this member's part of the sample. */
static uint64_t draw_row(const struct draw *d, size_t i)
{
    return d->rows[d->low + i] - d->train->first;
}

static int draw_exchange(const struct draw *d, const struct comm_parts *parts, size_t n,
                         struct error *err)
{
    return d->comm ? d->comm->ops->allgather_parts(d->comm, parts, n, err) : 0;
}

/* ---- Columns ---- */

static double value_at(const struct draw *d, const char *values, size_t i)
{
    return d->train->dtype == RAYTRAIN_FLOAT32 ? (double)((const float *)values)[i]
                                               : ((const double *)values)[i];
}

static bool is_kept(double value)
{
    return fabs(value) > (double)ZERO || isnan(value);
}

static int column_make(struct lightgbm_sample *s, const struct draw *d, size_t column,
                       const char *values)
{
    size_t n = 0;
    bool full;

    for (size_t i = 0; i < d->n; i++)
        n += is_kept(value_at(d, values, i));
    full = n == d->n;
    s->values[column] = malloc((n + 1) * sizeof **s->values);
    s->indices[column] = full ? s->every : malloc((n + 1) * sizeof **s->indices);
    if (!s->values[column] || !s->indices[column])
        return -1;
    s->n[column] = (int)n;
    n = 0;
    for (size_t i = 0; i < d->n; i++) {
        double value = value_at(d, values, i);

        if (!is_kept(value))
            continue;
        s->values[column][n] = value;
        if (!full)
            s->indices[column][n] = (int)i;
        n++;
    }
    return 0;
}

/* ---- Dense rows ---- */

/* Copy this member's values of some columns into the block, at their places among those
 * of all members. */
static void block_fill(const struct draw *d, char *block, size_t column, size_t width)
{
    const char *from = d->train->values;

    for (size_t i = 0; i < d->own; i++) {
        const char *row =
            from + (draw_row(d, i) * d->train->features + column) * d->element;

        for (size_t c = 0; c < width; c++)
            memcpy(block + (c * d->n + d->low + i) * d->element, row + c * d->element,
                   d->element);
    }
}

static int dense_take(struct lightgbm_sample *s, const struct draw *d,
                      struct error *err)
{
    const size_t column_bytes = d->n * d->element + 1;
    const size_t most = BLOCK_BYTES / column_bytes + 1;
    struct comm_parts *parts = malloc(most * sizeof *parts);
    char *block = malloc(most * column_bytes);
    int rc = parts && block ? 0 : sample_no_memory(err);

    for (int r = 0; d->comm && r <= d->comm->size; r++)
        d->cuts[r] = d->first[r] * d->element;
    for (size_t column = 0; rc == 0 && column < s->columns; column += most) {
        size_t width = s->columns - column < most ? s->columns - column : most;

        block_fill(d, block, column, width);
        for (size_t c = 0; c < width; c++)
            parts[c] = (struct comm_parts){block + c * d->n * d->element, d->cuts};
        rc = draw_exchange(d, parts, width, err);
        for (size_t c = 0; rc == 0 && c < width; c++)
            if (column_make(s, d, column + c, parts[c].data) < 0)
                rc = sample_no_memory(err);
    }
    free(parts);
    free(block);
    return rc;
}

/* ---- Sparse rows ---- */

/* All rows of the sample, as in a struct gbdt_rows. */
struct sparse {
    uint64_t
        *ends; /* after the exchange, of each row; before it, its number of values */
    char *values;
    uint32_t *indices;
    size_t n;
};

static void sparse_clear(struct sparse *p)
{
    free(p->ends);
    free(p->values);
    free(p->indices);
}

static int sparse_lengths(struct sparse *p, const struct draw *d, struct error *err)
{
    const uint64_t *offsets = d->train->offsets;
    const struct comm_parts parts = {p->ends, d->cuts};
    uint64_t end = 0;

    for (size_t i = 0; i < d->own; i++) {
        uint64_t row = draw_row(d, i);

        p->ends[d->low + i] = offsets[row + 1] - offsets[row];
    }
    for (int r = 0; d->comm && r <= d->comm->size; r++)
        d->cuts[r] = d->first[r] * sizeof *p->ends;
    if (draw_exchange(d, &parts, 1, err) < 0)
        return -1;
    for (size_t i = 0; i < d->n; i++)
        p->ends[i] = end += p->ends[i];
    p->n = (size_t)end;
    return 0;
}

static uint64_t sparse_start(const struct sparse *p, size_t row)
{
    return row == 0 ? 0 : p->ends[row - 1];
}

static int sparse_part(const struct sparse *p, const struct draw *d, void *data,
                       size_t element, struct error *err)
{
    const struct comm_parts parts = {data, d->cuts};

    for (int r = 0; d->comm && r <= d->comm->size; r++)
        d->cuts[r] = (size_t)sparse_start(p, d->first[r]) * element;
    return draw_exchange(d, &parts, 1, err);
}

static int sparse_gather(struct sparse *p, const struct draw *d, struct error *err)
{
    const struct gbdt_rows *train = d->train;

    p->ends = malloc((d->n + 1) * sizeof *p->ends);
    if (!p->ends)
        return sample_no_memory(err);
    if (sparse_lengths(p, d, err) < 0)
        return -1;
    p->values = malloc(p->n * d->element + 1);
    p->indices = malloc((p->n + 1) * sizeof *p->indices);
    if (!p->values || !p->indices)
        return sample_no_memory(err);
    for (size_t i = 0; i < d->own; i++) {
        uint64_t from = train->offsets[draw_row(d, i)];
        uint64_t to = sparse_start(p, d->low + i);
        size_t n = (size_t)(p->ends[d->low + i] - to);

        if (n > 0) {
            memcpy(p->values + to * d->element,
                   (const char *)train->values + from * d->element, n * d->element);
            memcpy(p->indices + to, train->indices + from, n * sizeof *p->indices);
        }
    }
    return sparse_part(p, d, p->values, d->element, err) < 0 ||
                   sparse_part(p, d, p->indices, sizeof *p->indices, err) < 0
               ? -1
               : 0;
}

static int sparse_columns(struct lightgbm_sample *s, const struct draw *d,
                          const struct sparse *p, struct error *err)
{
    for (size_t k = 0; k < p->n; k++)
        s->n[p->indices[k]] += is_kept(value_at(d, p->values, k));
    for (size_t c = 0; c < s->columns; c++) {
        s->values[c] = malloc(((size_t)s->n[c] + 1) * sizeof **s->values);
        s->indices[c] = malloc(((size_t)s->n[c] + 1) * sizeof **s->indices);
        if (!s->values[c] || !s->indices[c])
            return sample_no_memory(err);
        s->n[c] = 0;
    }
    for (size_t row = 0; row < d->n; row++)
        for (uint64_t k = sparse_start(p, row); k < p->ends[row]; k++) {
            uint32_t c = p->indices[k];
            double value = value_at(d, p->values, k);

            if (!is_kept(value))
                continue;
            s->values[c][s->n[c]] = value;
            s->indices[c][s->n[c]++] = (int)row;
        }
    return 0;
}

static int sparse_take(struct lightgbm_sample *s, const struct draw *d,
                       struct error *err)
{
    struct sparse all = {0};
    int rc = sparse_gather(&all, d, err);

    if (rc == 0)
        rc = sparse_columns(s, d, &all, err);
    sparse_clear(&all);
    return rc;
}

/* ---- The sample ---- */

static int sample_init(struct lightgbm_sample *s, const struct draw *d,
                       struct error *err)
{
    s->columns = (size_t)d->train->features;
    s->rows = (int)d->n;
    s->values = calloc(s->columns + 1, sizeof *s->values);
    s->indices = calloc(s->columns + 1, sizeof *s->indices);
    s->n = calloc(s->columns + 1, sizeof *s->n);
    s->every = malloc((d->n + 1) * sizeof *s->every);
    if (!s->values || !s->indices || !s->n || !s->every)
        return sample_no_memory(err);
    for (size_t i = 0; i < d->n; i++)
        s->every[i] = (int)i;
    return 0;
}

int lightgbm_sample_take(struct lightgbm_sample *out, const struct lightgbm *l,
                         struct comm *comm, const struct gbdt_rows *train,
                         const char *params, struct error *err)
{
    struct draw d = {.comm = comm,
                     .train = train,
                     .element = train->dtype == RAYTRAIN_FLOAT32 ? sizeof(float)
                                                                 : sizeof(double)};
    int rc = rows_draw(&d, l, params, err);

    memset(out, 0, sizeof *out);
    if (rc == 0)
        rc = sample_init(out, &d, err);
    if (comm)
        rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = members_find(&d, err);
    if (rc == 0)
        rc = train->sparse ? sparse_take(out, &d, err) : dense_take(out, &d, err);
    draw_clear(&d);
    if (rc < 0)
        lightgbm_sample_clear(out);
    return rc;
}

void lightgbm_sample_clear(struct lightgbm_sample *s)
{
    for (size_t c = 0; c < s->columns; c++) {
        if (s->values)
            free(s->values[c]);
        if (s->indices && s->indices[c] != s->every)
            free(s->indices[c]);
    }
    free(s->values);
    free(s->indices);
    free(s->n);
    free(s->every);
    memset(s, 0, sizeof *s);
}
