/*
 * selection.c - applies filter, limit and steps of rows to a table, one after the
 * other.
 */
#include "data/selection.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "table/column_read.h"
#include "table/expansion.h"
#include "util/half.h"

#define BLOCK_BYTES ((size_t)256 * 1024)

/* ---- Values ---- */

static double half_value(const unsigned char *p, bool bfloat)
{
    uint16_t bits;
    float value;

    memcpy(&bits, p, sizeof bits);
    if (bfloat)
        bfloat16_widen(&value, &bits, 1);
    else
        float16_widen(&value, &bits, 1);
    return value;
}

#define VALUE(type, p)                                                                 \
    {                                                                                  \
        type v_;                                                                       \
        memcpy(&v_, p, sizeof v_);                                                     \
        return v_;                                                                     \
    }

static bool is_real_dtype(raytrain_dtype dtype)
{
    return dtype == RAYTRAIN_FLOAT32 || dtype == RAYTRAIN_FLOAT64 ||
           dtype == RAYTRAIN_FLOAT16 || dtype == RAYTRAIN_BFLOAT16;
}

static double real_value(raytrain_dtype dtype, const unsigned char *p)
{
    switch (dtype) {
    case RAYTRAIN_FLOAT32:
        VALUE(float, p)
    case RAYTRAIN_FLOAT64:
        VALUE(double, p)
    default:
        return half_value(p, dtype == RAYTRAIN_BFLOAT16);
    }
}

/* Holds the integers of all types. */
typedef __int128 wide;

static wide integer_value(raytrain_dtype dtype, const unsigned char *p)
{
    switch (dtype) {
    case RAYTRAIN_INT8:
        VALUE(int8_t, p)
    case RAYTRAIN_INT16:
        VALUE(int16_t, p)
    case RAYTRAIN_INT32:
        VALUE(int32_t, p)
    case RAYTRAIN_INT64:
        VALUE(int64_t, p)
    case RAYTRAIN_UINT16:
        VALUE(uint16_t, p)
    case RAYTRAIN_UINT32:
        VALUE(uint32_t, p)
    case RAYTRAIN_UINT64:
        VALUE(uint64_t, p)
    default: /* uint8 and bytes */
        return *p;
    }
}

/* ---- The range ---- */

/* The values that pass, as integers and as doubles, both ends included. A double cannot
 * hold every integer, so bounds are rounded into the range. */
struct value_range {
    double real_min, real_max;
    wide min, max;
};

#define WIDE_LIMIT 0x1p100 /* beyond all values of all types */

static wide wide_of(double whole)
{
    return whole >= WIDE_LIMIT    ? (wide)WIDE_LIMIT
           : whole <= -WIDE_LIMIT ? (wide)-WIDE_LIMIT
                                  : (wide)whole;
}

static struct value_range range_of(const struct filter_config *f)
{
    struct value_range r = {-INFINITY, INFINITY, wide_of(-INFINITY), wide_of(INFINITY)};

    if (f->has_min) {
        r.real_min = f->min;
        r.min = f->min_is_integer ? f->min_integer : wide_of(ceil(f->min));
        if (f->min_is_integer && wide_of(f->min) < r.min)
            r.real_min = nextafter(f->min, INFINITY);
    }
    if (f->has_max) {
        r.real_max = f->max;
        r.max = f->max_is_integer ? f->max_integer : wide_of(floor(f->max));
        if (f->max_is_integer && wide_of(f->max) > r.max)
            r.real_max = nextafter(f->max, -INFINITY);
    }
    return r;
}

/* True if a value passes; NaN does not. */
static bool value_passes(const struct value_range *r, raytrain_dtype dtype,
                         const unsigned char *p)
{
    if (is_real_dtype(dtype)) {
        double value = real_value(dtype, p);

        return value >= r->real_min && value <= r->real_max;
    }
    wide value = integer_value(dtype, p);

    return value >= r->min && value <= r->max;
}

/* ---- The rows that pass, as bits ---- */

static int block_mark(const struct dataset_config *cfg, const struct column *c,
                      const unsigned char *block, uint64_t first, uint64_t n,
                      unsigned char *bits, uint64_t *passed)
{
    const struct value_range range = range_of(&cfg->filter);

    for (uint64_t i = 0; i < n; i++) {
        if (cfg->limit && *passed == cfg->limit)
            return 1;
        if (!value_passes(&range, c->row.dtype, block + i * c->row_bytes))
            continue;
        bits[(first + i) / 8] |= (unsigned char)(1u << (first + i) % 8);
        ++*passed;
    }
    return 0;
}

static int rows_mark(const struct dataset_config *cfg, const struct table *t,
                     const struct column *c, unsigned char *bits, uint64_t *passed,
                     struct error *err)
{
    uint64_t at_once = BLOCK_BYTES / c->row_bytes, n;
    unsigned char *block = malloc(BLOCK_BYTES);
    int rc = block ? 0 : error_no_memory(err);

    *passed = 0;
    for (uint64_t first = 0; first < t->rows && rc == 0; first += n) {
        n = t->rows - first < at_once ? t->rows - first : at_once;
        rc = column_read(t, c, first, n, block, err);
        if (rc == 0)
            rc = block_mark(cfg, c, block, first, n, bits, passed);
    }
    free(block);
    return rc < 0 ? -1 : 0;
}

/* ---- The rows that pass, as numbers ---- */

static int rows_list(struct table *t, const unsigned char *bits, uint64_t n,
                     const char *path, struct error *err)
{
    struct expansion e;
    uint64_t *numbers;
    size_t index;

    if (n > SIZE_MAX / 16)
        return error_set(err, RAYTRAIN_EFIT, "too many rows for a filter");
    if (expansion_begin(&e, n * sizeof *numbers, path, err) < 0)
        return -1;
    numbers = (uint64_t *)(void *)e.bytes;
    for (uint64_t row = 0; row < t->rows; row++)
        if (bits[row / 8] >> row % 8 & 1)
            *numbers++ = row;
    if (expansion_end(&e, t, &index, err) < 0)
        return -1;
    t->selection = index + 1;
    t->rows = n;
    return 0;
}

static const struct column *filter_column(const struct dataset_config *cfg,
                                          const struct table *t, struct error *err)
{
    const char *name = cfg->filter.column;
    const struct column *c = table_column(t, name);
    char names[512];

    if (!c) {
        table_names(t, names, sizeof names);
        error_set(err, RAYTRAIN_ENOTFOUND,
                  "filter: no column \"%s\"; the columns are: %s", name, names);
        return NULL;
    }
    if (c->kind == FRAME_NUMBERS && c->row_bytes == raytrain_dtype_size(c->row.dtype))
        return c;
    error_set(err, RAYTRAIN_ETYPE,
              "filter: column \"%s\" does not have exactly one number per row", name);
    return NULL;
}

bool selection_has_column(const struct dataset_config *cfg)
{
    const char *name = cfg->filter.column;

    for (size_t i = 0; name && i < cfg->n_columns; i++)
        if (strcmp(cfg->columns[i], name) == 0)
            return true;
    return !name || !cfg->columns;
}

static int filter_apply(const struct dataset_config *cfg, struct table *t,
                        struct error *err)
{
    const struct column *c = filter_column(cfg, t, err);
    unsigned char *bits;
    uint64_t n;
    int rc;

    if (!c || table_ready(t, err) < 0)
        return -1;
    bits = calloc(t->rows / 8 + 1, 1);
    if (!bits)
        return error_no_memory(err);
    rc = rows_mark(cfg, t, c, bits, &n, err);
    if (rc == 0 && n == 0)
        rc = error_set(err, RAYTRAIN_EINVAL,
                       "filter: no row has a value of \"%s\" in the range", c->name);
    if (rc == 0 && n < t->rows)
        rc = rows_list(t, bits, n, cfg->path, err);
    free(bits);
    if (rc == 0 && !selection_has_column(cfg) &&
        (!cfg->label || strcmp(cfg->label, c->name) != 0))
        table_remove_column(t, (size_t)(c - t->columns));
    return rc;
}

/* Distinct from the orders of epochs with the same seed. */
#define ORDER_OF_A_STEP UINT64_MAX

/* The rows first..end of n. */
static void step_bounds(const struct rows_step *step, uint64_t n, uint64_t *first,
                        uint64_t *end)
{
    *first = step->is_share ? (uint64_t)(step->from * (double)n) : step->first;
    *end = step->is_share && step->to < 1 ? (uint64_t)(step->to * (double)n) : n;
    if (!step->is_share && step->count && step->first < n &&
        step->count < n - step->first)
        *end = step->first + step->count;
}

static int step_apply(const struct rows_step *step, struct table *t, struct error *err)
{
    struct row_pick *pick = &t->picks[t->n_picks];
    uint64_t first, end, left;

    step_bounds(step, t->rows, &first, &end);
    if (first >= end)
        return error_set(err, RAYTRAIN_EINVAL,
                         "rows: a step from row %llu to row %llu leaves none of the "
                         "%llu rows",
                         (unsigned long long)first, (unsigned long long)end,
                         (unsigned long long)t->rows);
    left = end - first;
    if (!step->shuffled && first == 0) {
        if (table_is_plain(t) && !t->selection)
            table_truncate(t, left);
        t->rows = left;
        return 0;
    }
    pick->first = first;
    if (step->shuffled)
        shuffle_init(&pick->order, t->rows, step->seed, ORDER_OF_A_STEP);
    else
        shuffle_init_identity(&pick->order, t->rows);
    t->n_picks++;
    t->rows = left;
    return 0;
}

int selection_apply(const struct dataset_config *cfg, struct table *t,
                    struct error *err)
{
    if (cfg->filter.column && filter_apply(cfg, t, err) < 0)
        return -1;
    if (!cfg->filter.column && cfg->limit && cfg->limit < t->rows)
        table_truncate(t, cfg->limit);
    for (size_t i = 0; i < cfg->rows.n; i++)
        if (step_apply(&cfg->rows.steps[i], t, err) < 0)
            return -1;
    return 0;
}
