/*
 * area_under_curve.c - see area_under_curve.h. Members exchange their rows, so that
 * each has one range of scores, with all rows of equal scores, and not many more rows
 * than before. Then each adds up its part of the curve.
 */
#include "gbdt/area_under_curve.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The number of scores by which a member describes all of its own. */
#define PROBES 64

/* The rows that have the same score. */
struct step {
    double score, positive, negative;
};

struct steps {
    struct step *list;
    size_t n;
};

/* ---- Steps, from the highest score down ---- */

static int double_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

static int step_compare(const void *a, const void *b)
{
    return double_compare(&((const struct step *)a)->score,
                          &((const struct step *)b)->score);
}

/* Sort the steps, and merge those of equal scores. */
static void steps_sort(struct steps *s)
{
    size_t n = 0;

    qsort(s->list, s->n, sizeof *s->list, step_compare);
    for (size_t i = 0; i < s->n; i++) {
        if (n > 0 && s->list[n - 1].score == s->list[i].score) {
            s->list[n - 1].positive += s->list[i].positive;
            s->list[n - 1].negative += s->list[i].negative;
        } else {
            s->list[n++] = s->list[i];
        }
    }
    s->n = n;
}

static int curve_steps_make(struct steps *s, const struct curve_rows *rows,
                            struct error *err)
{
    s->list = malloc((rows->n + 1) * sizeof *s->list);
    if (!s->list)
        return error_no_memory(err);
    s->n = rows->n;
    for (size_t i = 0; i < rows->n; i++) {
        double weight = rows->weights ? (double)rows->weights[i] : 1;
        bool positive = rows->labels[i] > 0;

        s->list[i] =
            (struct step){.score = isnan(rows->scores[i]) ? -INFINITY : rows->scores[i],
                          .positive = positive ? weight : 0,
                          .negative = positive ? 0 : weight};
    }
    steps_sort(s);
    return 0;
}

/* ---- The exchange ---- */

/* Find the size - 1 scores that divide the rows of all members into about equal parts:
 * the scores of member r are above bounds[r] and not above bounds[r - 1]. */
static int bounds_find(struct comm *c, const struct steps *s, double *bounds,
                       struct error *err)
{
    const size_t size = (size_t)c->size;
    double mine[PROBES + 1], *all = malloc(size * sizeof mine);
    size_t n = 0;
    int rc;

    if (!all)
        return error_no_memory(err);
    mine[0] = s->n < PROBES ? (double)s->n : PROBES;
    for (size_t i = 0; i < PROBES; i++)
        mine[i + 1] = s->n < PROBES ? (i < s->n ? s->list[i].score : 0)
                                    : s->list[i * s->n / PROBES].score;
    rc = c->ops->allgather(c, mine, sizeof mine, all, err);
    for (size_t r = 0; rc == 0 && r < size; r++) {
        const double *from = all + r * (PROBES + 1);
        size_t probes = (size_t)from[0];

        memmove(all + n, from + 1, probes * sizeof *all);
        n += probes;
    }
    if (rc == 0)
        qsort(all, n, sizeof *all, double_compare);
    for (size_t r = 0; rc == 0 && r + 1 < size; r++)
        bounds[r] = n > 0 ? all[(r + 1) * n / size] : 0;
    free(all);
    return rc;
}

/* The number of steps that each member sends to each: counts[from x size + to]. */
static int counts_find(struct comm *c, const struct steps *s, const double *bounds,
                       uint64_t *counts, struct error *err)
{
    const size_t size = (size_t)c->size;
    uint64_t *mine = calloc(size, sizeof *mine);
    size_t to = 0;
    int rc;

    if (!mine)
        return error_no_memory(err);
    for (size_t i = 0; i < s->n; i++) {
        while (to + 1 < size && s->list[i].score <= bounds[to])
            to++;
        mine[to]++;
    }
    rc = c->ops->allgather(c, mine, size * sizeof *mine, counts, err);
    free(mine);
    return rc;
}

/* This member's steps that it sends to `to`. */
static struct step *part_find(const struct steps *s, const uint64_t *mine, int to)
{
    struct step *part = s->list;

    for (int r = 0; r < to; r++)
        part += mine[r];
    return part;
}

static int parts_exchange(struct comm *c, struct steps *s, const uint64_t *counts,
                          struct error *err)
{
    const size_t size = (size_t)c->size, rank = (size_t)c->rank;
    const uint64_t *mine = counts + rank * size;
    struct steps got = {0};

    for (size_t r = 0; r < size; r++)
        got.n += counts[r * size + rank];
    got.list = malloc((got.n + 1) * sizeof *got.list);
    if (!got.list)
        return error_no_memory(err);
    got.n = mine[rank];
    if (got.n > 0)
        memcpy(got.list, part_find(s, mine, c->rank), got.n * sizeof *got.list);
    for (int d = 1; d < c->size; d++) {
        int to = (c->rank + d) % c->size, from = (c->rank + c->size - d) % c->size;
        uint64_t n = counts[(size_t)from * size + rank];

        if (c->ops->sendrecv(c, part_find(s, mine, to), mine[to] * sizeof *s->list,
                             mine[to] > 0 ? to : -1, got.list + got.n,
                             n * sizeof *got.list, n > 0 ? from : -1, err) < 0) {
            free(got.list);
            return -1;
        }
        got.n += n;
    }
    free(s->list);
    *s = got;
    steps_sort(s);
    return 0;
}

static int steps_exchange(struct comm *c, struct steps *s, struct error *err)
{
    const size_t size = (size_t)c->size;
    double *bounds = malloc(size * sizeof *bounds);
    uint64_t *counts = malloc(size * size * sizeof *counts);
    int rc = bounds && counts ? 0 : error_no_memory(err);

    if (rc == 0)
        rc = bounds_find(c, s, bounds, err);
    if (rc == 0)
        rc = counts_find(c, s, bounds, counts, err);
    if (rc == 0)
        rc = parts_exchange(c, s, counts, err);
    free(bounds);
    free(counts);
    return rc;
}

/* ---- The areas ---- */

/* The weights of the rows of all members (sums), and of those rows whose scores are
 * higher than all of this member (above). */
static int totals_find(struct comm *comm, const struct steps *s, double above[2],
                       double sums[2], struct error *err)
{
    double mine[2] = {0, 0}, *all = mine;
    const int size = comm ? comm->size : 1, rank = comm ? comm->rank : 0;

    for (size_t i = 0; i < s->n; i++) {
        mine[0] += s->list[i].positive;
        mine[1] += s->list[i].negative;
    }
    if (comm) {
        all = malloc((size_t)size * sizeof mine);
        if (!all)
            return error_no_memory(err);
        if (comm->ops->allgather(comm, mine, sizeof mine, all, err) < 0) {
            free(all);
            return -1;
        }
    }
    for (int k = 0; k < 2; k++) {
        above[k] = sums[k] = 0;
        for (int r = 0; r < size; r++) {
            if (r == rank)
                above[k] = sums[k];
            sums[k] += all[2 * r + k];
        }
    }
    if (comm)
        free(all);
    return 0;
}

static int areas_add(struct comm *comm, const struct steps *s, struct curve_area *out,
                     struct error *err)
{
    double above[2], sums[2], areas[2] = {0, 0};

    if (totals_find(comm, s, above, sums, err) < 0)
        return -1;
    for (size_t i = 0; i < s->n; i++) {
        const struct step *step = &s->list[i];

        areas[0] += step->negative * (step->positive / 2 + above[0]);
        above[0] += step->positive;
        above[1] += step->negative;
        if (step->positive > 0)
            areas[1] += step->positive * (above[0] / (above[0] + above[1]));
    }
    if (comm && comm->ops->allreduce(comm, areas, 2, COMM_FLOAT64, COMM_SUM, err) < 0)
        return -1;
    *out = (struct curve_area){
        .roc = 1, .pr = 1, .positives = sums[0], .negatives = sums[1]};
    if (sums[0] > 0 && sums[1] > 0) {
        out->roc = areas[0] / (sums[0] * sums[1]);
        out->pr = areas[1] / sums[0];
    }
    return 0;
}

int curve_area(struct comm *comm, const struct curve_rows *rows, struct curve_area *out,
               struct error *err)
{
    struct steps s = {0};
    int rc = curve_steps_make(&s, rows, err);

    if (comm && comm->size > 1) {
        rc = comm_agree(comm, rc, err);
        if (rc == 0)
            rc = steps_exchange(comm, &s, err);
    }
    if (rc == 0)
        rc = areas_add(comm, &s, out, err);
    free(s.list);
    return rc;
}
