/*
 * xgboost_auc.c - takes the scores of each member from the library;
 * gbdt/area_under_curve.c computes their area.
 */
#include "xgboost/xgboost_auc.h"

#include <stdlib.h>
#include <string.h>

#include "gbdt/area_under_curve.h"

/* Margins, because they rise with probabilities, and are not rounded to more equal
 * values. */
#define MARGINS                                                                        \
    "{\"type\":1,\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,"        \
    "\"strict_shape\":true}"

/* The rows of this member. */
struct scored {
    const float *labels, *weights, *margins;
    uint64_t rows;
    int64_t fits; /* 1: they are of two classes, with one margin each */
};

static bool are_classes(const float *labels, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (labels[i] != 0 && labels[i] != 1)
            return false;
    return true;
}

/* Labels and weights belong to the matrix; margins to the model, until its next
 * call. */
static int scored_get(const struct xgboost_impl *impl, void *matrix, struct scored *s,
                      struct error *err)
{
    const struct xgboost_library *x = impl->x;
    uint64_t n_labels = 0, n_weights = 0, n_groups = 0, ndim = 0;
    const unsigned *groups;
    const uint64_t *shape;

    memset(s, 0, sizeof *s);
    if (x->XGDMatrixGetFloatInfo(matrix, "label", &n_labels, &s->labels) != 0 ||
        x->XGDMatrixGetFloatInfo(matrix, "weight", &n_weights, &s->weights) != 0 ||
        x->XGDMatrixGetUIntInfo(matrix, "group_ptr", &n_groups, &groups) != 0 ||
        x->XGBoosterPredictFromDMatrix(impl->model, matrix, MARGINS, &shape, &ndim,
                                       &s->margins) != 0)
        return xgboost_fail(x, RAYTRAIN_EFAILED, "the scores for auc", err);
    s->rows = n_labels;
    s->fits = n_groups == 0 && ndim == 2 && shape[0] == n_labels &&
              (shape[1] == 1 || n_labels == 0) &&
              (n_weights == 0 || n_weights == n_labels) &&
              are_classes(s->labels, n_labels);
    if (n_weights == 0)
        s->weights = NULL;
    return 0;
}

/* COLLECTIVE */
static int area_get(struct comm *comm, const struct scored *s, double *area,
                    struct error *err)
{
    struct curve_rows rows = {
        .labels = s->labels, .weights = s->weights, .n = (size_t)s->rows};
    double *scores = malloc((rows.n + 1) * sizeof *scores);
    struct curve_area found = {0};
    int rc = scores ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for the auc");

    for (size_t i = 0; rc == 0 && i < rows.n; i++)
        scores[i] = (double)s->margins[i];
    rows.scores = scores;
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = curve_area(comm, &rows, &found, err);
    if (rc == 0 && found.positives > 0 && found.negatives > 0)
        *area = found.roc;
    free(scores);
    return rc;
}

/* COLLECTIVE */
static int score_replace(struct booster *b, void *matrix, struct gbdt_score *score,
                         struct error *err)
{
    struct comm *comm = b->env.comm;
    struct scored s;

    if (comm_agree(comm, scored_get(b->impl, matrix, &s, err), err) < 0 ||
        comm->ops->allreduce(comm, &s.fits, 1, COMM_INT64, COMM_MIN, err) < 0)
        return -1;
    return s.fits ? area_get(comm, &s, &score->value, err) : 0;
}

int xgboost_auc_replace(struct booster *b, struct gbdt_scores *scores,
                        struct error *err)
{
    const struct xgboost_impl *impl = b->impl;

    for (size_t i = 0; i < scores->n; i++)
        for (size_t d = 0; d < impl->n; d++) {
            const char *name = scores->list[i].name;
            size_t n = strlen(impl->names[d]);

            if (strncmp(name, impl->names[d], n) == 0 &&
                strcmp(name + n, "-auc") == 0 &&
                score_replace(b, impl->matrices[d], &scores->list[i], err) < 0)
                return -1;
        }
    return 0;
}
