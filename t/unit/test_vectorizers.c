/* Preprocessors of texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "preprocess/vectorizer.h"
#include "preprocess_table.h"

/* Row i of the column t is texts[i % 4]. */
static const char *const texts[] = {"the cat the dog", "", "cat  cat", "a"};

static int texts_make(void **state)
{
    struct frame_column *t;
    uint64_t at = 0;

    if (table_make(state))
        return -1;
    t = column(&table, "t", FRAME_TEXT, 0, 1);
    assert_int_equal(frame_reserve(t, ROWS, 100 * ROWS, &err), 0);
    for (size_t i = 0; i < ROWS; i++) {
        t->offsets[i] = at;
        memcpy(t->data + at, texts[i % 4], strlen(texts[i % 4]));
        at += strlen(texts[i % 4]);
    }
    t->offsets[ROWS] = t->n_data = at;
    return 0;
}

static void assert_list(const struct frame_column *c, size_t row, size_t n,
                        const char *const *tokens)
{
    const int32_t *codes = (const int32_t *)(const void *)c->data + c->offsets[row];
    size_t length;

    assert_int_equal(c->offsets[row + 1] - c->offsets[row], n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(dictionary_word(c->words, (size_t)codes[i], &length),
                            tokens[i]);
}

static void tokens_lie_between_single_spaces(void **state)
{
    struct frame f = FRAME_INIT;
    struct job job;

    (void)state;
    assert_int_equal(fit(&job, "{ tokenizer = { columns = [\"t\"]; }; }", 3, 5), 0);
    transformed(&job.chains[0], &f);
    assert_list(frame_find(&f, "t"), 0, 4,
                (const char *const[]){"the", "cat", "the", "dog"});
    assert_list(frame_find(&f, "t"), 1, 1, (const char *const[]){""});
    assert_list(frame_find(&f, "t"), 2, 3, (const char *const[]){"cat", "", "cat"});
    frame_clear(&f);
    job_clear(&job);
}

static void tokens_that_are_new_are_missing_words(void **state)
{
    struct frame f = FRAME_INIT;
    struct transform *t;
    struct job job;

    (void)state;
    assert_int_equal(fit(&job,
                         "{ tokenizer = { columns = [\"t\"]; }; }, "
                         "{ multi_hot_encoder = { columns = [\"t\"]; output_columns = "
                         "[\"hot\"]; }; }",
                         1, 50),
                     0);
    assert_int_equal(job.passes, 2);
    assert_int_equal(transform_create(&job.chains[0], &table, NULL, &t, &err), 0);
    assert_int_equal(rows_take(&f, 3, 1, &err), 0);
    frame_find(&f, "t")->data[0] = 'b';
    if (transform_apply(t, &f, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(((const int32_t *)(const void *)frame_find(&f, "t")->data)[0], -1);
    for (size_t i = 0; i < frame_find(&f, "hot")->row.shape[0]; i++)
        assert_int_equal(frame_find(&f, "hot")->data[i], 0);
    transform_destroy(t);
    frame_clear(&f);
    job_clear(&job);
}

/* Of element `index` in a row of a sparse column. */
static double element(const struct frame_column *c, size_t row, uint32_t index)
{
    const float *counts = (const float *)(const void *)c->data;

    for (uint64_t k = c->offsets[row]; k < c->offsets[row + 1]; k++) {
        assert_true(k == c->offsets[row] || c->indices[k] > c->indices[k - 1]);
        if (c->indices[k] == index)
            return (double)counts[k];
    }
    return 0;
}

/* "cat" is in half of the rows, three times in four; "the" and "" twice; "a" and "dog"
 * once. */
static void tokens_are_counted_by_falling_frequency(void **state)
{
    static const char *const order[] = {"cat", "", "the", "a", "dog"};
    struct frame f = FRAME_INIT;
    const struct frame_column *c;
    const struct fitted_item *item;
    struct job job;
    size_t n;

    (void)state;
    assert_int_equal(fit(&job,
                         "{ count_vectorizer = { columns = [\"t\"]; }; }, "
                         "{ concatenator = { columns = [\"t\"]; }; }",
                         3, 5),
                     0);
    item = fitted_find(&job.chains[0].list[0].fitted, "t", "categories");
    assert_int_equal(item->n, 5);
    assert_string_equal(dictionary_word(item->words, 0, &n), order[0]);
    transformed(&job.chains[0], &f);
    c = frame_find(&f, "concat_out");
    assert_int_equal(c->row.shape[0], 5);
    for (size_t i = 0; i < 5; i++) {
        size_t code = (size_t)dictionary_find(item->words, order[i], strlen(order[i]));

        assert_true(number(c, 0 * 5 + code) == (i == 2 ? 2 : i == 0 || i == 4 ? 1 : 0));
        assert_true(number(c, 2 * 5 + code) == (i == 0 ? 2 : i == 1 ? 1 : 0));
    }
    frame_clear(&f);
    job_clear(&job);
}

static void max_features_keeps_the_most_frequent_tokens(void **state)
{
    struct frame f = FRAME_INIT;
    const struct frame_column *c;
    struct job job;

    (void)state;
    assert_int_equal(
        fit(&job, "{ count_vectorizer = { columns = [\"t\"]; max_features = 1; }; }", 2,
            5),
        0);
    transformed(&job.chains[0], &f);
    c = frame_find(&f, "t");
    assert_int_equal(c->row.shape[0], 1);
    assert_true(element(c, 0, 0) == 1);
    assert_true(element(c, 1, 0) == 0);
    assert_true(element(c, 2, 0) == 2);
    frame_clear(&f);
    job_clear(&job);
}

static void sparse_vectors_are_scaled_by_their_greatest_elements(void **state)
{
    struct frame f = FRAME_INIT;
    const struct frame_column *c;
    struct job job;

    (void)state;
    assert_int_equal(
        fit(&job,
            "{ count_vectorizer = { columns = [\"t\"]; max_features = 1; }; "
            "}, { max_abs_scaler = { columns = [\"t\"]; }; }, "
            "{ max_abs_scaler = { columns = [\"t\"]; output_columns = "
            "[\"s\"]; }; }",
            3, 5),
        0);
    transformed(&job.chains[0], &f);
    for (int i = 0; i < 2; i++) {
        c = frame_find(&f, i ? "s" : "t");
        assert_int_equal(c->kind, FRAME_SPARSE);
        assert_true(element(c, 0, 0) == 0.5);
        assert_true(element(c, 1, 0) == 0);
        assert_true(element(c, 2, 0) == 1);
    }
    frame_clear(&f);
    job_clear(&job);
}

static void hashes_are_the_same_everywhere(void **state)
{
    struct frame f = FRAME_INIT;
    const struct frame_column *c;
    struct job job;

    (void)state;
    assert_int_equal(
        fit(&job,
            "{ hashing_vectorizer = { columns = [\"t\"]; num_features = 1000; }; }", 1,
            50),
        0);
    assert_int_equal(job.passes, 0);
    transformed(&job.chains[0], &f);
    c = frame_find(&f, "t");
    assert_int_equal(c->row.shape[0], 1000);
    /* XXH64 of no bytes is known: 0xef46db3751d8e999. */
    assert_true(element(c, 1, (uint32_t)(UINT64_C(0xef46db3751d8e999) % 1000)) == 1);
    assert_true(element(c, 0, token_hash("the", 3, 1000)) == 2);
    frame_clear(&f);
    job_clear(&job);
}

static void columns_of_equal_hash_are_added(void **state)
{
    struct frame f = FRAME_INIT;
    const struct frame_column *hashed;
    struct job job;

    (void)state;
    assert_int_equal(
        fit(&job,
            "{ feature_hasher = { columns = [\"a\", \"c\"]; num_features = 1; }; }", 1,
            50),
        0);
    transformed(&job.chains[0], &f);
    assert_null(frame_find(&f, "a"));
    hashed = frame_find(&f, "hashed_features");
    for (size_t i = 0; i < ROWS; i++)
        assert_true(close_to(number(hashed, i),
                             c_values[i] + (isnan(a_values[i]) ? 0 : a_values[i]),
                             1e-15));
    frame_clear(&f);
    job_clear(&job);
}

static void numbers_have_no_tokens(void **state)
{
    struct job job;

    (void)state;
    assert_int_equal(fit(&job, "{ count_vectorizer = { columns = [\"a\"]; }; }", 1, 5),
                     -1);
    assert_int_equal(err.code, RAYTRAIN_ETYPE);
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_lie_between_single_spaces),
        cmocka_unit_test(tokens_that_are_new_are_missing_words),
        cmocka_unit_test(tokens_are_counted_by_falling_frequency),
        cmocka_unit_test(max_features_keeps_the_most_frequent_tokens),
        cmocka_unit_test(sparse_vectors_are_scaled_by_their_greatest_elements),
        cmocka_unit_test(hashes_are_the_same_everywhere),
        cmocka_unit_test(columns_of_equal_hash_are_added),
        cmocka_unit_test(numbers_have_no_tokens),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, texts_make, table_free);
}
