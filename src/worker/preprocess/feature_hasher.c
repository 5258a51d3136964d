/*
 * feature_hasher.c - columns that count tokens, each with the name of its token, become
 * one column of vectors of float64. An element is the sum of the columns whose names
 * have its hash (vectorizer.h). A missing count is 0.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/preprocessor.h"
#include "preprocess/reals.h"
#include "preprocess/vectorizer.h"

#define DEFAULT_NAME "hashed_features"

static struct frame_column output_like(const struct preprocessor_config *config)
{
    struct frame_column like = {.kind = FRAME_NUMBERS,
                                .row = {.dtype = RAYTRAIN_FLOAT64,
                                        .ndim = 1,
                                        .shape = {(uint64_t)config->num_features}}};

    snprintf(like.name, sizeof like.name, "%s",
             config->output_column_name ? config->output_column_name : DEFAULT_NAME);
    return like;
}

static int hasher_column_check(const struct preprocessor_config *config, size_t i,
                               const struct frame *f, const struct frame_column **c,
                               struct error *err)
{
    char names[512];

    *c = frame_find(f, config->columns[i]);
    if (!*c) {
        frame_names(f, names, sizeof names);
        return error_set(err, RAYTRAIN_ENOTFOUND,
                         "feature_hasher: there is no column \"%s\"; found: %s",
                         config->columns[i], names);
    }
    if (reals_check("feature_hasher", *c, err) < 0)
        return -1;
    if (reals_width(*c) != 1)
        return error_set(err, RAYTRAIN_ETYPE,
                         "feature_hasher: column \"%s\" has rows of several numbers",
                         config->columns[i]);
    return 0;
}

static int columns_replace(const struct preprocessor_config *config, struct frame *f,
                           struct frame_column *out, struct error *err)
{
    for (size_t i = 0; i < config->n_columns; i++) {
        struct frame_column *c = frame_find(f, config->columns[i]);

        if (c)
            frame_remove(f, (size_t)(c - f->columns));
    }
    return frame_put(f, out, err);
}

static int hasher_bind(struct frame_plan *plan, struct frame *schema, struct error *err)
{
    const struct preprocessor_config *config = plan->p->config;
    struct frame_column out = output_like(config);
    const struct frame_column *c;

    for (size_t i = 0; i < config->n_columns; i++)
        if (hasher_column_check(config, i, schema, &c, err) < 0)
            return -1;
    return columns_replace(config, schema, &out, err);
}

static void hashed_column_add(const struct frame_column *c, uint64_t rows, size_t width,
                              double *to)
{
    double x[REALS_BLOCK];
    size_t step;

    for (uint64_t done = 0; done < rows; done += step) {
        step = rows - done < REALS_BLOCK ? (size_t)(rows - done) : REALS_BLOCK;
        reals_load(c, (size_t)done, step, x);
        for (size_t i = 0; i < step; i++)
            to[(done + i) * width] += isnan(x[i]) ? 0 : x[i];
    }
}

static int hasher_apply(const struct frame_plan *plan, struct frame *f,
                        struct error *err)
{
    const struct preprocessor_config *config = plan->p->config;
    struct frame_column out = output_like(config);
    size_t width = (size_t)config->num_features;
    const struct frame_column *c;
    int rc;

    out.spare = f->spare;
    rc = frame_reserve(&out, f->rows, 0, err);
    if (rc == 0)
        memset(out.data, 0, (size_t)f->rows * width * sizeof(double));
    for (size_t i = 0; rc == 0 && i < config->n_columns; i++) {
        const char *name = config->columns[i];

        rc = hasher_column_check(config, i, f, &c, err);
        if (rc == 0)
            hashed_column_add(c, f->rows, width,
                              (double *)(void *)out.data +
                                  token_hash(name, strlen(name), (uint32_t)width));
    }
    if (rc == 0)
        rc = columns_replace(config, f, &out, err);
    frame_column_free(&out);
    return rc;
}

const struct preprocessor_ops preprocessor_feature_hasher = {
    .name = "feature_hasher",
    .bind = hasher_bind,
    .apply = hasher_apply,
};
