/*
 * test_gbdt_rows.c - the rows of a dataset as the trainers of trees want them: which
 * columns are features, and which rows each worker has.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "gbdt/queries.h"
#include "gbdt/rows_load.h"

#include "scratch.h"
#include "thread_comm.h"

#define SIZE_MAX_TESTED 5
#define ROWS            23

static struct gbdt_config plain;

/* ---- Datasets ---- */

static void file_write(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static raytrain_dataset *dataset_of(const char *path)
{
    const struct dataset_config cfg = {.name = (char *)"train", .path = (char *)path};
    const struct dataset_env env = {.size = 1};
    raytrain_dataset *ds;
    struct error err;

    if (dataset_open(&cfg, &env, &ds, &err) < 0)
        fail_msg("%s", err.text);
    return ds;
}

static void columns_of(raytrain_dataset *ds, const struct gbdt_config *cfg,
                       struct gbdt_columns *columns)
{
    const struct gbdt_columns_use use = {.dataset = {.name = "train"},
                                         .label = cfg->label ? cfg->label : "y",
                                         .config = cfg};
    struct error err;

    if (gbdt_columns_find(dataset_schema(ds), &use, columns, &err) < 0)
        fail_msg("%s", err.text);
}

static void columns_fail(raytrain_dataset *ds, const struct gbdt_config *cfg,
                         const char *sentence)
{
    const struct gbdt_columns_use use = {.dataset = {.name = "train"},
                                         .label = cfg->label ? cfg->label : "y",
                                         .config = cfg};
    struct gbdt_columns columns;
    struct error err;

    assert_int_equal(gbdt_columns_find(dataset_schema(ds), &use, &columns, &err), -1);
    if (!strstr(err.text, sentence))
        fail_msg("\"%s\" is not in: %s", sentence, err.text);
}

static void rows_of(raytrain_dataset *ds, const struct gbdt_columns *columns, int rank,
                    int size, struct gbdt_rows *rows)
{
    const struct rows_job job = {
        .columns = columns, .wide = true, .rank = rank, .size = size};
    struct error err;

    if (gbdt_rows_load(ds, &job, rows, &err) < 0)
        fail_msg("%s", err.text);
}

static const struct gbdt_dataset o = {.name = "o"};

/* ---- Rows ---- */

/* Row i: i, i + 0.5, label i % 2, weight 2 i. */
static void table_write(const char *path)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fprintf(f, "a,b,y,w\n");
    for (int i = 0; i < ROWS; i++)
        fprintf(f, "%d,%d.5,%d,%d\n", i, i, i % 2, 2 * i);
    assert_int_equal(fclose(f), 0);
}

static void every_rank_has_adjacent_rows_and_none_is_lost(void **state)
{
    struct gbdt_config cfg = {.weight = (char *)"w"};
    struct gbdt_columns columns;
    raytrain_dataset *ds;

    (void)state;
    table_write("rows.csv");
    ds = dataset_of("rows.csv");
    columns_of(ds, &cfg, &columns);
    assert_int_equal(columns.features, 2);
    assert_true(columns.wide);
    for (int size = 1; size <= SIZE_MAX_TESTED; size++) {
        uint64_t next = 0;

        for (int rank = 0; rank < size; rank++) {
            struct gbdt_rows s;

            rows_of(ds, &columns, rank, size, &s);
            assert_int_equal(s.first, next);
            assert_int_equal(s.all, ROWS);
            assert_in_range(s.n, ROWS / size, ROWS / size + 1);
            assert_int_equal(s.dtype, RAYTRAIN_FLOAT64);
            for (uint64_t i = 0; i < s.n; i++, next++) {
                const double *values = s.values;

                assert_true(values[2 * i] == (double)next);
                assert_true(values[2 * i + 1] == (double)next + 0.5);
                assert_true(s.label[i] == (float)(next % 2));
                assert_true(s.weight[i] == (float)(2 * next));
            }
            gbdt_rows_clear(&s);
        }
        assert_int_equal(next, ROWS);
    }
    gbdt_columns_clear(&columns);
    dataset_close(ds);
}

static void without_enough_rows_the_last_ranks_have_none(void **state)
{
    struct gbdt_columns columns;
    raytrain_dataset *ds;

    (void)state;
    file_write("few.csv", "a,y\n1,0\n2,1\n");
    ds = dataset_of("few.csv");
    columns_of(ds, &plain, &columns);
    for (int rank = 0; rank < 4; rank++) {
        struct gbdt_rows s;

        rows_of(ds, &columns, rank, 4, &s);
        assert_int_equal(s.n, rank < 2);
        gbdt_rows_clear(&s);
    }
    gbdt_columns_clear(&columns);
    dataset_close(ds);
}

/* ---- Queries ---- */

/* Queries of these lengths. */
static void queries_write(const char *path, const unsigned lengths[], size_t n)
{
    FILE *f = fopen(path, "w");
    int row = 0;

    assert_non_null(f);
    fprintf(f, "q,a,y\n");
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < lengths[i]; k++, row++)
            fprintf(f, "%zu,%d,0\n", 7 + i, row);
    assert_int_equal(fclose(f), 0);
}

static void queries_check(const unsigned lengths[], size_t n)
{
    struct gbdt_config cfg = {.qid = (char *)"q"};
    struct gbdt_columns columns;
    raytrain_dataset *ds;

    queries_write("queries.csv", lengths, n);
    ds = dataset_of("queries.csv");
    columns_of(ds, &cfg, &columns);
    for (int size = 1; size <= SIZE_MAX_TESTED; size++) {
        size_t group = 0;
        uint64_t next = 0;

        for (int rank = 0; rank < size; rank++) {
            struct gbdt_rows s;
            uint64_t in_groups = 0;

            rows_of(ds, &columns, rank, size, &s);
            for (size_t g = 0; g < s.n_groups; g++, group++) {
                assert_int_equal(s.groups[g], lengths[group]);
                in_groups += s.groups[g];
            }
            assert_int_equal(in_groups, s.n);
            for (uint64_t i = 0; i < s.n; i++, next++)
                assert_true(((const double *)s.values)[i] == (double)next);
            gbdt_rows_clear(&s);
        }
        assert_int_equal(group, n);
    }
    gbdt_columns_clear(&columns);
    dataset_close(ds);
}

static void no_query_is_cut(void **state)
{
    static const unsigned even[] = {4, 4, 4, 4, 4}, one[] = {40}, ones[] = {1, 1, 1};
    static const unsigned large[] = {1, 30, 1, 2}, mixed[] = {3, 9, 1, 1, 14, 2, 5, 8};

    (void)state;
    queries_check(even, 5);
    queries_check(one, 1);
    queries_check(ones, 3);
    queries_check(large, 4);
    queries_check(mixed, 8);
}

/* More rows than a block of the reading has. */
static void queries_may_be_longer_than_a_block(void **state)
{
    static const unsigned lengths[] = {9000, 20000, 1, 8192, 3};

    (void)state;
    queries_check(lengths, 5);
}

struct checking {
    raytrain_dataset *ds;
    struct dataset_config config;
    struct gbdt_columns columns;
    struct gbdt_rows sets[SIZE_MAX_TESTED];
    struct error errors[SIZE_MAX_TESTED];
};

static int rank_check(struct comm *comm, void *arg)
{
    struct checking *c = arg;
    const struct rows_job job = {.columns = &c->columns, .config = &c->config};

    return gbdt_queries_check(c->ds, &job, comm, &c->sets[comm->rank],
                              &c->errors[comm->rank]);
}

/* What the ranks say about the queries of a dataset, whose column of them is `qid`:
 * NULL, nothing, or an error with these texts. */
static void queries_are(const char *path, const char *qid, const char *const texts[])
{
    struct gbdt_config cfg = {
        .qid = (char *)qid, .label = (char *)(strcmp(qid, "qid") == 0 ? "label" : "y")};
    struct checking c = {.config = {.name = (char *)"train", .path = (char *)path}};
    int rc[SIZE_MAX_TESTED];

    c.ds = dataset_of(path);
    columns_of(c.ds, &cfg, &c.columns);
    for (int size = 1; size <= SIZE_MAX_TESTED; size++) {
        for (int rank = 0; rank < size; rank++)
            rows_of(c.ds, &c.columns, rank, size, &c.sets[rank]);
        thread_comm_run(size, rank_check, &c, rc);
        for (int rank = 0; rank < size; rank++) {
            assert_int_equal(rc[rank], texts ? -1 : 0);
            for (int i = 0; texts && texts[i]; i++)
                if (!strstr(c.errors[rank].text, texts[i]))
                    fail_msg("\"%s\" is not in: %s", texts[i], c.errors[rank].text);
            gbdt_rows_clear(&c.sets[rank]);
        }
    }
    gbdt_columns_clear(&c.columns);
    dataset_close(c.ds);
}

static void a_query_that_comes_back_is_refused_with_both_lines(void **state)
{
    static const char *const NUMBERS[] = {
        "query 7 begins at back.csv:3, and occurs again at back.csv:8",
        "sort the rows by column \"q\"", NULL};
    static const char *const WORDS[] = {"query \"x\" begins at words.csv:3, and occurs "
                                        "again at words.csv:6",
                                        NULL};
    static const char *const FILES[] = {
        "query -3 begins at dir/a.svm:1, and occurs again at dir/b.svm:3", NULL};
    static const char *const LARGE[] = {"query 9007199254740993 begins at large.csv:3, "
                                        "and occurs again at large.csv:5",
                                        NULL};

    (void)state;
    file_write("back.csv",
               "q,a,y\n9,0,0\n7,1,0\n7,2,1\n8,3,0\n\n8,4,1\n7,5,0\n9,5,0\n");
    queries_are("back.csv", "q", NUMBERS);
    /* A record of two lines, and a last line without an end. */
    file_write("words.csv", "q,\"a\nb\",y\nx,2,0\ny,3,1\nz,1,0\nx,4,0");
    queries_are("words.csv", "q", WORDS);
    assert_int_equal(mkdir("dir", 0777), 0);
    file_write("dir/a.svm", "1 qid:-3 1:1\n0 qid:-3 1:2\n1 qid:4 1:1\n");
    file_write("dir/b.svm", "# a comment\n1 qid:5 1:1\n0 qid:-3 1:2\n");
    queries_are("dir", "qid", FILES);
    file_write("large.csv", "q,a,y\n9007199254740992,0,0\n9007199254740993,0,0\n"
                            "9007199254740994,0,0\n9007199254740993,1,0\n");
    queries_are("large.csv", "q", LARGE);
}

static void queries_may_rise_fall_and_mix(void **state)
{
    (void)state;
    file_write("rise.csv", "q,a,y\n-2,0,0\n-1,1,0\n-1,1,0\n0,2,1\n5,3,0\n");
    queries_are("rise.csv", "q", NULL);
    file_write("fall.csv", "q,a,y\n2.5,0,0\n1.5,1,0\n-1.5,2,1\n-3,3,0\n");
    queries_are("fall.csv", "q", NULL);
    file_write("mix.csv", "q,a,y\n2,0,0\n9,1,0\n9,1,0\n-4,2,1\n3,3,0\n1,3,1\n");
    queries_are("mix.csv", "q", NULL);
}

/* ---- Sparse rows, vectors ---- */

static void sparse_rows_stay_sparse(void **state)
{
    static const uint64_t OFFSETS[] = {0, 2, 2, 3};
    static const uint32_t INDICES[] = {1, 4, 0};
    static const float VALUES[] = {0.5f, 2, -1};
    struct gbdt_config cfg = {.label = (char *)"label"};
    struct gbdt_columns columns;
    struct gbdt_rows s;
    raytrain_dataset *ds;

    (void)state;
    file_write("rows.libsvm", "1 2:0.5 5:2\n0\n1 1:-1\n");
    ds = dataset_of("rows.libsvm");
    columns_of(ds, &cfg, &columns);
    assert_int_equal(columns.features, 5);
    rows_of(ds, &columns, 0, 1, &s);
    assert_true(s.sparse);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.n_values, 3);
    assert_memory_equal(s.offsets, OFFSETS, sizeof OFFSETS);
    assert_memory_equal(s.indices, INDICES, sizeof INDICES);
    for (int i = 0; i < 3; i++)
        assert_true((s.dtype == RAYTRAIN_FLOAT32
                         ? (double)((const float *)s.values)[i]
                         : ((const double *)s.values)[i]) == (double)VALUES[i]);
    gbdt_rows_clear(&s);
    rows_of(ds, &columns, 3, 4, &s); /* no rows */
    assert_int_equal(s.n, 0);
    assert_int_equal(s.offsets[0], 0);
    gbdt_rows_clear(&s);
    gbdt_columns_clear(&columns);
    dataset_close(ds);
}

static void longer_rows_of_another_dataset_are_refused_with_their_line(void **state)
{
    struct gbdt_config cfg = {.label = (char *)"label"};
    struct dataset_config other = {.name = (char *)"o", .path = (char *)"longer.svm"};
    struct gbdt_columns columns;
    struct rows_job job = {.columns = &columns, .config = &other, .size = 1};
    struct gbdt_rows s;
    struct error err;
    raytrain_dataset *ds, *shorter, *longer;

    (void)state;
    file_write("rows.svm", "1 2:0.5 3:2\n");
    file_write("shorter.svm", "1 2:0.5\n");
    file_write("longer.svm", "1 2:0.5\n0 3:1 4:7\n");
    ds = dataset_of("rows.svm");
    columns_of(ds, &cfg, &columns);
    shorter = dataset_of("shorter.svm");
    assert_int_equal(gbdt_columns_check(&columns, dataset_schema(shorter), &o, &err),
                     0);
    rows_of(shorter, &columns, 0, 1, &s);
    assert_int_equal(s.features, 3);
    gbdt_rows_clear(&s);
    longer = dataset_of("longer.svm");
    assert_int_equal(gbdt_columns_check(&columns, dataset_schema(longer), &o, &err), 0);
    assert_int_equal(gbdt_rows_load(longer, &job, &s, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, "longer.svm:2 has an element \"features_3\""));
    dataset_close(longer);
    dataset_close(shorter);
    gbdt_columns_clear(&columns);
    dataset_close(ds);
}

/* Weight, and queries, of LIBSVM text that is read with `use`. */
static void libsvm_is(raytrain_dataset *ds, const struct gbdt_columns_use *use,
                      const char *qid, const char *unused)
{
    struct gbdt_columns columns;
    struct error err;
    char text[64];

    assert_int_equal(gbdt_columns_find(dataset_schema(ds), use, &columns, &err), 0);
    assert_int_equal(columns.features, 2);
    assert_string_equal(gbdt_columns_weight(&columns, dataset_schema(ds)), "weight");
    if (qid)
        assert_string_equal(gbdt_columns_qid(&columns, dataset_schema(ds)), qid);
    else
        assert_null(gbdt_columns_qid(&columns, dataset_schema(ds)));
    assert_int_equal(gbdt_columns_spares_queries(&columns, dataset_schema(ds)), !qid);
    assert_int_equal(
        gbdt_columns_unused(&columns, dataset_schema(ds), text, sizeof text, &err), 0);
    assert_string_equal(text, unused);
    gbdt_columns_clear(&columns);
}

static void weights_and_queries_of_libsvm_text_are_used_without_a_name(void **state)
{
    struct gbdt_config cfg = {.label = (char *)"label"};
    struct gbdt_columns_use use = {
        .dataset = {.name = "train"}, .label = "label", .config = &cfg, .libsvm = true};
    struct gbdt_columns columns;
    struct gbdt_rows s;
    struct error err;
    raytrain_dataset *ds, *bare;

    (void)state;
    file_write("rows.svm", "1:2 qid:1 1:1 2:1\n0:3 qid:1 1:1\n1:4 qid:5 1:1\n");
    file_write("bare.svm", "1 1:1\n0 1:1\n");
    ds = dataset_of("rows.svm");
    bare = dataset_of("bare.svm");
    libsvm_is(ds, &use, NULL, "");
    use.ranks = true;
    libsvm_is(ds, &use, "qid", "");
    cfg.qid = (char *)"weight";
    libsvm_is(ds, &use, "weight", "qid");
    cfg.qid = NULL;
    assert_int_equal(gbdt_columns_find(dataset_schema(ds), &use, &columns, &err), 0);
    rows_of(ds, &columns, 0, 1, &s);
    assert_true(s.weight[0] == 2 && s.weight[1] == 3 && s.weight[2] == 4);
    assert_int_equal(s.n_groups, 2);
    gbdt_rows_clear(&s);
    assert_int_equal(gbdt_columns_check(&columns, dataset_schema(bare), &o, &err), 0);
    rows_of(bare, &columns, 0, 1, &s);
    assert_int_equal(s.n, 2);
    assert_null(s.weight);
    assert_null(s.groups);
    gbdt_rows_clear(&s);
    gbdt_columns_clear(&columns);
    dataset_close(bare);
    dataset_close(ds);
}

static void features_have_names(void **state)
{
    char *categorical[] = {(char *)"b"};
    struct gbdt_config cfg = {.categorical = categorical, .n_categorical = 1};
    struct gbdt_columns columns;
    struct gbdt_features features;
    struct error err;
    raytrain_dataset *ds;

    (void)state;
    table_write("rows.csv");
    ds = dataset_of("rows.csv");
    columns_of(ds, &cfg, &columns);
    assert_int_equal(gbdt_columns_features(&columns, &cfg, &features, &err), 0);
    assert_int_equal(features.n, 3);
    assert_string_equal(features.names[0], "a");
    assert_string_equal(features.names[2], "w");
    assert_false(features.categorical[0]);
    assert_true(features.categorical[1]);
    gbdt_features_clear(&features);
    gbdt_columns_clear(&columns);
    dataset_close(ds);
}

static void features_that_would_have_one_name_are_refused(void **state)
{
    struct frame f = FRAME_INIT;
    struct frame_column x = {
        .name = "x",
        .kind = FRAME_NUMBERS,
        .row = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {2}}};
    struct frame_column x_1 = {
        .name = "x_1", .kind = FRAME_NUMBERS, .row = {.dtype = RAYTRAIN_FLOAT32}};
    struct frame_column y = {
        .name = "y", .kind = FRAME_NUMBERS, .row = {.dtype = RAYTRAIN_FLOAT32}};
    const struct gbdt_columns_use use = {
        .dataset = {.name = "train"}, .label = "y", .config = &plain};
    struct gbdt_columns columns;
    struct gbdt_features features;
    struct error err;
    size_t i;

    (void)state;
    assert_int_equal(frame_add(&f, &x, &i, &err), 0);
    assert_int_equal(frame_add(&f, &y, &i, &err), 0);
    assert_int_equal(frame_add(&f, &x_1, &i, &err), 0);
    assert_int_equal(gbdt_columns_find(&f, &use, &columns, &err), 0);
    assert_int_equal(gbdt_columns_features(&columns, &plain, &features, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, "\"x_1\", one of the column \"x\" and one of the "
                                     "column \"x_1\""));
    assert_null(features.names);
    gbdt_columns_clear(&columns);
    frame_clear(&f);
}

/* ---- What is wrong ---- */

static void wrong_columns_are_named(void **state)
{
    struct gbdt_config no_weight = {.weight = (char *)"heavy"};
    struct gbdt_config words_label = {.label = (char *)"city"};
    char *categorical[] = {(char *)"colour"};
    struct gbdt_config no_category = {.categorical = categorical, .n_categorical = 1};
    raytrain_dataset *ds;

    (void)state;
    file_write("words.csv", "a,city,y\n1,Ulm,0\n2,Bonn,1\n");
    ds = dataset_of("words.csv");
    columns_fail(ds, &plain, "column \"city\" has words");
    columns_fail(ds, &no_weight, "no column \"heavy\", which is its weight");
    columns_fail(ds, &words_label, "add a label_encoder");
    dataset_close(ds);
    table_write("rows.csv");
    ds = dataset_of("rows.csv");
    columns_fail(ds, &no_category, "categorical_features: dataset");
    dataset_close(ds);
    file_write("alone.csv", "y\n0\n1\n");
    ds = dataset_of("alone.csv");
    columns_fail(ds, &plain, "has no features");
    dataset_close(ds);
}

static void other_datasets_have_the_same_columns(void **state)
{
    struct gbdt_columns columns;
    struct error err;
    char text[64];
    raytrain_dataset *ds, *other;

    (void)state;
    file_write("train.csv", "a,b,y\n1,2,0\n");
    file_write("order.csv", "y,b,a\n0,2,1\n");
    file_write("more.csv", "y,c,b,d,a\n0,x,2,7,1\n");
    file_write("other.csv", "a,c,y\n1,2,0\n");
    ds = dataset_of("train.csv");
    columns_of(ds, &plain, &columns);
    other = dataset_of("order.csv");
    assert_int_equal(gbdt_columns_check(&columns, dataset_schema(other), &o, &err), 0);
    dataset_close(other);
    other = dataset_of("more.csv");
    assert_int_equal(gbdt_columns_check(&columns, dataset_schema(other), &o, &err), 0);
    assert_int_equal(
        gbdt_columns_unused(&columns, dataset_schema(other), text, sizeof text, &err),
        0);
    assert_string_equal(text, "c, d");
    dataset_close(other);
    other = dataset_of("other.csv");
    assert_int_equal(gbdt_columns_check(&columns, dataset_schema(other), &o, &err), -1);
    assert_non_null(strstr(err.text, "dataset \"o\" has no column \"b\""));
    dataset_close(other);
    gbdt_columns_clear(&columns);
    dataset_close(ds);
}

static void a_row_without_a_label_is_named(void **state)
{
    const struct dataset_config config = {.path = (char *)"holes.csv"};
    const struct rows_job job_of_two = {.config = &config, .rank = 1, .size = 2};
    struct rows_job job = job_of_two;
    struct gbdt_columns columns;
    struct gbdt_rows s;
    struct error err;
    raytrain_dataset *ds;

    (void)state;
    file_write("holes.csv", "a,y\n1,0.5\n2,1\n3,0\n4,\n");
    ds = dataset_of("holes.csv");
    columns_of(ds, &plain, &columns);
    job.columns = &columns;
    assert_int_equal(gbdt_rows_load(ds, &job, &s, &err), -1);
    assert_non_null(strstr(err.text, "dataset \"train\": holes.csv:5 has no label"));
    gbdt_columns_clear(&columns);
    dataset_close(ds);
}

static void missing_features_are_nan(void **state)
{
    struct gbdt_columns columns;
    struct gbdt_rows s;
    raytrain_dataset *ds;

    (void)state;
    file_write("missing.csv", "a,b,y\n,0.5,0\n2,,1\n");
    ds = dataset_of("missing.csv");
    columns_of(ds, &plain, &columns);
    rows_of(ds, &columns, 0, 1, &s);
    assert_true(isnan(((const double *)s.values)[0]));
    assert_true(((const double *)s.values)[1] == 0.5);
    assert_true(isnan(((const double *)s.values)[3]));
    gbdt_rows_clear(&s);
    gbdt_columns_clear(&columns);
    dataset_close(ds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(every_rank_has_adjacent_rows_and_none_is_lost),
        SCRATCH(without_enough_rows_the_last_ranks_have_none),
        SCRATCH(no_query_is_cut),
        SCRATCH(queries_may_be_longer_than_a_block),
        SCRATCH(a_query_that_comes_back_is_refused_with_both_lines),
        SCRATCH(queries_may_rise_fall_and_mix),
        SCRATCH(sparse_rows_stay_sparse),
        SCRATCH(longer_rows_of_another_dataset_are_refused_with_their_line),
        SCRATCH(weights_and_queries_of_libsvm_text_are_used_without_a_name),
        SCRATCH(features_have_names),
        SCRATCH(features_that_would_have_one_name_are_refused),
        SCRATCH(wrong_columns_are_named),
        SCRATCH(other_datasets_have_the_same_columns),
        SCRATCH(a_row_without_a_label_is_named),
        SCRATCH(missing_features_are_nan),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
