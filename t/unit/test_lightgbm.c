/* The booster "lightgbm", with members as threads: the library keeps its network for each
 * thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gbdt/booster.h"
#include "lightgbm/lightgbm_library.h"
#include "lightgbm_job.h"

/* ---- The library ---- */

static void no_library(void **state)
{
    const struct booster_ops *ops = booster_find("lightgbm");
    char *path = strdup(getenv("RAYTRAIN_LIGHTGBM_LIBRARY"));
    struct error err;

    (void)state;
    setenv("RAYTRAIN_LIGHTGBM_LIBRARY", "/nowhere/lib_lightgbm.so", 1);
    assert_int_equal(ops->open(&err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "/nowhere/lib_lightgbm.so"));
    assert_non_null(strstr(err.text, "scripts/install-lightgbm"));
    setenv("RAYTRAIN_LIGHTGBM_LIBRARY", "libm.so.6", 1);
    assert_int_equal(ops->open(&err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    setenv("RAYTRAIN_LIGHTGBM_LIBRARY", path, 1);
    free(path);
    assert_int_equal(ops->open(&err), 0);
}

/* ---- One member ---- */

#define SYMBOL(name)                                                                   \
    symbol = dlsym(object, "LGBM_" #name);                                             \
    assert_non_null(symbol);                                                           \
    memcpy(&name, &symbol, sizeof symbol)

/* The library's own way from a matrix to a model, without its parameters at the end. */
static char *library_model(const struct job *job)
{
    int (*DatasetCreateFromMat)(const void *, int, int32_t, int32_t, int, const char *,
                                void *, void **);
    const struct lightgbm *l = lightgbm_library(NULL);
    void *object = dlopen(getenv("RAYTRAIN_LIGHTGBM_LIBRARY"), RTLD_NOW);
    static const char params[] =
        "objective=binary num_leaves=15 min_data_in_leaf=5 num_threads=1 "
        "deterministic=true force_col_wise=true seed=1 verbosity=-1 "
        "bin_construct_sample_cnt=700";
    void *symbol, *data, *booster;
    char *text = malloc(1 << 20);
    int finished;
    int64_t n;

    assert_non_null(object);
    SYMBOL(DatasetCreateFromMat);
    assert_int_equal(DatasetCreateFromMat(job->data->x, LIGHTGBM_FLOAT64, JOB_ROWS,
                                          JOB_FEATURES, 1, params, NULL, &data),
                     0);
    assert_int_equal(l->DatasetSetField(data, "label", job->data->binary, JOB_ROWS,
                                        LIGHTGBM_FLOAT32),
                     0);
    assert_int_equal(l->BoosterCreate(data, params, &booster), 0);
    for (int i = 0; i < job->rounds; i++)
        assert_int_equal(l->BoosterUpdateOneIter(booster, &finished), 0);
    assert_int_equal(
        l->BoosterSaveModelToString(booster, 0, -1, LIGHTGBM_SPLITS, 1 << 20, &n, text),
        0);
    l->BoosterFree(booster);
    l->DatasetFree(data);
    *strstr(text, "\nparameters:") = '\0';
    return text;
}

static void one_member_is_the_library(void **state)
{
    struct job job = boosting_make("{\"objective\": \"binary\", \"num_leaves\": 15, "
                                   "\"min_data_in_leaf\": 5, "
                                   "\"bin_construct_sample_cnt\": 700}");
    char *expected = library_model(&job);

    (void)state;
    boosting_run(&job, 1);
    *strstr(job.model[0], "\nparameters:") = '\0';
    assert_true(strcmp(job.model[0], expected) == 0);
    free(expected);
    boosting_clear(&job);
}

/* ---- Several members ---- */

static double score_of(const struct job *job, const char *name)
{
    for (size_t i = 0; i < job->scores[0].n; i++)
        if (strcmp(job->scores[0].list[i].name, name) == 0)
            return job->scores[0].list[i].value;
    fail_msg("there is no metric %s", name);
    return 0;
}

/* Splits of all trees, the part of the text that says how the trees look. */
static bool same_trees(const char *a, const char *b)
{
    static const char *const keys[] = {"\nsplit_feature=", "\nthreshold="};

    for (size_t k = 0; k < 2; k++) {
        const char *x = a, *y = b;

        while ((x = strstr(x, keys[k])) && (y = strstr(y, keys[k]))) {
            size_t n = strcspn(++x, "\n");

            if (n != strcspn(++y, "\n") || strncmp(x, y, n) != 0)
                return false;
        }
        if (x || strstr(y ? y : "", keys[k]))
            return false;
    }
    return true;
}

static void members_agree(const struct job *job, int members)
{
    for (int r = 0; r < members; r++) {
        assert_true(strcmp(job->model[r], job->model[0]) == 0);
        assert_memory_equal(&job->scores[r], &job->scores[0], sizeof job->scores[0]);
    }
}

/* All sums of the first round are exact: the model is the same, also with bins from a
 * sample of the rows. */
static void first_round_is_the_same(void **state)
{
    static const char *const params =
        "{\"objective\": \"regression\", \"boost_from_average\": false, "
        "\"bin_construct_sample_cnt\": 500}";

    (void)state;
    for (unsigned flags = 0; flags <= JOB_SPARSE; flags += JOB_SPARSE / 2) {
        struct job one = boosting_make(params);

        one.rounds = 1;
        one.flags = flags;
        boosting_run(&one, 1);
        *strstr(one.model[0], "\nparameters:") = '\0';
        for (int members = 2; members <= 4; members++) {
            struct job several = boosting_make(params);

            several.rounds = 1;
            several.flags = flags;
            boosting_run(&several, members);
            *strstr(several.model[0], "\nparameters:") = '\0';
            assert_true(strcmp(several.model[0], one.model[0]) == 0);
            boosting_clear(&several);
        }
        boosting_clear(&one);
    }
}

static void several_are_as_good(const char *params, const char *metric, double within,
                                unsigned flags)
{
    struct job one = boosting_make(params);

    one.flags = flags;
    boosting_run(&one, 1);
    for (int members = 2; members <= 4; members++) {
        struct job several = boosting_make(params);
        double a, b;

        several.flags = flags;
        boosting_run(&several, members);
        members_agree(&several, members);
        a = score_of(&one, metric);
        b = score_of(&several, metric);
        print_message(
            "# %s %s, %d members: %.9g and %.9g, %s trees\n", params, metric, members,
            a, b, same_trees(one.model[0], several.model[0]) ? "the same" : "other");
        if (!(fabs(a - b) <= within))
            fail_msg("%s: %.17g with one member, %.17g with %d", metric, a, b, members);
        boosting_clear(&several);
    }
    boosting_clear(&one);
}

static void several_members(void **state)
{
    (void)state;
    several_are_as_good("{\"objective\": \"binary\", \"num_leaves\": 7}",
                        "valid-binary_logloss", 1e-3, 0);
    several_are_as_good("{\"objective\": \"regression\", \"num_leaves\": 15}",
                        "valid-l2", 1e-3, 0);
    several_are_as_good(
        "{\"objective\": \"multiclass\", \"num_class\": 3, \"num_leaves\": 7}",
        "valid-multi_logloss", 3e-3, JOB_CLASSES);
    several_are_as_good("{\"objective\": \"lambdarank\", \"eval_at\": [3, 5]}",
                        "valid-ndcg@5", 1e-2, JOB_CLASSES | JOB_GROUPS);
    several_are_as_good(
        "{\"objective\": \"binary\", \"tree_learner\": \"voting\", \"top_k\": 20}",
        "valid-binary_logloss", 1e-2, 0);
}

static void sparse_missing_and_categories(void **state)
{
    (void)state;
    several_are_as_good("{\"objective\": \"binary\", \"num_leaves\": 7}",
                        "valid-binary_logloss", 1e-3, JOB_MISSING);
    several_are_as_good("{\"objective\": \"binary\", \"num_leaves\": 7}",
                        "valid-binary_logloss", 1e-3, JOB_SPARSE);
    several_are_as_good("{\"objective\": \"binary\", \"num_leaves\": 7}",
                        "valid-binary_logloss", 3e-3, JOB_CATEGORIES | JOB_MISSING);
    several_are_as_good("{\"objective\": \"binary\", \"num_leaves\": 7}",
                        "valid-binary_logloss", 1e-3, JOB_WEIGHTS | JOB_FLOAT32);
}

/* ---- Metrics ---- */

/* The values of the same scores: a booster without rounds but with margins. */
static void metric_is_that_of_one(const char *params, unsigned flags, double within)
{
    struct job one = boosting_make(params);

    one.flags = flags | JOB_MARGINS;
    one.rounds = 0;
    boosting_run(&one, 1);
    assert_true(one.scores[0].n >= 2);
    for (int members = 2; members <= 4; members++) {
        struct job several = boosting_make(params);

        several.flags = one.flags;
        several.rounds = 0;
        boosting_run(&several, members);
        members_agree(&several, members);
        assert_int_equal(several.scores[0].n, one.scores[0].n);
        for (size_t i = 0; i < one.scores[0].n; i++) {
            const struct gbdt_score *a = &one.scores[0].list[i],
                                    *b = &several.scores[0].list[i];

            assert_string_equal(a->name, b->name);
            assert_int_equal(a->more_is_better, b->more_is_better);
            if (!(fabs(a->value - b->value) <= within * fabs(a->value)))
                fail_msg("%s: %.17g with one member, %.17g with %d (%s, flags %u)",
                         a->name, a->value, b->value, members, params, flags);
        }
        boosting_clear(&several);
    }
    boosting_clear(&one);
}

static void every_metric(void **state)
{
    static const char *const regression =
        "{\"objective\": \"regression\", \"metric\": [\"l1\", \"l2\", \"rmse\", "
        "\"quantile\", \"huber\", \"fair\", \"poisson\", \"mape\", \"gamma\", "
        "\"gamma_deviance\", \"tweedie\"]}";
    static const char *const binary =
        "{\"objective\": \"binary\", \"metric\": [\"binary_logloss\", "
        "\"binary_error\", \"auc\", \"average_precision\"]}";
    static const char *const binary_entropy =
        "{\"objective\": \"binary\", \"metric\": [\"cross_entropy\", "
        "\"kullback_leibler\"]}";
    static const char *const entropy =
        "{\"objective\": \"cross_entropy_lambda\", \"metric\": "
        "\"cross_entropy_lambda\"}";
    static const char *const classes =
        "{\"objective\": \"multiclass\", \"num_class\": 3, \"metric\": "
        "[\"multi_logloss\", \"multi_error\", \"auc_mu\"]}";
    static const char *const one_by_one =
        "{\"objective\": \"multiclassova\", \"num_class\": 3, \"metric\": "
        "[\"multi_logloss\", \"multi_error\", \"auc_mu\"]}";
    static const char *const ranking =
        "{\"objective\": \"lambdarank\", \"metric\": [\"ndcg\", \"map\"], "
        "\"eval_at\": [1, 3, 5]}";

    (void)state;
    for (unsigned weights = 0; weights <= JOB_WEIGHTS; weights += JOB_WEIGHTS) {
        metric_is_that_of_one(regression, weights | JOB_POSITIVE, 1e-9);
        metric_is_that_of_one(binary, weights, 1e-9);
        metric_is_that_of_one(entropy, weights, 1e-9);
        /* One process adds up the weights of all rows in float32. */
        metric_is_that_of_one(binary_entropy, weights, weights ? 1e-5 : 1e-9);
        metric_is_that_of_one(classes, weights | JOB_CLASSES, 1e-9);
        metric_is_that_of_one(one_by_one, weights | JOB_CLASSES, 1e-9);
        metric_is_that_of_one(ranking, weights | JOB_CLASSES | JOB_GROUPS, 1e-9);
    }
}

static void valid_rows_on_one_member(void **state)
{
    static const char *const params =
        "{\"objective\": \"binary\", \"metric\": [\"binary_logloss\", \"auc\"]}";

    (void)state;
    metric_is_that_of_one(params, JOB_VALID_LAST, 1e-9);
    several_are_as_good(params, "valid-auc", 1e-3, JOB_VALID_LAST);
}

/* ---- Resume ---- */

static void resumed_is_uninterrupted(const char *params, unsigned flags, int members)
{
    struct job whole = boosting_make(params), first = boosting_make(params),
               second = boosting_make(params);

    whole.flags = first.flags = second.flags = flags;
    whole.rounds = 8;
    boosting_run(&whole, members);
    first.rounds = 3;
    boosting_run(&first, members);
    second.rounds = 8;
    second.old = first.model[0];
    boosting_run(&second, members);
    assert_true(strcmp(second.model[0], whole.model[0]) == 0);
    assert_memory_equal(&second.scores[0], &whole.scores[0], sizeof whole.scores[0]);
    boosting_clear(&second);
    boosting_clear(&first);
    boosting_clear(&whole);
}

static void resumed(void **state)
{
    (void)state;
    for (int members = 1; members <= 3; members++) {
        resumed_is_uninterrupted("{\"objective\": \"binary\"}", 0, members);
        resumed_is_uninterrupted("{\"objective\": \"regression\"}",
                                 JOB_MISSING | JOB_CATEGORIES, members);
        resumed_is_uninterrupted("{\"objective\": \"regression\"}",
                                 JOB_MARGINS | JOB_FLOAT32, members);
        resumed_is_uninterrupted("{\"objective\": \"multiclass\", \"num_class\": 3}",
                                 JOB_CLASSES | JOB_SPARSE, members);
        resumed_is_uninterrupted("{\"objective\": \"lambdarank\"}",
                                 JOB_CLASSES | JOB_GROUPS, members);
    }
}

/* ---- Parameters ---- */

/* By itself the target falls with feature 1. */
static void monotone(void **state)
{
    struct job job =
        boosting_make("{\"objective\": \"binary\", \"monotone_constraints\": "
                      "[0, -1, 0, 0, 0, 0]}");
    struct job up =
        boosting_make("{\"objective\": \"binary\", \"monotone_constraints\": "
                      "[0, 1, 0, 0, 0, 0]}");

    (void)state;
    boosting_run(&job, 2);
    boosting_run(&up, 2);
    assert_true(job.importance_splits[1] > 0);
    assert_true(up.importance_splits[1] < job.importance_splits[1]);
    boosting_clear(&job);
    boosting_clear(&up);
}

/* A split by categories has a set of them. */
static void categories(void **state)
{
    struct job job = boosting_make("{\"objective\": \"binary\"}");

    (void)state;
    job.flags = JOB_CATEGORIES;
    boosting_run(&job, 2);
    assert_non_null(strstr(job.model[0], "\ncat_threshold="));
    boosting_clear(&job);
}

/* The library takes words in any case. */
static void serial_in_capitals(void **state)
{
    struct job job =
        boosting_make("{\"objective\": \"binary\", \"tree_learner\": \"SERIAL\"}");

    (void)state;
    boosting_run(&job, 2);
    assert_non_null(strstr(job.model[0], "[tree_learner: data]"));
    boosting_clear(&job);
}

static void overruled(void **state)
{
    struct job job =
        boosting_make("{\"objective\": \"binary\", \"tree_learner\": \"serial\", "
                      "\"num_machines\": 7, \"n_estimators\": 3, "
                      "\"nonsense\": 1}");

    (void)state;
    boosting_run(&job, 2);
    assert_non_null(strstr(job.said, "params.tree_learner"));
    assert_non_null(strstr(job.said, "params.num_machines"));
    assert_non_null(strstr(job.said, "num_boost_round"));
    assert_non_null(strstr(job.said, "Unknown parameter: nonsense"));
    assert_non_null(strstr(job.model[0], "[tree_learner: data]"));
    assert_non_null(strstr(job.model[0], "[num_machines: 2]"));
    boosting_clear(&job);
}

static void refused(void **state)
{
    static const char *const params[] = {
        "{\"objective\": \"binary\", \"tree_learner\": \"feature\"}",
        "{\"objective\": \"binary\", \"metric\": \"a b\"}",
        "{\"objective\": \"nonsense\"}",
        "{\"objective\": {\"a\": 1}}",
        "{\"objective\": \"binary\", \"linear_tree\": true}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++) {
        struct job job = boosting_make(params[i]);

        job.fails = true;
        boosting_run(&job, 2);
        assert_int_equal(job.err[0].code, RAYTRAIN_EINVAL);
        boosting_clear(&job);
    }
}

/* Only the last member has the label, and all of them get the error. */
static void a_label_out_of_range(void **state)
{
    struct job job = boosting_make("{\"objective\": \"multiclass\", \"num_class\": 3}");

    (void)state;
    job.flags = JOB_CLASSES | JOB_BAD_LABEL;
    job.fails = true;
    boosting_run(&job, 3);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(job.err[r].code, RAYTRAIN_EINVAL);
        assert_non_null(strstr(job.err[r].text, "Label must be in [0, 3)"));
    }
    boosting_clear(&job);
}

/* ---- Failures ---- */

static void a_collective_fails(void **state)
{
    (void)state;
    for (int call = 1; call < 200; call += 13) {
        struct job job = boosting_make("{\"objective\": \"binary\"}");

        job.fails = true;
        job.fail_at = call;
        boosting_run(&job, 2);
        assert_int_equal(job.err[0].code, RAYTRAIN_ECOMM);
        boosting_clear(&job);
    }
}

/* ---- Predictions ---- */

static void predictions(void **state)
{
    struct job job = boosting_make("{\"objective\": \"multiclass\", \"num_class\": 3}");
    struct prediction p, classes;

    (void)state;
    job.flags = JOB_CLASSES;
    boosting_run(&job, 2);
    p = boosting_predict(&job, GBDT_PROBABILITY);
    classes = boosting_predict(&job, GBDT_CLASS);
    assert_int_equal(classes.ndim, 0);
    assert_int_equal(p.ndim, 1);
    assert_int_equal(p.shape[0], 3);
    for (int i = 0; i < JOB_ROWS; i++) {
        const float *row = (const float *)p.values + 3 * i;
        int best = row[1] > row[0];

        best = row[2] > row[best] ? 2 : best;
        assert_true(fabs((double)row[0] + (double)row[1] + (double)row[2] - 1) < 1e-6);
        assert_int_equal(best, ((const int32_t *)classes.values)[i]);
    }
    free(p.values);
    free(classes.values);
    p = boosting_predict(&job, GBDT_LEAF);
    assert_int_equal(p.shape[0], 3 * job.rounds);
    free(p.values);
    p = boosting_predict(&job, GBDT_CONTRIBUTION);
    assert_int_equal(p.ndim, 2);
    assert_int_equal(p.shape[1], JOB_FEATURES + 1);
    free(p.values);
    boosting_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_library),
        cmocka_unit_test(one_member_is_the_library),
        cmocka_unit_test(first_round_is_the_same),
        cmocka_unit_test(several_members),
        cmocka_unit_test(sparse_missing_and_categories),
        cmocka_unit_test(every_metric),
        cmocka_unit_test(valid_rows_on_one_member),
        cmocka_unit_test(resumed),
        cmocka_unit_test(monotone),
        cmocka_unit_test(categories),
        cmocka_unit_test(serial_in_capitals),
        cmocka_unit_test(overruled),
        cmocka_unit_test(refused),
        cmocka_unit_test(a_label_out_of_range),
        cmocka_unit_test(a_collective_fails),
        cmocka_unit_test(predictions),
    };

    boosting_library_find();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
