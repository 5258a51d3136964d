/* Preprocessors of words and categories. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "preprocess_table.h"

/* ---- Categories ---- */

static const char *word(const struct frame_column *col, size_t i)
{
    int32_t code = ((const int32_t *)(const void *)col->data)[i];
    size_t n;

    return code < 0 ? NULL : dictionary_word(col->words, (size_t)code, &n);
}

static void missing_words_get_the_most_frequent_one(void **state)
{
    struct frame f = FRAME_INIT;
    struct job job;

    (void)state;
    assert_int_equal(fit(&job,
                         "{ simple_imputer = { columns = [\"m\"]; strategy = "
                         "\"most_frequent\"; }; }, "
                         "{ simple_imputer = { columns = [\"w\"]; strategy = "
                         "\"constant\"; fill_value = \"new\"; }; }",
                         2, 50),
                     0);
    transformed(&job.chains[0], &f);
    assert_string_equal(word(frame_find(&f, "m"), 3), "pear");
    assert_string_equal(word(frame_find(&f, "m"), 4), all_words[(size_t)w_values[4]]);
    frame_clear(&f);
    job_clear(&job);
}

static void a_column_that_is_not_there_is_made_by_the_imputer(void **state)
{
    struct frame schema = FRAME_INIT, f = FRAME_INIT;
    struct transform *t;
    struct job job;

    (void)state;
    assert_int_equal(fit(&job,
                         "{ simple_imputer = { columns = [\"v\"]; }; }, "
                         "{ simple_imputer = { columns = [\"m\", \"c\"]; strategy = "
                         "\"most_frequent\"; }; }, "
                         "{ simple_imputer = { columns = [\"new\"]; strategy = "
                         "\"constant\"; fill_value = 7; }; }",
                         2, 50),
                     0);
    if (transform_create(&job.chains[0], &schema, NULL, &t, &err) < 0)
        fail_msg("%s", err.text);
    f.rows = 3;
    assert_int_equal(transform_apply(t, &f, &err), 0);
    assert_int_equal(frame_find(&f, "v")->row.shape[0], WIDTH);
    assert_column(&f, "v",
                  fitted_find(&job.chains[0].list[0].fitted, "v", "mean")->reals, WIDTH,
                  0);
    assert_string_equal(word(frame_find(&f, "m"), 2), "pear");
    assert_true(number(frame_find(&f, "c"), 2) == number(frame_find(&f, "c"), 0));
    assert_true(number(frame_find(&f, "new"), 2) == 7);
    transform_destroy(t);
    frame_clear(&f);
    job_clear(&job);
}

static void missing_categories_are_an_error(void **state)
{
    struct transform *t;
    struct frame f = FRAME_INIT;
    struct job job;

    (void)state;
    assert_int_equal(fit(&job, "{ one_hot_encoder = { columns = [\"m\"]; }; }", 3, 5),
                     -1);
    assert_non_null(strstr(err.text, "column \"m\" has missing values"));
    job_clear(&job);
    assert_int_equal(fit(&job, "{ ordinal_encoder = { columns = [\"w\"]; }; }", 1, 5),
                     0);
    assert_int_equal(transform_create(&job.chains[0], &table, NULL, &t, &err), 0);
    assert_int_equal(rows_take(&f, 0, 10, &err), 0);
    ((int32_t *)(void *)frame_find(&f, "w")->data)[9] = -1;
    assert_int_equal(transform_apply(t, &f, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    transform_destroy(t);
    frame_clear(&f);
    job_clear(&job);
}

/* The word "unused" is in the dictionary, but in no row of the training set. */
static void unseen_categories_are_nan_or_have_no_element(void **state)
{
    struct transform *t;
    struct frame f = FRAME_INIT;
    const struct frame_column *hot;
    struct job job;

    (void)state;
    assert_int_equal(
        fit(&job,
            "{ one_hot_encoder = { columns = [\"w\"]; output_columns = "
            "[\"hot\"]; }; }, { ordinal_encoder = { columns = [\"w\"]; "
            "output_columns = [\"code\"]; dtype = \"int32\"; }; }, "
            "{ categorizer = { columns = [\"w\"]; output_columns = "
            "[\"cat\"]; }; }, { ordinal_encoder = { columns = [\"w\"]; }; }",
            2, 5),
        0);
    assert_int_equal(transform_create(&job.chains[0], &table, NULL, &t, &err), 0);
    assert_int_equal(rows_take(&f, 0, 1, &err), 0);
    ((int32_t *)(void *)frame_find(&f, "w")->data)[0] = 0;
    assert_int_equal(transform_apply(t, &f, &err), 0);
    hot = frame_find(&f, "hot");
    assert_int_equal(hot->row.shape[0], N_WORDS);
    for (size_t i = 0; i < N_WORDS; i++)
        assert_int_equal(hot->data[i], 0);
    assert_true(number(frame_find(&f, "code"), 0) == -1);
    assert_true(isnan(number(frame_find(&f, "w"), 0)));
    assert_null(word(frame_find(&f, "cat"), 0));
    transform_destroy(t);
    frame_clear(&f);
    job_clear(&job);
}

static void max_categories_keeps_the_most_frequent_ones(void **state)
{
    const struct fitted_item *item;
    struct job job;
    size_t n;

    (void)state;
    assert_int_equal(
        fit(&job,
            "{ one_hot_encoder = { columns = [\"w\"]; max_categories = { w "
            "= 2; }; }; }",
            3, 5),
        0);
    item = fitted_find(&job.chains[0].list[0].fitted, "w", "categories");
    assert_int_equal(item->n, 2);
    assert_string_equal(dictionary_word(item->words, 0, &n), "pear");
    item = fitted_find(&job.chains[0].list[0].fitted, "w", "counts");
    assert_true(item->integers[0] > item->integers[1]);
    job_clear(&job);
}

static void integers_are_found_among_other_numbers(void **state)
{
    static const double values[] = {-3, 2.5, 0, 3, 4};
    struct frame schema = FRAME_INIT, f = FRAME_INIT;
    struct transform *t;
    struct job job;

    (void)state;
    assert_int_equal(fit(&job, "{ ordinal_encoder = { columns = [\"c\"]; }; }", 3, 5),
                     0);
    column(&schema, "c", FRAME_NUMBERS, RAYTRAIN_FLOAT64, 1);
    assert_int_equal(transform_create(&job.chains[0], &schema, NULL, &t, &err), 0);
    memcpy(column(&f, "c", FRAME_NUMBERS, RAYTRAIN_FLOAT64, 1)->data, values,
           sizeof values);
    f.rows = 5;
    assert_int_equal(transform_apply(t, &f, &err), 0);
    assert_column(&f, "c", (const double[]){0, NAN, 3, 6, NAN}, 5, 0);
    transform_destroy(t);
    frame_clear(&schema);
    frame_clear(&f);
    job_clear(&job);
}

/* Row i has the words i .. i + i % 4 - 1, modulo N_WORDS, by their codes in the table,
 * where 0 is "unused". */
static void lists_are_encoded_word_by_word(void **state)
{
    static const char *const sorted[] = {"apple", "fig", "lime", "pear", "unused"};
    struct frame f = FRAME_INIT;
    const struct frame_column *hot, *list;
    struct job job;

    (void)state;
    assert_int_equal(
        fit(&job,
            "{ multi_hot_encoder = { columns = [\"l\"]; output_columns = "
            "[\"hot\"]; }; }, { ordinal_encoder = { columns = [\"l\"]; }; }",
            2, 5),
        0);
    transformed(&job.chains[0], &f);
    hot = frame_find(&f, "hot");
    list = frame_find(&f, "l");
    assert_int_equal(hot->row.shape[0], 5);
    for (size_t i = 0; i < ROWS; i++) {
        int ones = 0;

        for (size_t k = 0; k < 5; k++)
            ones += hot->data[5 * i + k];
        assert_int_equal(ones, i % 4);
        assert_int_equal(list->offsets[i + 1] - list->offsets[i], i % 4);
        for (uint64_t k = list->offsets[i]; k < list->offsets[i + 1]; k++) {
            int32_t code = ((const int32_t *)(const void *)list->data)[k];
            size_t original = (i + k - list->offsets[i]) % N_WORDS;

            assert_int_equal(hot->data[5 * i + (size_t)code], 1);
            assert_string_equal(sorted[code],
                                original == 0 ? "unused" : all_words[original - 1]);
        }
    }
    frame_clear(&f);
    job_clear(&job);
}

static void labels_are_found_again_from_their_codes(void **state)
{
    struct frame f = FRAME_INIT;
    struct transform *t, *back;
    struct job job;

    (void)state;
    assert_int_equal(fit(&job, "{ label_encoder = { label_column = \"w\"; }; }", 1, 50),
                     0);
    assert_int_equal(transform_create(&job.chains[0], &table, NULL, &t, &err), 0);
    assert_int_equal(
        transform_create_inverse(&job.chains[0], transform_schema(t), &back, &err), 0);
    assert_int_equal(rows_take(&f, 0, ROWS, &err), 0);
    assert_int_equal(transform_apply(t, &f, &err), 0);
    assert_int_equal(transform_apply(back, &f, &err), 0);
    for (size_t i = 0; i < ROWS; i++)
        assert_string_equal(word(frame_find(&f, "w"), i),
                            all_words[(size_t)w_values[i]]);
    transform_destroy(back);
    transform_destroy(t);
    frame_clear(&f);
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_words_get_the_most_frequent_one),
        cmocka_unit_test(a_column_that_is_not_there_is_made_by_the_imputer),
        cmocka_unit_test(missing_categories_are_an_error),
        cmocka_unit_test(unseen_categories_are_nan_or_have_no_element),
        cmocka_unit_test(max_categories_keeps_the_most_frequent_ones),
        cmocka_unit_test(integers_are_found_among_other_numbers),
        cmocka_unit_test(lists_are_encoded_word_by_word),
        cmocka_unit_test(labels_are_found_again_from_their_codes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, table_make, table_free);
}
