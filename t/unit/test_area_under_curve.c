/* Areas under curves: by ranks as threads, against a count of all pairs of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gbdt/area_under_curve.h"
#include "thread_comm.h"

#define ROWS 3000

struct data {
    double scores[ROWS];
    float labels[ROWS], weights[ROWS];
    size_t n;
    bool weighted;
    const size_t *cuts; /* of the ranks' rows */
    struct curve_area got[THREAD_COMM_MAX];
};

static uint64_t random_bits(void)
{
    static uint64_t s = 88172645463325252u;

    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s;
}

/* Scores with many ties. */
static void data_make(struct data *d, size_t n, unsigned values, bool weighted)
{
    d->n = n;
    d->weighted = weighted;
    for (size_t i = 0; i < n; i++) {
        d->scores[i] = (double)(random_bits() % values) / values;
        d->labels[i] = (double)(random_bits() % 1000) / 1000 < d->scores[i];
        d->weights[i] = (float)(1 + random_bits() % 7) / 4;
    }
}

static double weight_of(const struct data *d, size_t i)
{
    return d->weighted ? (double)d->weights[i] : 1;
}

/* By definition: of all pairs of a positive and a negative row, those in order. */
static double roc_count(const struct data *d)
{
    double right = 0, all = 0;

    for (size_t i = 0; i < d->n; i++)
        for (size_t k = 0; d->labels[i] > 0 && k < d->n; k++) {
            double weight = weight_of(d, i) * weight_of(d, k);

            if (d->labels[k] > 0)
                continue;
            all += weight;
            if (d->scores[i] > d->scores[k])
                right += weight;
            else if (d->scores[i] == d->scores[k])
                right += weight / 2;
        }
    return right / all;
}

/* By definition: the mean, over positive rows, of the precision at their scores. */
static double pr_count(const struct data *d)
{
    double sum = 0, all = 0;

    for (size_t i = 0; i < d->n; i++) {
        double positive = 0, above = 0;

        if (d->labels[i] <= 0)
            continue;
        for (size_t k = 0; k < d->n; k++)
            if (d->scores[k] >= d->scores[i]) {
                above += weight_of(d, k);
                positive += d->labels[k] > 0 ? weight_of(d, k) : 0;
            }
        sum += weight_of(d, i) * positive / above;
        all += weight_of(d, i);
    }
    return sum / all;
}

static int rank_area(struct comm *comm, void *arg)
{
    struct data *d = arg;
    size_t first = d->cuts[comm->rank], n = d->cuts[comm->rank + 1] - first;
    struct curve_rows rows = {d->scores + first, d->labels + first,
                              d->weighted ? d->weights + first : NULL, n};
    struct error err;

    return curve_area(comm, &rows, &d->got[comm->rank], &err);
}

/* The same on all ranks. */
static struct curve_area area(struct data *d, int ranks, const size_t *cuts)
{
    int rc[THREAD_COMM_MAX];

    d->cuts = cuts;
    thread_comm_run(ranks, rank_area, d, rc);
    for (int r = 0; r < ranks; r++) {
        assert_int_equal(rc[r], 0);
        assert_memory_equal(&d->got[r], &d->got[0], sizeof d->got[0]);
    }
    return d->got[0];
}

static void near(double got, double expected)
{
    if (fabs(got - expected) > 1e-12)
        fail_msg("%.17g, not %.17g", got, expected);
}

static void any_number_of_ranks(void **state)
{
    static const size_t one[] = {0, ROWS}, two[] = {0, 2500, ROWS},
                        four[] = {0, 10, 10, 1800, ROWS};
    struct data *d = calloc(1, sizeof *d);

    (void)state;
    for (int weighted = 0; weighted < 2; weighted++)
        for (unsigned values = 3; values < 1000000; values *= 50) {
            double roc, pr;

            data_make(d, ROWS, values, weighted);
            roc = roc_count(d);
            pr = pr_count(d);
            near(area(d, 1, one).roc, roc);
            near(d->got[0].pr, pr);
            near(area(d, 2, two).roc, roc);
            near(d->got[0].pr, pr);
            near(area(d, 4, four).roc, roc);
            near(d->got[0].pr, pr);
        }
    free(d);
}

/* Rank after rank has higher scores, and one rank has one class alone. */
static void sorted_already(void **state)
{
    static const size_t three[] = {0, 900, 2000, ROWS};
    struct data *d = calloc(1, sizeof *d);

    (void)state;
    data_make(d, ROWS, 1000, false);
    for (size_t i = 0; i < ROWS; i++) {
        d->scores[i] = (double)i;
        if (i < 900)
            d->labels[i] = 0;
    }
    near(area(d, 3, three).roc, roc_count(d));
    near(d->got[0].pr, pr_count(d));
    free(d);
}

static void one_class(void **state)
{
    static const size_t two[] = {0, 5, 10};
    struct data *d = calloc(1, sizeof *d);

    (void)state;
    data_make(d, 10, 5, false);
    for (size_t i = 0; i < 10; i++)
        d->labels[i] = 0;
    near(area(d, 2, two).roc, 1);
    near(d->got[0].pr, 1);
    near(d->got[0].positives, 0);
    near(d->got[0].negatives, 10);
    free(d);
}

static void no_rows(void **state)
{
    static const size_t two[] = {0, 0, 0};
    struct data *d = calloc(1, sizeof *d);

    (void)state;
    near(area(d, 2, two).roc, 1);
    free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks),
        cmocka_unit_test(sorted_already),
        cmocka_unit_test(one_class),
        cmocka_unit_test(no_rows),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
