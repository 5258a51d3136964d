/* The features of a model of trees in the columns of other rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gbdt/feature_rows.h"

#define ROWS 3

static struct error err;

/* ---- Columns ---- */

static struct frame_column *column_add(struct frame *f, const char *name,
                                       enum frame_kind kind, raytrain_dtype dtype,
                                       int ndim, uint64_t length, uint64_t elements)
{
    struct frame_column like = {
        .kind = kind, .row = {.dtype = dtype, .ndim = ndim, .shape = {length}}};
    size_t i;

    strcpy(like.name, name);
    assert_int_equal(frame_add(f, &like, &i, &err), 0);
    assert_int_equal(frame_reserve(&f->columns[i], ROWS, elements, &err), 0);
    return &f->columns[i];
}

static void number_add(struct frame *f, const char *name, const int64_t values[ROWS])
{
    struct frame_column *c =
        column_add(f, name, FRAME_NUMBERS, RAYTRAIN_INT64, 0, 0, 0);

    memcpy(c->data, values, ROWS * sizeof *values);
}

static void vector_add(struct frame *f, const char *name, uint64_t length,
                       const float *values)
{
    struct frame_column *c =
        column_add(f, name, FRAME_NUMBERS, RAYTRAIN_FLOAT32, 1, length, 0);

    memcpy(c->data, values, ROWS * length * sizeof *values);
}

/* Row 0 has elements 1 and 3, row 1 none, row 2 element 0. */
static void sparse_add(struct frame *f, const char *name)
{
    static const double values[] = {1.5, 3.5, 0.5};
    static const uint32_t indices[] = {1, 3, 0};
    static const uint64_t offsets[] = {0, 2, 2, 3};
    struct frame_column *c =
        column_add(f, name, FRAME_SPARSE, RAYTRAIN_FLOAT64, 1, 4, 3);

    memcpy(c->data, values, sizeof values);
    memcpy(c->indices, indices, sizeof indices);
    memcpy(c->offsets, offsets, sizeof offsets);
    c->n_data = 3;
}

static const int64_t a[ROWS] = {7, -8, INT64_MAX};
static const float v[ROWS * 2] = {1, 2, 3, NAN, 5, 6};
static const float one[ROWS] = {10, 20, 30};

static struct frame dense(void)
{
    struct frame f = {.rows = ROWS};

    number_add(&f, "a", a);
    vector_add(&f, "v", 2, v);
    vector_add(&f, "one", 1, one);
    column_add(&f, "bytes", FRAME_NUMBERS, RAYTRAIN_BYTES, 0, 0, 0);
    return f;
}

/* ---- What a model takes ---- */

static struct gbdt_rows take(struct frame *f, const struct feature_list *list,
                             raytrain_dtype dtype)
{
    struct gbdt_rows out = {.n = 0};
    struct feature_rows *rows;

    assert_int_equal(feature_rows_create(f, list, dtype, &rows, &err), 0);
    assert_int_equal(feature_rows_fill(rows, f, &out, &err), 0);
    assert_int_equal(out.n, f->rows);
    assert_int_equal(out.features, feature_rows_features(rows));
    feature_rows_destroy(rows);
    frame_clear(f);
    return out;
}

static void refuse(struct frame *f, const char *const names[], uint64_t n, int code,
                   const char *words)
{
    const struct feature_list list = {.names = names, .n = n};
    struct feature_rows *rows;

    assert_int_equal(feature_rows_create(f, &list, RAYTRAIN_FLOAT32, &rows, &err), -1);
    assert_int_equal(err.code, code);
    assert_non_null(strstr(err.text, words));
}

/* ---- Tests ---- */

static void features_are_found_by_name_in_any_order(void **state)
{
    const char *const names[] = {"v_1", "one", "a", "v_0"};
    const struct feature_list list = {.names = names, .n = 4};
    struct frame f = dense();
    struct gbdt_rows s = take(&f, &list, RAYTRAIN_FLOAT32);
    const float *x = s.values;

    (void)state;
    assert_false(s.sparse);
    assert_int_equal(s.features, 4);
    assert_int_equal(s.n_values, ROWS * 4);
    for (int i = 0; i < ROWS; i++) {
        assert_memory_equal(&x[i * 4], &v[2 * i + 1], sizeof *x);
        assert_true(x[i * 4 + 1] == one[i]);
        assert_true(x[i * 4 + 2] == (float)a[i]);
        assert_true(x[i * 4 + 3] == v[2 * i]);
    }
    gbdt_rows_clear(&s);
}

static void integers_keep_their_digits_as_float64(void **state)
{
    const char *const names[] = {"a"};
    const int64_t large[ROWS] = {16777217, 1 - ((int64_t)1 << 53), 0};
    const struct feature_list list = {.names = names, .n = 1};
    struct frame f = {.rows = ROWS};
    struct gbdt_rows s;

    (void)state;
    number_add(&f, "a", large);
    s = take(&f, &list, RAYTRAIN_FLOAT64);
    for (int i = 0; i < ROWS; i++)
        assert_true(((double *)s.values)[i] == (double)large[i]);
    gbdt_rows_clear(&s);
}

static void a_missing_feature_is_named_with_the_columns_that_there_are(void **state)
{
    const char *const no[] = {"b"}, *const beyond[] = {"v_2"}, *const odd[] = {"v_01"},
                      *const vector[] = {"v"};
    struct frame f = dense();

    (void)state;
    refuse(&f, no, 1, RAYTRAIN_ENOTFOUND,
           "\"b\" of the model; their columns are: a, v");
    refuse(&f, beyond, 1, RAYTRAIN_ENOTFOUND, "\"v_2\"");
    refuse(&f, odd, 1, RAYTRAIN_ENOTFOUND, "\"v_01\"");
    refuse(&f, vector, 1, RAYTRAIN_ENOTFOUND, "\"v\"");
    frame_clear(&f);
}

static void a_column_without_numbers_is_named(void **state)
{
    const char *const bytes[] = {"bytes"}, *const text[] = {"t"};
    struct frame f = dense();

    (void)state;
    column_add(&f, "t", FRAME_TEXT, RAYTRAIN_BYTES, 0, 0, 1);
    refuse(&f, bytes, 1, RAYTRAIN_ETYPE, "\"bytes\" of the rows is one of bytes");
    refuse(&f, text, 1, RAYTRAIN_ETYPE, "\"t\" of the rows is one of texts");
    frame_clear(&f);
}

static void element_check(const struct gbdt_rows *s, uint64_t k, uint32_t feature,
                          float value)
{
    assert_int_equal(s->indices[k], feature);
    assert_true(((float *)s->values)[k] == value);
}

static void sparse_rows_stay_sparse_and_rise(void **state)
{
    const char *const names[] = {"s_3", "a", "s_1", "s_9", "s_0"};
    const struct feature_list list = {.names = names, .n = 5};
    struct frame f = {.rows = ROWS};
    struct gbdt_rows s;

    (void)state;
    number_add(&f, "a", a);
    sparse_add(&f, "s");
    s = take(&f, &list, RAYTRAIN_FLOAT32);
    assert_true(s.sparse);
    assert_int_equal(s.features, 5);
    assert_int_equal(s.n_values, 6);
    assert_int_equal(s.offsets[0], 0);
    assert_int_equal(s.offsets[1], 3);
    assert_int_equal(s.offsets[2], 4);
    assert_int_equal(s.offsets[3], 6);
    element_check(&s, 0, 0, 3.5f);
    element_check(&s, 1, 1, 7);
    element_check(&s, 2, 2, 1.5f);
    element_check(&s, 3, 1, -8);
    element_check(&s, 4, 1, (float)INT64_MAX);
    element_check(&s, 5, 4, 0.5f);
    gbdt_rows_clear(&s);
}

/* The row of the first element that the model does not know. */
static void beyond(const struct feature_list *list, int64_t row, const char *words)
{
    struct frame f = {.rows = ROWS};
    struct gbdt_rows s = {.n = 0};
    struct feature_rows *rows;

    sparse_add(&f, "s");
    assert_int_equal(feature_rows_create(&f, list, RAYTRAIN_FLOAT32, &rows, &err), 0);
    assert_int_equal(feature_rows_fault(rows), -1);
    assert_int_equal(feature_rows_fill(rows, &f, &s, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, words));
    assert_int_equal(feature_rows_fault(rows), row);
    gbdt_rows_clear(&s);
    feature_rows_destroy(rows);
    frame_clear(&f);
}

static void an_element_that_is_not_a_feature_is_an_error_with_its_row(void **state)
{
    const char *const first[] = {"s_1", "s_2", "s_3"}, *const last[] = {"s_0", "s_1"},
                      *const vector[] = {"v_0"};
    const struct feature_list without_first = {.names = first, .n = 3},
                              shorter = {.names = last, .n = 2},
                              without_names = {.n = 3};
    struct frame f = dense();

    (void)state;
    beyond(&without_first, 2, "\"s_0\"");
    beyond(&shorter, 0, "\"s_3\"");
    beyond(&without_names, 0, "3 features of the model");
    refuse(&f, vector, 1, RAYTRAIN_EINVAL, "no feature \"v_1\"");
    frame_clear(&f);
}

static void columns_that_are_not_features_are_known(void **state)
{
    const char *const names[] = {"one", "v_0", "v_1"};
    const struct feature_list list = {.names = names, .n = 3};
    struct frame f = dense();
    struct feature_rows *rows;
    bool unused[4];

    (void)state;
    assert_int_equal(feature_rows_create(&f, &list, RAYTRAIN_FLOAT32, &rows, &err), 0);
    feature_rows_unused(rows, &f, unused);
    assert_true(unused[0] && !unused[1] && !unused[2] && unused[3]);
    feature_rows_destroy(rows);
    frame_clear(&f);
}

static void without_names_the_only_vectors_are_the_features(void **state)
{
    const struct feature_list fits = {.n = 2}, longer = {.n = 9};
    struct frame f = {.rows = ROWS};
    struct gbdt_rows s;

    (void)state;
    number_add(&f, "label", a);
    vector_add(&f, "v", 2, v);
    s = take(&f, &fits, RAYTRAIN_FLOAT32);
    assert_memory_equal(s.values, v, sizeof v);
    gbdt_rows_clear(&s);

    f = (struct frame){.rows = ROWS};
    sparse_add(&f, "s");
    s = take(&f, &longer, RAYTRAIN_FLOAT32);
    assert_int_equal(s.features, 9);
    assert_int_equal(s.n_values, 3);
    gbdt_rows_clear(&s);
}

static void without_names_and_vectors_all_numbers_but_the_label_are(void **state)
{
    const struct feature_list list = {.n = 2, .label = "label"};
    struct frame f = {.rows = ROWS};
    struct gbdt_rows s;

    (void)state;
    number_add(&f, "b", a);
    number_add(&f, "label", a);
    number_add(&f, "c", a);
    column_add(&f, "t", FRAME_TEXT, RAYTRAIN_BYTES, 0, 0, 1);
    refuse(&f, NULL, 4, RAYTRAIN_EINVAL, "trained on 4");
    s = take(&f, &list, RAYTRAIN_FLOAT32);
    assert_int_equal(s.features, 2);
    assert_true(((float *)s.values)[3] == -8);
    gbdt_rows_clear(&s);
}

static void a_batch_without_rows_is_one(void **state)
{
    const char *const names[] = {"v_0", "v_1"};
    const struct feature_list list = {.names = names, .n = 2};
    struct frame f = dense();
    struct gbdt_rows s;

    (void)state;
    f.rows = 0;
    s = take(&f, &list, RAYTRAIN_FLOAT32);
    assert_int_equal(s.n_values, 0);
    gbdt_rows_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_are_found_by_name_in_any_order),
        cmocka_unit_test(integers_keep_their_digits_as_float64),
        cmocka_unit_test(a_missing_feature_is_named_with_the_columns_that_there_are),
        cmocka_unit_test(a_column_without_numbers_is_named),
        cmocka_unit_test(sparse_rows_stay_sparse_and_rise),
        cmocka_unit_test(an_element_that_is_not_a_feature_is_an_error_with_its_row),
        cmocka_unit_test(columns_that_are_not_features_are_known),
        cmocka_unit_test(without_names_the_only_vectors_are_the_features),
        cmocka_unit_test(without_names_and_vectors_all_numbers_but_the_label_are),
        cmocka_unit_test(a_batch_without_rows_is_one),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("test_feature_rows", tests, NULL, NULL);
}
