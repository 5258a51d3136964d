/*
 * tree_rows.h - rows to train trees on: small integers, so that the quantiles of all rows
 * are those of each part.
 */
#ifndef RAYTRAIN_TEST_TREE_ROWS_H
#define RAYTRAIN_TEST_TREE_ROWS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gbdt/gbdt_rows.h"

#define ROWS     600
#define FEATURES 5
#define ROUNDS   6

enum task { BINARY, MULTI, RANKING, REGRESSION };

static float value_of(uint64_t row, int feature)
{
    return (float)((row * 7919 + (uint64_t)feature * 104729 + row * row % 31) % 13);
}

static float label_of(uint64_t row, enum task task)
{
    float s = value_of(row, 0) + 2 * value_of(row, 1) - value_of(row, 2);

    switch (task) {
    case BINARY:
        return s + (float)(row % 5) > 14;
    case MULTI:
        return (float)((int)(s + 20) % 3);
    case RANKING:
        return (float)((int)(s + 20) % 4);
    default:
        return s;
    }
}

struct rows {
    enum task task;
    bool sparse, margin, weights;
    bool torn_weights; /* also of rows of one query */
    float bad_label;   /* of the last row; 0: none */
};

static void *list_of(size_t n, size_t size)
{
    void *p = calloc(n + 1, size);

    if (!p)
        abort();
    return p;
}

static void values_fill(struct gbdt_rows *s)
{
    float *values = s->values = list_of(s->n * FEATURES, sizeof *values);

    if (s->sparse) {
        s->offsets = list_of(s->n + 1, sizeof *s->offsets);
        s->indices = list_of(s->n * FEATURES, sizeof *s->indices);
    }
    for (uint64_t r = 0; r < s->n; r++) {
        for (int f = 0; f < FEATURES; f++) {
            float v = value_of(s->first + r, f);

            if (s->sparse && v == 0)
                continue;
            if (s->sparse)
                s->indices[s->n_values] = (uint32_t)f;
            values[s->n_values++] = v;
        }
        if (s->sparse)
            s->offsets[r + 1] = s->n_values;
    }
}

static void set_fill(struct gbdt_rows *s, const char *name, const struct rows *how,
                     uint64_t first, uint64_t rows)
{
    memset(s, 0, sizeof *s);
    strcpy(s->name, name);
    s->n = rows;
    s->first = first;
    s->all = ROWS;
    s->sparse = how->sparse;
    s->dtype = RAYTRAIN_FLOAT32;
    s->features = FEATURES;
    values_fill(s);
    s->label = list_of(rows, sizeof *s->label);
    for (uint64_t r = 0; r < rows; r++)
        s->label[r] = how->bad_label != 0 && first + r == ROWS - 1
                          ? how->bad_label
                          : label_of(first + r, how->task);
    if (how->weights) {
        s->weight = list_of(rows, sizeof *s->weight);
        for (uint64_t r = 0; r < rows; r++)
            s->weight[r] = (float)(1 + (first + r) / (how->torn_weights ? 7 : 10) % 3);
    }
    if (how->margin) {
        s->margins = how->task == MULTI ? 3 : 1;
        s->margin = list_of(rows * s->margins, sizeof *s->margin);
        for (uint64_t i = 0; i < rows * s->margins; i++)
            s->margin[i] = 0.25 * (double)((first * s->margins + i) % 4);
    }
    if (how->task == RANKING) {
        s->n_groups = rows / 10;
        s->groups = list_of(s->n_groups, sizeof *s->groups);
        for (size_t i = 0; i < s->n_groups; i++)
            s->groups[i] = 10;
    }
}

#endif
