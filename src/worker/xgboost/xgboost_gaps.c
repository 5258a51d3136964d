/*
 * xgboost_gaps.c - detects that only some members have missing values, and adds a row
 * with missing values on the others.
 */
#include "xgboost/xgboost_gaps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_affected(const struct xgboost_library *x)
{
    return x->major == 1 && x->minor == 7 && x->patch < 6;
}

/* ---- Is a value missing? ---- */

static double gaps_value(const struct gbdt_rows *s, uint64_t i)
{
    if (s->dtype == RAYTRAIN_FLOAT64)
        return ((const double *)s->values)[i];
    return (double)((const float *)s->values)[i];
}

static bool has_gaps(const struct gbdt_rows *s, double missing, uint64_t width)
{
    uint64_t n = s->sparse ? s->n_values : s->n * s->features;

    if (s->sparse && n < s->n * (s->features > width ? s->features : width))
        return true;
    for (uint64_t i = 0; i < n; i++) {
        double value = gaps_value(s, i);

        if (isnan(value) || (float)value == (float)missing)
            return true;
    }
    return false;
}

/* ---- The row ---- */

static int gaps_grow(void *array, size_t n, size_t size, struct error *err)
{
    void **p = array, *more = reallocarray(*p, n, size);

    if (!more)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for the rows");
    *p = more;
    return 0;
}

static int values_add(struct gbdt_rows *s, struct error *err)
{
    size_t size = s->dtype == RAYTRAIN_FLOAT64 ? sizeof(double) : sizeof(float);
    uint64_t n = s->n * s->features;

    if (s->sparse) {
        if (gaps_grow(&s->offsets, s->n + 2, sizeof *s->offsets, err) < 0)
            return -1;
        s->offsets[s->n + 1] = s->offsets[s->n];
        return 0;
    }
    if (gaps_grow(&s->values, n + s->features, size, err) < 0)
        return -1;
    for (uint64_t i = n; i < n + s->features; i++)
        if (s->dtype == RAYTRAIN_FLOAT64)
            ((double *)s->values)[i] = NAN;
        else
            ((float *)s->values)[i] = NAN;
    return 0;
}

/* If there are queries, the row is a query of its own. */
static int weight_add(struct gbdt_rows *s, struct error *err)
{
    bool none = !s->weight;

    if (gaps_grow(&s->weight, s->n + 1, sizeof *s->weight, err) < 0)
        return -1;
    for (uint64_t i = 0; none && i < s->n; i++)
        s->weight[i] = 1;
    s->weight[s->n] = 0;
    if (!s->groups)
        return 0;
    if (gaps_grow(&s->groups, s->n_groups + 1, sizeof *s->groups, err) < 0)
        return -1;
    s->groups[s->n_groups++] = 1;
    return 0;
}

/* Copy the label and the margins of the first row: they are in range. */
static int label_add(struct gbdt_rows *s, struct error *err)
{
    if (s->label) {
        if (gaps_grow(&s->label, s->n + 1, sizeof *s->label, err) < 0)
            return -1;
        s->label[s->n] = s->label[0];
    }
    if (s->margin) {
        if (gaps_grow(&s->margin, (s->n + 1) * s->margins, sizeof *s->margin, err) < 0)
            return -1;
        memcpy(s->margin + s->n * s->margins, s->margin,
               s->margins * sizeof *s->margin);
    }
    return 0;
}

static int row_add(struct gbdt_rows *s, struct error *err)
{
    if (values_add(s, err) < 0 || label_add(s, err) < 0 || weight_add(s, err) < 0)
        return -1;
    s->n++;
    return 0;
}

int xgboost_gaps_add(const struct xgboost_library *x, struct comm *members,
                     const struct xgboost_matrix_options *options,
                     struct gbdt_rows *rows, uint64_t width, bool *added,
                     struct error *err)
{
    int64_t some;
    int rc = 0;

    *added = false;
    if (!is_affected(x))
        return 0;
    some = has_gaps(rows, options->missing, width);
    *added = !some;
    if (members->ops->allreduce(members, &some, 1, COMM_INT64, COMM_MAX, err) < 0)
        return -1;
    *added = *added && some;
    if (*added)
        rc = row_add(rows, err);
    return comm_agree(members, rc, err);
}

void xgboost_gaps_remove(struct gbdt_rows *rows)
{
    rows->n--;
    if (rows->groups)
        rows->n_groups--;
}
