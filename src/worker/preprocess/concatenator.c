/*
 * concatenator.c - joins several columns of numbers or vectors into one column of
 * vectors, in the order of `columns`. Without `columns` it takes all columns of numbers
 * and sparse vectors, except those in `exclude`, in the order of the dataset.
 */
#include <stdlib.h>
#include <string.h>

#include "preprocess/reals.h"
#include "preprocess/preprocessor.h"

#define DEFAULT_NAME "concat_out"

struct part {
    char name[RAYTRAIN_NAME_MAX + 1];
    size_t width;
};

struct parts {
    struct frame_column like;
    size_t width, n;
    struct part of[];
};

static bool can_join(const struct frame_column *c)
{
    return c->kind == FRAME_SPARSE ||
           (c->kind == FRAME_NUMBERS && c->row.dtype != RAYTRAIN_BYTES);
}

static size_t concatenated_width(const struct frame_column *c)
{
    return c->kind == FRAME_SPARSE ? (size_t)c->row.shape[0] : reals_width(c);
}

static bool is_excluded(const struct preprocessor_config *config, const char *name)
{
    for (size_t i = 0; i < config->n_exclude; i++)
        if (!strcmp(config->exclude[i], name))
            return true;
    return false;
}

static void concatenated_add(struct parts *parts, const struct frame_column *c)
{
    struct part *part = &parts->of[parts->n++];

    memcpy(part->name, c->name, sizeof part->name);
    part->width = concatenated_width(c);
    parts->width += part->width;
    if (!reals_is_float(c->row.dtype) || c->row.dtype == RAYTRAIN_FLOAT64) {
        /* As in NumPy, float32 holds small integers. */
        if (raytrain_dtype_size(c->row.dtype) > 2)
            parts->like.row.dtype = RAYTRAIN_FLOAT64;
    }
}

static int named_add(struct parts *parts, const struct preprocessor_config *config,
                     const struct frame *schema, struct error *err)
{
    for (size_t i = 0; i < config->n_columns; i++) {
        const struct frame_column *c = frame_find(schema, config->columns[i]);
        char names[512];

        if (is_excluded(config, config->columns[i]) ||
            (!c && !config->raise_if_missing))
            continue;
        frame_names(schema, names, sizeof names);
        if (!c)
            return error_set(err, RAYTRAIN_ENOTFOUND,
                             "concatenator: there is no column \"%s\"; found: %s",
                             config->columns[i], names);
        if (!can_join(c))
            return reals_check("concatenator", c, err);
        concatenated_add(parts, c);
    }
    return 0;
}

static int concatenated_make(struct parts *parts,
                             const struct preprocessor_config *config,
                             const struct frame *schema, struct error *err)
{
    parts->like = (struct frame_column){.kind = FRAME_NUMBERS,
                                        .row = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1}};
    snprintf(parts->like.name, sizeof parts->like.name, "%s",
             config->output_column_name ? config->output_column_name : DEFAULT_NAME);
    if (named_add(parts, config, schema, err) < 0)
        return -1;
    for (size_t i = 0; config->n_columns == 0 && i < schema->n_columns; i++)
        if (can_join(&schema->columns[i]) &&
            !is_excluded(config, schema->columns[i].name))
            concatenated_add(parts, &schema->columns[i]);
    if (parts->n == 0)
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "concatenator: there are no columns of numbers to join");
    parts->like.row.shape[0] = parts->width;
    if (config->dtype)
        parts->like.row.dtype =
            !strcmp(config->dtype, "float32") ? RAYTRAIN_FLOAT32 : RAYTRAIN_FLOAT64;
    return 0;
}

/* Remove the columns. The result replaces a column of the same name, or is appended. */
static int parts_replace(const struct parts *parts, struct frame *f,
                         struct frame_column *out, struct error *err)
{
    for (size_t i = 0; i < parts->n; i++) {
        struct frame_column *c = frame_find(f, parts->of[i].name);

        if (c)
            frame_remove(f, (size_t)(c - f->columns));
    }
    return frame_put(f, out, err);
}

static int concatenator_bind(struct frame_plan *plan, struct frame *schema,
                             struct error *err)
{
    const struct preprocessor_config *config = plan->p->config;
    size_t most = config->n_columns > 0 ? config->n_columns : schema->n_columns;
    struct parts *parts = calloc(1, sizeof *parts + (most + 1) * sizeof *parts->of);
    struct frame_column out;

    if (!parts)
        return error_no_memory(err);
    plan->state = parts;
    if (concatenated_make(parts, config, schema, err) < 0)
        return -1;
    out = parts->like;
    return parts_replace(parts, schema, &out, err);
}

/* Copy the rows of a column into those of `out`, from element `at` on. */
static void numbers_join(const struct frame_column *in, uint64_t rows, size_t at,
                         struct frame_column *out)
{
    size_t from = reals_width(in), to = reals_width(out), n = (size_t)rows * from;
    double x[REALS_BLOCK];
    float *singles = (float *)(void *)out->data + at;
    double *doubles = (double *)(void *)out->data + at;
    bool single = out->row.dtype == RAYTRAIN_FLOAT32;
    size_t row = 0, element = 0;

    for (size_t done = 0, step; done < n; done += step) {
        step = n - done < REALS_BLOCK ? n - done : REALS_BLOCK;
        reals_load(in, done, step, x);
        for (size_t i = 0; i < step; i++) {
            if (single)
                singles[row + element] = (float)x[i];
            else
                doubles[row + element] = x[i];
            if (++element == from) {
                element = 0;
                row += to;
            }
        }
    }
}

static void sparse_join(const struct frame_column *in, uint64_t rows, size_t at,
                        struct frame_column *out)
{
    size_t to = reals_width(out), width = (size_t)in->row.shape[0];
    double x;

    for (uint64_t r = 0; r < rows; r++) {
        size_t row = (size_t)r * to + at;

        memset(out->data + row * raytrain_dtype_size(out->row.dtype), 0,
               width * raytrain_dtype_size(out->row.dtype));
        for (uint64_t k = in->offsets[r]; k < in->offsets[r + 1]; k++) {
            reals_load(in, k, 1, &x);
            reals_store(out, row + in->indices[k], 1, &x);
        }
    }
}

static int concatenator_apply(const struct frame_plan *plan, struct frame *f,
                              struct error *err)
{
    const struct parts *parts = plan->state;
    struct frame_column out = parts->like;
    size_t at = 0;
    int rc;

    out.spare = f->spare;
    rc = frame_reserve(&out, f->rows, 0, err);
    for (size_t i = 0; rc == 0 && i < parts->n; i++) {
        const struct frame_column *c = frame_find(f, parts->of[i].name);

        if (!c || !can_join(c) || concatenated_width(c) != parts->of[i].width)
            rc = error_set(err, RAYTRAIN_ETYPE,
                           "concatenator: column \"%s\" is missing, or has changed its "
                           "type or shape",
                           parts->of[i].name);
        else if (c->kind == FRAME_SPARSE)
            sparse_join(c, f->rows, at, &out);
        else
            numbers_join(c, f->rows, at, &out);
        at += parts->of[i].width;
    }
    if (rc == 0)
        rc = parts_replace(parts, f, &out, err);
    frame_column_free(&out);
    return rc;
}

const struct preprocessor_ops preprocessor_concatenator = {
    .name = "concatenator",
    .bind = concatenator_bind,
    .apply = concatenator_apply,
    .reads_all = true,
};
