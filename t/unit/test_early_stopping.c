/* Early stopping: by which metric, when, and which round was the best. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gbdt/early_stopping.h"

static struct gbdt_scores scores_of(double train, double valid, bool more)
{
    struct gbdt_scores s = {.n = 2};

    s.list[0] = (struct gbdt_score){.name = "train-auc", .value = train};
    s.list[1] = (struct gbdt_score){
        .name = "valid-auc", .value = valid, .more_is_better = more};
    return s;
}

/* The round in which it stops, of n; n: it does not. */
static int stops_at(struct early_stopping *e, const struct gbdt_config *cfg,
                    const double values[], int n, bool more)
{
    struct error err;

    for (int i = 0; i < n; i++) {
        struct gbdt_scores s = scores_of(i, values[i], more);
        bool stop;

        assert_int_equal(early_stopping_look(e, cfg, &s, i, &stop, &err), 0);
        if (stop)
            return i;
    }
    return n;
}

static void check(const double values[], int n, bool more, int patience, int stop,
                  int best)
{
    const struct gbdt_config cfg = {.early_stopping_rounds = patience};
    struct early_stopping e;

    early_stopping_init(&e, &cfg);
    assert_int_equal(stops_at(&e, &cfg, values, n, more), stop);
    assert_int_equal(e.best_round, best);
    if (best >= 0)
        assert_string_equal(e.metric, "valid-auc");
}

static void it_stops_after_rounds_without_progress(void **state)
{
    static const double down[] = {5, 4, 3, 3, 3, 2}, up[] = {1, 2, 3, 3, 2, 4};
    static const double holes[] = {NAN, 5, NAN, NAN, 1};

    (void)state;
    check(down, 6, false, 2, 4, 2);
    check(down, 6, false, 3, 6, 5);
    check(up, 6, true, 2, 4, 2);
    check(up, 6, true, 3, 6, 5);
    check(holes, 5, false, 3, 5, 4);
    check(holes, 5, false, 2, 3, 1);
    check(down, 6, false, 0, 6, -1);
}

static void an_interrupted_run_stops_in_the_same_round(void **state)
{
    static const double values[] = {5, 4, 3, 3, 3, 2};
    const struct gbdt_config cfg = {.early_stopping_rounds = 2};
    struct early_stopping e, restored;
    struct error err;
    bool stop;

    (void)state;
    early_stopping_init(&e, &cfg);
    assert_int_equal(stops_at(&e, &cfg, values, 4, false), 4);
    early_stopping_init(&restored, &cfg);
    restored.best_round = e.best_round; /* what a checkpoint keeps */
    restored.best_score = e.best_score;
    memcpy(restored.metric, e.metric, sizeof e.metric);
    struct gbdt_scores s = scores_of(0, values[4], false);
    assert_int_equal(early_stopping_look(&restored, &cfg, &s, 4, &stop, &err), 0);
    assert_true(stop);
    assert_int_equal(restored.best_round, 2);
}

static void the_configuration_may_name_the_metric(void **state)
{
    struct gbdt_config cfg = {.early_stopping_rounds = 2,
                              .early_stopping_metric = (char *)"train-auc"};
    struct gbdt_scores s = scores_of(1, 2, false);
    struct early_stopping e;
    struct error err;
    bool stop;

    (void)state;
    early_stopping_init(&e, &cfg);
    assert_int_equal(early_stopping_look(&e, &cfg, &s, 0, &stop, &err), 0);
    assert_string_equal(e.metric, "train-auc");
    cfg.early_stopping_metric = (char *)"valid-rmse";
    early_stopping_init(&e, &cfg);
    assert_int_equal(early_stopping_look(&e, &cfg, &s, 0, &stop, &err), -1);
    assert_non_null(strstr(err.text, "the metrics are train-auc, valid-auc"));
}

static void the_training_set_alone_is_not_enough(void **state)
{
    const struct gbdt_config cfg = {.early_stopping_rounds = 2};
    struct gbdt_scores s = scores_of(1, 2, false);
    struct early_stopping e;
    struct error err;
    bool stop;

    (void)state;
    s.n = 1;
    early_stopping_init(&e, &cfg);
    assert_int_equal(early_stopping_look(&e, &cfg, &s, 0, &stop, &err), -1);
    assert_non_null(strstr(err.text, "needs a dataset besides \"train\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stops_after_rounds_without_progress),
        cmocka_unit_test(an_interrupted_run_stops_in_the_same_round),
        cmocka_unit_test(the_configuration_may_name_the_metric),
        cmocka_unit_test(the_training_set_alone_is_not_enough),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
