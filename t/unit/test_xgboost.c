/* Trees by XGBoost: several members are threads, each with the library's own
 * collectives, which meet at a tracker as processes would. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gbdt/booster.h"
#include "xgboost/xgboost_library.h"
#include "thread_comm.h"
#include "tree_rows.h"

#define ROUNDS 6

static const struct booster_ops *ops;

/* ---- Training ---- */

struct setup {
    struct rows rows;
    const char *params;         /* JSON */
    const char *dmatrix_params; /* JSON; NULL: none */
    bool valid_on_first;        /* the other members have no rows of it */
    bool categories;
    int stop_at, keep; /* rounds; keep: rounds of the saved model, 0: all */
    const void *bytes; /* of the model to continue */
    size_t n_bytes;
    /* Out, of rank 0: */
    void *model;
    size_t n_model;
    struct gbdt_scores scores;
    double gain[FEATURES], splits[FEATURES];
    char said[ERROR_TEXT_MAX + 32];
};

static void hear(void *arg, enum gbdt_severity severity, const char *line)
{
    struct setup *how = arg;
    size_t n = strlen(how->said);

    snprintf(how->said + n, sizeof how->said - n, "%s: %s\n",
             severity == GBDT_WARNING ? "warning" : "info", line);
}

static char letters[FEATURES][2] = {"a", "b", "c", "d", "e"};
static char *feature_names[] = {letters[0], letters[1], letters[2], letters[3],
                                letters[4]};
static bool categorical[FEATURES] = {true};

static int datasets_add(struct booster *b, const struct setup *how, struct comm *c,
                        struct error *err)
{
    int n = c ? c->size : 1, rank = c ? c->rank : 0, rc;
    uint64_t each = ROWS / 10 / (uint64_t)n * 10, first = each * (uint64_t)rank;
    uint64_t rows = rank == n - 1 ? ROWS - first : each;
    struct gbdt_rows set;

    set_fill(&set, "train", &how->rows, first, rows);
    rc = ops->add(b, &set, err);
    gbdt_rows_clear(&set);
    if (rc < 0)
        return rc;
    set_fill(&set, "valid", &how->rows, first, how->valid_on_first && rank ? 0 : rows);
    rc = ops->add(b, &set, err);
    gbdt_rows_clear(&set);
    return rc;
}

static int results_take(struct booster *b, struct setup *how, struct error *err)
{
    struct gbdt_importance importance = {how->gain, how->splits};

    if (ops->importance(b, 0, &importance, err) < 0)
        return -1;
    return ops->save(b, how->keep, how->keep - 1, 0.25, &how->model, &how->n_model,
                     err);
}

static int member_train(struct booster *b, struct setup *how, struct comm *c,
                        struct error *err)
{
    struct gbdt_scores scores;
    bool full;
    int from;

    if (ops->create(b, err) < 0 || datasets_add(b, how, c, err) < 0 ||
        ops->begin(b, how->bytes, how->n_bytes, err) < 0)
        return -1;
    from = ops->rounds(b, err);
    for (int round = from; round < how->stop_at; round++)
        if (ops->update(b, round, &full, err) < 0 ||
            ops->evaluate(b, round, &scores, err) < 0)
            return -1;
    if (!c || c->rank == 0) {
        how->scores = scores;
        return results_take(b, how, err);
    }
    return 0;
}

static int member_run(struct comm *c, void *arg)
{
    struct setup *how = arg;
    struct world world = {.rank = c->rank,
                          .size = c->size,
                          .local_rank = c->rank,
                          .local_size = c->size,
                          .n_nodes = 1};
    struct gbdt_config config;
    struct gbdt_features features = {FEATURES, feature_names,
                                     how->categories ? categorical : NULL};
    struct booster b = {.ops = ops};
    struct error err = {.code = RAYTRAIN_OK};
    int rc;

    memset(&config, 0, sizeof config);
    config.params = json_loads(how->params, 0, NULL);
    config.dmatrix_params =
        json_loads(how->dmatrix_params ? how->dmatrix_params : "{}", 0, NULL);
    b.env = (struct booster_env){.comm = c,
                                 .world = &world,
                                 .threads = 1,
                                 .config = &config,
                                 .features = &features,
                                 .seed = 42,
                                 .say = hear,
                                 .arg = how};
    rc = config.params && config.dmatrix_params ? member_train(&b, how, c, &err) : -1;
    if (rc < 0 && c->rank == 0)
        snprintf(how->said, sizeof how->said, "%d: %s", err.code, err.text);
    else if (rc < 0)
        fprintf(stderr, "# member %d: %s\n", c->rank, err.text);
    ops->destroy(&b, rc == 0);
    json_decref(config.params);
    json_decref(config.dmatrix_params);
    return rc;
}

/* All members have the same outcome. */
static int train(struct setup *how, int members)
{
    int rc[THREAD_COMM_MAX];

    how->said[0] = '\0';
    if (how->stop_at == 0)
        how->stop_at = ROUNDS;
    thread_comm_run(members, member_run, how, rc);
    for (int r = 1; r < members; r++)
        assert_int_equal(rc[r], rc[0]);
    return rc[0];
}

static void train_well(struct setup *how, int members)
{
    if (train(how, members) < 0)
        fail_msg("%s", how->said);
}

static void same_bytes(const struct setup *a, const struct setup *b)
{
    assert_int_equal(a->n_model, b->n_model);
    assert_memory_equal(a->model, b->model, a->n_model);
}

/* The same model on 1 to 4 members. */
static void same_on_members(const struct setup *how)
{
    struct setup one = *how;

    train_well(&one, 1);
    assert_true(one.scores.n >= 2);
    for (int n = 2; n <= 4; n++) {
        struct setup several = *how;

        train_well(&several, n);
        same_bytes(&one, &several);
        assert_int_equal(several.scores.n, one.scores.n);
        for (size_t i = 0; i < one.scores.n; i++) {
            assert_string_equal(several.scores.list[i].name, one.scores.list[i].name);
            assert_true(fabs(several.scores.list[i].value - one.scores.list[i].value) <
                        1e-5);
        }
        assert_memory_equal(several.gain, one.gain, sizeof one.gain);
        free(several.model);
    }
    free(one.model);
}

/* Since 2.0 the base score would be a mean of labels, which is rounded otherwise with
 * other members. */
#define BINARY_PARAMS                                                                  \
    "{\"objective\":\"binary:logistic\",\"max_depth\":4,\"eta\":0.5,\"base_score\":0." \
    "5}"

static void test_same_model(void **state)
{
    (void)state;
    same_on_members(&(struct setup){.rows.task = BINARY, .params = BINARY_PARAMS});
}

static void test_same_model_sparse(void **state)
{
    (void)state;
    same_on_members(&(struct setup){.rows.task = BINARY,
                                    .params = BINARY_PARAMS,
                                    .rows.sparse = true,
                                    .rows.weights = true,
                                    .rows.margin = true});
}

static void test_same_model_of_tasks(void **state)
{
    (void)state;
    same_on_members(
        &(struct setup){.rows.task = MULTI,
                        .params = "{\"objective\":\"multi:softprob\",\"num_class\":3,"
                                  "\"eval_metric\":[\"mlogloss\",\"merror\"]}"});
    same_on_members(&(struct setup){.rows.task = REGRESSION,
                                    .params = "{\"objective\":\"reg:squarederror\","
                                              "\"base_score\":0.5}"});
    same_on_members(&(struct setup){
        .rows.task = BINARY, .params = BINARY_PARAMS, .categories = true});
}

/* Each member makes pairs of its own groups. */
static void test_ranking(void **state)
{
    struct setup how = {.rows.task = RANKING,
                        .rows.weights = true,
                        .params = "{\"objective\":\"rank:ndcg\","
                                  "\"eval_metric\":[\"ndcg@5\",\"ndcg\"]}"};

    (void)state;
    for (int n = 1; n <= 3; n++) {
        train_well(&how, n);
        assert_int_equal(how.scores.n, 4);
        assert_string_equal(how.scores.list[2].name, "valid-ndcg@5");
        assert_true(how.scores.list[2].more_is_better);
        assert_true(how.scores.list[2].value > 0.8);
        free(how.model);
    }
}

static void test_no_rows(void **state)
{
    struct setup how = {.rows.task = BINARY,
                        .params =
                            "{\"objective\":\"binary:logistic\",\"base_score\":0.5,"
                            "\"eval_metric\":[\"logloss\",\"error\",\"auc\"]}",
                        .valid_on_first = true};

    (void)state;
    train_well(&how, 3);
    assert_int_equal(how.scores.n, 6);
    assert_string_equal(how.scores.list[3].name, "valid-logloss");
    assert_true(how.scores.list[3].value < 0.69);
    assert_string_equal(how.scores.list[5].name, "valid-auc");
    assert_true(how.scores.list[5].value > 0.5);
    free(how.model);
}

/* By name and by number; the model of the first differs from one without them. */
static void test_constraints(void **state)
{
    struct setup free_one = {.rows.task = BINARY, .params = BINARY_PARAMS};
    struct setup named = {
        .rows.task = BINARY,
        .params = "{\"objective\":\"binary:logistic\",\"max_depth\":4,\"eta\":0.5,"
                  "\"base_score\":0.5,\"monotone_constraints\":{\"b\":-1,\"c\":1},"
                  "\"interaction_constraints\":[[\"a\",\"b\"],[\"c\",\"d\",\"e\"]]}"};
    struct setup numbered = {
        .rows.task = BINARY,
        .params = "{\"objective\":\"binary:logistic\",\"max_depth\":4,\"eta\":0.5,"
                  "\"base_score\":0.5,\"monotone_constraints\":[0,-1,1,0,0],"
                  "\"interaction_constraints\":[[0,1],[2,3,4]]}"};

    (void)state;
    train_well(&free_one, 1);
    train_well(&named, 2);
    train_well(&numbered, 1);
    same_bytes(&named, &numbered);
    assert_true(named.splits[1] < free_one.splits[1]);
    free(free_one.model), free(named.model), free(numbered.model);
}

/* ---- Rounds ---- */

static void resume_everywhere(const char *params, int members)
{
    struct setup whole = {.rows.task = BINARY, .params = params};

    train_well(&whole, members);
    for (int at = 1; at < ROUNDS; at++) {
        struct setup part = {.rows.task = BINARY, .params = params, .stop_at = at},
                     rest;

        train_well(&part, members);
        rest = (struct setup){.rows.task = BINARY,
                              .params = params,
                              .bytes = part.model,
                              .n_bytes = part.n_model};
        train_well(&rest, members);
        same_bytes(&whole, &rest);
        free(part.model);
        free(rest.model);
    }
    free(whole.model);
}

static void test_resume(void **state)
{
    (void)state;
    resume_everywhere(BINARY_PARAMS, 1);
    resume_everywhere(BINARY_PARAMS, 2);
}

#define SAMPLING                                                                       \
    "{\"objective\":\"binary:logistic\",\"subsample\":0.5,\"colsample_bytree\":0.6,"   \
    "\"colsample_bynode\":0.8}"

static void test_resume_sampling(void **state)
{
    (void)state;
    resume_everywhere(SAMPLING, 1);
    resume_everywhere(SAMPLING, 2);
}

static void test_slice(void **state)
{
    struct setup all = {.rows.task = BINARY, .params = BINARY_PARAMS, .keep = 3};
    struct setup three = {
        .rows.task = BINARY, .params = BINARY_PARAMS, .stop_at = 3, .keep = 3};

    (void)state;
    train_well(&all, 2);
    train_well(&three, 2);
    same_bytes(&three, &all);
    assert_non_null(memmem(all.model, all.n_model, "best_iteration", 14));
    assert_non_null(memmem(all.model, all.n_model, "0.25", 4));
    free(all.model);
    free(three.model);
}

/* ---- Messages ---- */

static void refused(struct setup how, int members, int code, const char *words)
{
    assert_int_equal(train(&how, members), -1);
    if (atoi(how.said) != code || !strstr(how.said, words) ||
        strstr(how.said, "Stack trace") || strstr(how.said, ".cc:"))
        fail_msg("status %d expected, with \"%s\": %s", code, words, how.said);
}

static void test_refusals(void **state)
{
    (void)state;
    refused((struct setup){.rows.task = BINARY,
                           .params = BINARY_PARAMS,
                           .rows.bad_label = 7},
            1, RAYTRAIN_EINVAL, "label must be in [0,1]");
    refused((struct setup){.params = "{\"objective\":\"binary:fun\"}"}, 2,
            RAYTRAIN_EINVAL, "binary:fun");
    refused((struct setup){.params = "{\"max_depth\":\"deep\"}"}, 2, RAYTRAIN_EINVAL,
            "max_depth");
    refused((struct setup){.params = "{\"eval_metric\":\"joy\"}"}, 1, RAYTRAIN_EINVAL,
            "joy");
    refused((struct setup){.params = "{}", .dmatrix_params = "{\"mising\":0}"}, 2,
            RAYTRAIN_EINVAL, "\"mising\" is unknown; the keys are missing, ");
    refused((struct setup){.params = "{\"interaction_constraints\":[[\"z\"]]}"}, 1,
            RAYTRAIN_EINVAL,
            "params.interaction_constraints: there is no feature \"z\"");
}

static void test_torn_weights(void **state)
{
    (void)state;
    refused((struct setup){.rows.task = RANKING,
                           .rows.weights = true,
                           .rows.torn_weights = true,
                           .params = "{\"objective\":\"rank:ndcg\"}"},
            1, RAYTRAIN_EINVAL,
            "dataset train: rows 0 and 7 are of one query, but their weights differ");
}

/* The last member alone has the label; the others are not left waiting. */
static void test_refusal_of_one(void **state)
{
    (void)state;
    refused((struct setup){.rows.task = BINARY,
                           .params = BINARY_PARAMS,
                           .rows.bad_label = 7},
            3, RAYTRAIN_ECOMM, "another worker");
}

static void test_warning(void **state)
{
    struct setup how = {.rows.task = BINARY,
                        .params = "{\"objective\":\"binary:logistic\",\"joy\":3}"};

    (void)state;
    train_well(&how, 2);
    if (strstr(how.said, "warning: Parameters: { \"joy\" } ") != how.said)
        fail_msg("%s", how.said);
    assert_null(strstr(how.said, "rank"));
    free(how.model);
}

static void test_no_library(void **state)
{
    struct error err;

    (void)state;
    /* Opened already, in this process: the variable does not matter any more. */
    setenv(XGBOOST_LIBRARY_VARIABLE, "/none", 1);
    assert_int_equal(ops->open(&err), 0);
    unsetenv(XGBOOST_LIBRARY_VARIABLE);
}

/* ---- Predictions ---- */

struct predicted {
    struct booster b;
    struct gbdt_config config;
    struct gbdt_rows rows;
    struct error err;
};

static void predictor_open(struct predicted *p, const struct setup *how)
{
    memset(p, 0, sizeof *p);
    p->b.ops = ops;
    p->config.params = json_loads("{}", 0, NULL);
    p->b.env = (struct booster_env){.threads = 1, .config = &p->config};
    set_fill(&p->rows, "rows", &how->rows, 0, ROWS);
    if (ops->load(&p->b, how->model, how->n_model, &p->err) < 0)
        fail_msg("%s", p->err.text);
}

static void predictor_close(struct predicted *p)
{
    ops->destroy(&p->b, true);
    gbdt_rows_clear(&p->rows);
    json_decref(p->config.params);
}

/* An output of this shape; to free(). */
static void *predict(struct predicted *p, enum gbdt_output output, int ndim,
                     uint64_t first, uint64_t second)
{
    uint64_t shape[2], n = 1;
    int has;
    float *values;

    if (ops->shape(&p->b, output, shape, &has, &p->err) < 0)
        fail_msg("%s", p->err.text);
    assert_int_equal(has, ndim);
    if (ndim > 0)
        assert_int_equal(shape[0], first);
    if (ndim > 1)
        assert_int_equal(shape[1], second);
    for (int i = 0; i < has; i++)
        n *= shape[i];
    values = malloc(ROWS * n * sizeof *values + 16);
    assert_non_null(values);
    memset(values + ROWS * n, 0x5a, 16);
    if (ops->predict(&p->b, output, &p->rows, values, &p->err) < 0)
        fail_msg("%s", p->err.text);
    for (int i = 0; i < 16; i++)
        assert_int_equal(((char *)(values + ROWS * n))[i], 0x5a);
    return values;
}

static void test_predict_binary(void **state)
{
    struct setup how = {.rows.task = BINARY, .params = BINARY_PARAMS};
    struct predicted p;
    float *value, *margin, *probability, *contribution;
    int32_t *class, *leaf;
    int right = 0;

    (void)state;
    train_well(&how, 2);
    predictor_open(&p, &how);
    value = predict(&p, GBDT_VALUE, 0, 0, 0);
    probability = predict(&p, GBDT_PROBABILITY, 0, 0, 0);
    margin = predict(&p, GBDT_MARGIN, 0, 0, 0);
    class = predict(&p, GBDT_CLASS, 0, 0, 0);
    leaf = predict(&p, GBDT_LEAF, 1, ROUNDS, 0);
    contribution = predict(&p, GBDT_CONTRIBUTION, 1, FEATURES + 1, 0);
    for (int r = 0; r < ROWS; r++) {
        float sum = 0;

        assert_true(value[r] == probability[r]);
        assert_true(fabsf(value[r] - 1 / (1 + expf(-margin[r]))) < 1e-6f);
        assert_int_equal(class[r], value[r] > 0.5f);
        right += class[r] == (int)label_of((uint64_t)r, BINARY);
        for (int f = 0; f <= FEATURES; f++)
            sum += contribution[r * (FEATURES + 1) + f];
        assert_true(fabsf(sum - margin[r]) < 1e-4f);
        assert_in_range(leaf[r * ROUNDS], 1, 31);
    }
    assert_true(right > ROWS * 9 / 10);
    predictor_close(&p);
    free(value), free(probability), free(margin), free(class), free(leaf);
    free(contribution), free(how.model);
}

static void multi_predict(const char *objective, int value_ndim)
{
    char params[80];
    struct setup how = {.rows.task = MULTI, .params = params};
    struct predicted p;
    float *value, *probability;
    int32_t *class;

    snprintf(params, sizeof params, "{\"objective\":\"%s\",\"num_class\":3}",
             objective);
    train_well(&how, 1);
    predictor_open(&p, &how);
    value = predict(&p, GBDT_VALUE, value_ndim, 3, 0);
    probability = predict(&p, GBDT_PROBABILITY, 1, 3, 0);
    class = predict(&p, GBDT_CLASS, 0, 0, 0);
    free(predict(&p, GBDT_MARGIN, 1, 3, 0));
    free(predict(&p, GBDT_LEAF, 1, 3 * ROUNDS, 0));
    free(predict(&p, GBDT_CONTRIBUTION, 2, 3, FEATURES + 1));
    for (int r = 0; r < ROWS; r++) {
        const float *row = probability + 3 * r;

        assert_true(fabsf(row[0] + row[1] + row[2] - 1) < 1e-5f);
        for (int k = 0; k < 3; k++) {
            assert_true(row[k] <= row[class[r]]);
            if (value_ndim == 1)
                assert_true(fabsf(value[3 * r + k] - row[k]) < 1e-6f);
        }
        if (value_ndim == 0)
            assert_int_equal((int)value[r], class[r]);
    }
    predictor_close(&p);
    free(value), free(probability), free(class), free(how.model);
}

static void test_predict_multi(void **state)
{
    (void)state;
    multi_predict("multi:softprob", 1);
    multi_predict("multi:softmax", 0);
}

static void test_predict_refusals(void **state)
{
    struct setup how = {.rows.task = REGRESSION, .params = "{\"seed\":3}"};
    uint64_t shape[2];
    struct predicted p;
    float values[ROWS];
    int ndim;

    (void)state;
    train_well(&how, 1);
    predictor_open(&p, &how);
    assert_int_equal(ops->shape(&p.b, GBDT_CLASS, shape, &ndim, &p.err), -1);
    assert_int_equal(p.err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(p.err.text, "reg:squarederror has no classes"));
    p.rows.features--;
    assert_int_equal(ops->predict(&p.b, GBDT_VALUE, &p.rows, values, &p.err), -1);
    assert_int_equal(p.err.code, RAYTRAIN_EINVAL);
    assert_non_null(
        strstr(p.err.text, "4 features, but the model has been trained on 5"));
    p.rows.n = 0;
    p.rows.features++;
    assert_int_equal(ops->predict(&p.b, GBDT_VALUE, &p.rows, values, &p.err), 0);
    predictor_close(&p);
    free(how.model);
}

static void test_convert(void **state)
{
    struct setup how = {.rows.task = BINARY, .params = BINARY_PARAMS};
    struct predicted p;
    void *bytes;
    json_t *json;
    size_t n;

    (void)state;
    train_well(&how, 1);
    predictor_open(&p, &how);
    assert_int_equal(ops->convert(&p.b, "ubj", &bytes, &n, &p.err), 0);
    assert_int_equal(n, how.n_model);
    assert_memory_equal(bytes, how.model, n);
    free(bytes);
    assert_int_equal(ops->convert(&p.b, "json", &bytes, &n, &p.err), 0);
    json = json_loadb(bytes, n, 0, NULL);
    assert_string_equal(
        json_string_value(json_array_get(
            json_object_get(json_object_get(json, "learner"), "feature_names"), 1)),
        "b");
    json_decref(json);
    free(bytes);
    assert_int_equal(ops->convert(&p.b, "txt", &bytes, &n, &p.err), -1);
    assert_non_null(strstr(p.err.text, "json and ubj"));
    predictor_close(&p);
    free(how.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_model),
        cmocka_unit_test(test_same_model_sparse),
        cmocka_unit_test(test_same_model_of_tasks),
        cmocka_unit_test(test_ranking),
        cmocka_unit_test(test_no_rows),
        cmocka_unit_test(test_constraints),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_resume_sampling),
        cmocka_unit_test(test_slice),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_torn_weights),
        cmocka_unit_test(test_refusal_of_one),
        cmocka_unit_test(test_warning),
        cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_predict_binary),
        cmocka_unit_test(test_predict_multi),
        cmocka_unit_test(test_predict_refusals),
        cmocka_unit_test(test_convert),
    };
    struct error err;

    cmocka_set_message_output(CM_OUTPUT_TAP);
    ops = booster_find("xgboost");
    if (ops->open(&err) == 0)
        return cmocka_run_group_tests(tests, NULL, NULL);
    printf("1..0 # SKIP %s\n", err.text);
    return 0;
}
