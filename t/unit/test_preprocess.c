/* Preprocessors of numbers on a small table, against the results of scikit-learn, which
 * are in t/preprocess/expected.h with the script that made them; chains and files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "preprocess/chain_file.h"
#include "preprocess_table.h"
#include "scratch.h"

/* ---- scikit-learn ---- */

#define EXPECTED(name) name, sizeof(name) / sizeof *(name)

static const struct {
    const char *text, *column;
    const double *expected;
    size_t n;
    double tolerance;
} cases[] = {
    {"{ standard_scaler = { columns = [\"a\"]; }; }", "a", EXPECTED(standard_a), 1e-13},
    {"{ standard_scaler = { columns = [\"v\"]; }; }", "v", EXPECTED(standard_v), 1e-11},
    {"{ standard_scaler = { columns = [\"f\"]; }; }", "f", EXPECTED(standard_a), 1e-5},
    {"{ min_max_scaler = { columns = [\"a\"]; }; }", "a", EXPECTED(min_max_a), 1e-14},
    {"{ max_abs_scaler = { columns = [\"v\"]; }; }", "v", EXPECTED(max_abs_v), 1e-14},
    {"{ robust_scaler = { columns = [\"a\"]; }; }", "a", EXPECTED(robust_a), 1e-14},
    {"{ robust_scaler = { columns = [\"v\"]; quantile_range = [0.1, 0.97]; }; }", "v",
     EXPECTED(robust_v), 1e-13},
    {"{ normalizer = { columns = [\"v\"]; norm = \"l1\"; }; }", "v",
     EXPECTED(normalizer_l1_v), 1e-14},
    {"{ normalizer = { columns = [\"v\"]; }; }", "v", EXPECTED(normalizer_l2_v), 1e-14},
    {"{ normalizer = { columns = [\"v\"]; norm = \"max\"; }; }", "v",
     EXPECTED(normalizer_max_v), 1e-14},
    {"{ power_transformer = { columns = [\"a\"]; power = 0.25; }; }", "a",
     EXPECTED(yeo_johnson_given), 1e-13},
    {"{ power_transformer = { columns = [\"b\"]; power = 0.25; method = \"box-cox\"; "
     "}; }",
     "b", EXPECTED(box_cox_given), 1e-13},
    {"{ simple_imputer = { columns = [\"a\"]; }; }", "a", EXPECTED(imputer_mean_a),
     1e-14},
    {"{ simple_imputer = { columns = [\"a\"]; strategy = \"most_frequent\"; }; }", "a",
     EXPECTED(imputer_frequent_a), 0},
    {"{ uniform_kbins_discretizer = { columns = [\"a\"]; bins = 7; }; }", "a",
     EXPECTED(uniform_bins_a), 0},
    {"{ custom_kbins_discretizer = { columns = [\"a\"]; bins = (0, 1.5, 2, 2, 5); "
     "duplicates = \"drop\"; }; }",
     "a", EXPECTED(custom_bins_a), 0},
    {"{ ordinal_encoder = { columns = [\"w\"]; }; }", "w", EXPECTED(ordinal_w), 0},
    {"{ label_encoder = { label_column = \"w\"; dtype = \"int64\"; }; }", "w",
     EXPECTED(ordinal_w), 0},
    {"{ label_encoder = { label_column = \"w\"; output_column = \"n\"; }; }", "n",
     EXPECTED(ordinal_w), 0},
    {"{ ordinal_encoder = { columns = [\"c\"]; }; }", "c", EXPECTED(ordinal_c), 0},
    {"{ one_hot_encoder = { columns = [\"w\"]; }; }", "w", EXPECTED(one_hot_w), 0},
};
#define N_CASES (sizeof cases / sizeof *cases)

static void results_are_those_of_scikit_learn(void **state)
{
    struct frame f = FRAME_INIT;
    struct job job;

    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        if (fit(&job, cases[i].text, 1, 7) < 0)
            fail_msg("%s: %s", cases[i].text, err.text);
        transformed(&job.chains[0], &f);
        assert_column(&f, cases[i].column, cases[i].expected, cases[i].n,
                      cases[i].tolerance);
        job_clear(&job);
    }
    frame_clear(&f);
}

static double power_of(const struct chain *chain, const char *name)
{
    const struct fitted_item *item = fitted_find(&chain->list[0].fitted, name, "power");

    assert_non_null(item);
    return item->reals[0];
}

/* scikit-learn searches for the maximum itself, which it finds to half of the digits. */
static void the_power_is_that_of_scikit_learn(void **state)
{
    struct job job;

    (void)state;
    assert_int_equal(fit(&job, "{ power_transformer = { columns = [\"a\"]; }; }", 1, 7),
                     0);
    assert_true(close_to(power_of(&job.chains[0], "a"), yeo_johnson_power[0], 1e-7));
    assert_true(job.passes <= 5);
    job_clear(&job);
    assert_int_equal(
        fit(&job,
            "{ power_transformer = { columns = [\"b\"]; method = \"box-cox\"; }; }", 1,
            7),
        0);
    assert_true(close_to(power_of(&job.chains[0], "b"), box_cox_power[0], 1e-7));
    job_clear(&job);
}

/* ---- Any number of workers ---- */

#define ALL                                                                            \
    "{ standard_scaler = { columns = [\"a\", \"v\"]; "                                 \
    "output_columns = [\"as\", \"vs\"]; }; }, "                                        \
    "{ min_max_scaler = { columns = [\"v\"]; output_columns = [\"vm\"]; }; }, "        \
    "{ max_abs_scaler = { columns = [\"f\"]; output_columns = [\"fm\"]; }; }, "        \
    "{ power_transformer = { columns = [\"a\"]; output_columns = [\"ap\"]; }; }, "     \
    "{ robust_scaler = { columns = [\"v\", \"b\"]; output_columns = [\"vr\", "         \
    "\"br\"]; }; }, "                                                                  \
    "{ simple_imputer = { columns = [\"a\"]; output_columns = [\"ai\"]; }; }, "        \
    "{ one_hot_encoder = { columns = [\"w\"]; max_categories = 3; "                    \
    "output_columns = [\"wh\"]; }; }, "                                                \
    "{ ordinal_encoder = { columns = [\"c\"]; output_columns = [\"co\"]; }; } "

static void assert_same_items(const struct fitted *x, const struct fitted *y,
                              double tolerance)
{
    assert_int_equal(x->n, y->n);
    for (size_t i = 0; i < x->n; i++) {
        const struct fitted_item *p = &x->items[i];
        const struct fitted_item *q = fitted_find(y, p->column, p->name);

        assert_non_null(q);
        assert_int_equal(p->n, q->n);
        for (size_t k = 0; k < p->n; k++) {
            size_t n, m;

            if (p->type == FITTED_REALS && tolerance > 0)
                assert_true(close_to(p->reals[k], q->reals[k], tolerance));
            else if (p->type == FITTED_REALS)
                assert_memory_equal(&p->reals[k], &q->reals[k], sizeof(double));
            else if (p->type == FITTED_INTEGERS)
                assert_true(p->integers[k] == q->integers[k]);
            else
                assert_string_equal(dictionary_word(p->words, k, &n),
                                    dictionary_word(q->words, k, &m));
        }
    }
}

static void every_number_of_workers_learns_the_same(void **state)
{
    struct job one, many;

    (void)state;
    if (fit(&one, ALL, 1, ROWS) < 0)
        fail_msg("%s", err.text);
    for (int ranks = 2; ranks <= 5; ranks++) {
        if (fit(&many, ALL, ranks, 4) < 0)
            fail_msg("%s", err.text);
        for (size_t i = 0; i < one.chains[0].n; i++) {
            const struct fitted *first = &many.chains[0].list[i].fitted;

            assert_same_items(&one.chains[0].list[i].fitted, first, 1e-12);
            for (int r = 1; r < ranks; r++)
                assert_same_items(first, &many.chains[r].list[i].fitted, 0);
        }
        job_clear(&many);
    }
    job_clear(&one);
}

/* ---- Files ---- */

static void a_chain_that_is_read_again_makes_the_same_bits(void **state)
{
    struct frame before = FRAME_INIT, after = FRAME_INIT;
    struct chain loaded;
    struct job job;
    hid_t file;

    (void)state;
    if (fit(&job,
            ALL
            ", { simple_imputer = { columns = [\"m\"]; strategy = \"constant\"; "
            "fill_value = \"a/b\"; output_columns = [\"m/%\"]; }; }, "
            "{ categorizer = { columns = [\"m/%\"]; }; }, "
            "{ uniform_kbins_discretizer = { columns = [\"b\"]; bins = { b = 3; }; }; "
            "}, { label_encoder = { label_column = \"w\"; }; }",
            3, 9) < 0)
        fail_msg("%s", err.text);
    file = H5Fcreate("chain.h5", H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);
    if (chain_save(&job.chains[0], file, "preprocessor", &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(
        h5_is_dataset(file, "/preprocessor/0/standard_scaler/a/mean", H5P_DEFAULT), 1);
    assert_int_equal(h5_is_dataset(file,
                                   "/preprocessor/9/categorizer/m%2F%25/categories",
                                   H5P_DEFAULT),
                     1);
    if (chain_load(&loaded, file, "preprocessor", &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(H5Fclose(file), 0);
    for (size_t i = 0; i < loaded.n; i++)
        assert_same_items(&job.chains[0].list[i].fitted, &loaded.list[i].fitted, 0);
    transformed(&job.chains[0], &before);
    transformed(&loaded, &after);
    for (size_t i = 0; i < before.n_columns; i++) {
        const struct frame_column *c = &before.columns[i];
        bool lists = c->kind == FRAME_WORD_LISTS;

        assert_memory_equal(c->data, after.columns[i].data,
                            lists ? 4 * c->n_data : ROWS * frame_row_bytes(c));
    }
    frame_clear(&before);
    frame_clear(&after);
    chain_clear(&loaded);
    job_clear(&job);
}

static void a_file_without_preprocessors_is_an_error(void **state)
{
    struct chain chain;
    hid_t file = H5Fcreate("empty.h5", H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT);

    (void)state;
    assert_int_equal(chain_load(&chain, file, "preprocessor", &err), -1);
    chain_clear(&chain);
    assert_int_equal(H5Fclose(file), 0);
}

/* ---- Chains ---- */

static void independent_preprocessors_learn_in_one_pass(void **state)
{
    struct job job;

    (void)state;
    assert_int_equal(
        fit(&job,
            "{ standard_scaler = { columns = [\"a\"]; }; }, "
            "{ chain = ( { min_max_scaler = { columns = [\"b\"]; }; } ); }, "
            "{ one_hot_encoder = { columns = [\"w\"]; }; }",
            2, 5),
        0);
    assert_int_equal(job.passes, 1);
    job_clear(&job);
    assert_int_equal(fit(&job,
                         "{ simple_imputer = { columns = [\"m\"]; strategy = "
                         "\"most_frequent\"; }; }, "
                         "{ one_hot_encoder = { columns = [\"m\"]; }; }, "
                         "{ min_max_scaler = { columns = [\"a\"]; }; }, "
                         "{ concatenator = { columns = [\"m\", \"a\"]; }; }, "
                         "{ standard_scaler = { columns = [\"concat_out\"]; }; }",
                         2, 5),
                     0);
    assert_int_equal(job.passes, 3);
    job_clear(&job);
}

static void each_step_sees_what_those_before_it_have_made(void **state)
{
    struct frame f = FRAME_INIT;
    struct job job;

    (void)state;
    assert_int_equal(fit(&job,
                         "{ simple_imputer = { columns = [\"a\"]; strategy = "
                         "\"constant\"; fill_value = 100; }; }, "
                         "{ max_abs_scaler = { columns = [\"a\"]; }; }",
                         2, 5),
                     0);
    transformed(&job.chains[0], &f);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(close_to(number(frame_find(&f, "a"), i),
                             isnan(a_values[i]) ? 1 : a_values[i] / 100, 1e-15));
    frame_clear(&f);
    job_clear(&job);
}

/* Each of them finds its configuration and what it has learned, and is freed once. */
static void chains_are_appended_with_what_they_have_learned(void **state)
{
    struct frame first = FRAME_INIT, then = FRAME_INIT, both = FRAME_INIT;
    struct chain empty = {.n = 0};
    struct job a, b;

    (void)state;
    assert_int_equal(fit(&a, "{ standard_scaler = { columns = [\"a\"]; }; }", 1, 7), 0);
    assert_int_equal(fit(&b,
                         "{ ordinal_encoder = { columns = [\"w\"]; }; }, "
                         "{ min_max_scaler = { columns = [\"v\"]; }; }",
                         1, 7),
                     0);
    transformed(&a.chains[0], &first);
    transformed(&b.chains[0], &then);
    assert_int_equal(chain_append(&empty, &a.chains[0], &err), 0);
    assert_int_equal(a.chains[0].n, 0);
    assert_int_equal(chain_append(&empty, &b.chains[0], &err), 0);
    assert_int_equal(chain_append(&empty, &a.chains[0], &err), 0);
    assert_int_equal(empty.n, 3);
    for (size_t i = 0; i < empty.n; i++)
        assert_ptr_equal(empty.list[i].config, &empty.config.list[i]);
    transformed(&empty, &both);
    assert_memory_equal(frame_find(&both, "a")->data, frame_find(&first, "a")->data,
                        ROWS * sizeof(double));
    assert_memory_equal(frame_find(&both, "w")->data, frame_find(&then, "w")->data,
                        ROWS * sizeof(double));
    assert_memory_equal(frame_find(&both, "v")->data, frame_find(&then, "v")->data,
                        ROWS * WIDTH * sizeof(double));
    frame_clear(&first);
    frame_clear(&then);
    frame_clear(&both);
    chain_clear(&empty);
    job_clear(&a);
    job_clear(&b);
}

/* The columns of the result are those that were announced (transformed()). */
static void norms_may_take_the_place_of_words(void **state)
{
    struct frame f = FRAME_INIT;
    struct job job;

    (void)state;
    assert_int_equal(fit(&job,
                         "{ normalizer = { columns = [\"v\"]; output_columns = "
                         "[\"w\"]; }; }",
                         1, 7),
                     0);
    transformed(&job.chains[0], &f);
    assert_null(frame_find(&f, "w")->words);
    frame_clear(&f);
    job_clear(&job);
}

static void columns_are_joined_in_the_order_given(void **state)
{
    struct frame f = FRAME_INIT;
    const struct frame_column *joined;
    struct job job;

    (void)state;
    assert_int_equal(
        fit(&job,
            "{ concatenator = { columns = [\"c\", \"v\", \"none\", \"f\"]; "
            "output_column_name = \"x\"; dtype = \"float32\"; }; }",
            1, 50),
        0);
    transformed(&job.chains[0], &f);
    assert_null(frame_find(&f, "c"));
    assert_null(frame_find(&f, "v"));
    joined = frame_find(&f, "x");
    assert_int_equal(joined->row.dtype, RAYTRAIN_FLOAT32);
    assert_int_equal(joined->row.shape[0], 5);
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(close_to(number(joined, 5 * i), c_values[i], 0));
        for (size_t k = 0; k < WIDTH; k++)
            assert_true(
                close_to(number(joined, 5 * i + 1 + k), v_values[WIDTH * i + k], 1e-6));
        assert_true(close_to(number(joined, 5 * i + 4), a_values[i], 1e-6));
    }
    frame_clear(&f);
    job_clear(&job);
}

static void without_names_all_numbers_are_joined_but_those_excluded(void **state)
{
    struct frame f = FRAME_INIT;
    const struct frame_column *joined;
    struct job job;

    (void)state;
    assert_int_equal(fit(&job,
                         "{ one_hot_encoder = { columns = [\"w\"]; }; }, "
                         "{ concatenator = { exclude = [\"b\", \"v\"]; }; }",
                         2, 50),
                     0);
    transformed(&job.chains[0], &f);
    joined = frame_find(&f, "concat_out"); /* a, c, f and w */
    assert_int_equal(joined->row.dtype, RAYTRAIN_FLOAT64);
    assert_int_equal(joined->row.shape[0], 3 + N_WORDS);
    assert_non_null(frame_find(&f, "b"));
    assert_non_null(frame_find(&f, "m"));
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(close_to(number(joined, i * (3 + N_WORDS) + 1), c_values[i], 0));
        for (size_t k = 0; k < N_WORDS; k++)
            assert_true(number(joined, i * (3 + N_WORDS) + 3 + k) ==
                        one_hot_w[i * N_WORDS + k]);
    }
    frame_clear(&f);
    job_clear(&job);
}

/* ---- Types ---- */

static void float32_stays_and_integers_become_float64(void **state)
{
    struct frame f = FRAME_INIT;
    struct job job;

    (void)state;
    assert_int_equal(
        fit(&job, "{ standard_scaler = { columns = [\"f\", \"c\"]; }; }", 1, 50), 0);
    transformed(&job.chains[0], &f);
    assert_int_equal(frame_find(&f, "f")->row.dtype, RAYTRAIN_FLOAT32);
    assert_int_equal(frame_find(&f, "c")->row.dtype, RAYTRAIN_FLOAT64);
    frame_clear(&f);
    job_clear(&job);
}

static void a_constant_column_becomes_zeros(void **state)
{
    static const char *const kinds[] = {"standard_scaler", "min_max_scaler",
                                        "robust_scaler"};
    struct frame f = FRAME_INIT;
    char text[200];
    struct job job;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof text,
                 "{ simple_imputer = { columns = [\"z\"]; strategy = \"constant\"; "
                 "fill_value = 0.1; }; }, { %s = { columns = [\"z\"]; }; }",
                 kinds[i]);
        column(&table, "z", FRAME_NUMBERS, RAYTRAIN_FLOAT64, 1);
        for (size_t k = 0; k < ROWS; k++)
            ((double *)(void *)frame_find(&table, "z")->data)[k] = NAN;
        assert_int_equal(fit(&job, text, 3, 5), 0);
        transformed(&job.chains[0], &f);
        for (size_t k = 0; k < ROWS; k++)
            assert_true(number(frame_find(&f, "z"), k) == 0);
        frame_remove(&table, table.n_columns - 1);
        job_clear(&job);
    }
    frame_clear(&f);
}

/* ---- What is refused ---- */

static void a_column_that_does_not_suit_is_refused_before_any_row(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"{ standard_scaler = { columns = [\"x\"]; }; }",
         "no column \"x\"; found: a, b"},
        {"{ standard_scaler = { columns = [\"w\"]; }; }", "one_hot_encoder"},
        {"{ ordinal_encoder = { columns = [\"v\"]; }; }", "neither of words"},
        {"{ simple_imputer = { columns = [\"w\"]; }; }", "numbers"},
    };
    struct job job;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(fit(&job, bad[i].text, 2, 5), -1);
        if (!strstr(err.text, bad[i].message))
            fail_msg("%s", err.text);
        job_clear(&job);
    }
}

static void box_cox_refuses_values_that_are_not_positive(void **state)
{
    struct job job;

    (void)state;
    assert_int_equal(
        fit(&job,
            "{ power_transformer = { columns = [\"c\"]; method = \"box-cox\"; }; }", 2,
            5),
        -1);
    assert_non_null(strstr(err.text, "yeo-johnson"));
    job_clear(&job);
}

static void mistakes_in_the_configuration_are_named(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"{ standard_scaler = { }; }", "columns"},
        {"{ standart_scaler = { columns = [\"a\"]; }; }",
         "did you mean \"standard_scaler"},
        {"{ standard_scaler = { column = [\"a\"]; }; }", "did you mean \"columns\""},
        {"{ standard_scaler = { columns = [\"a\", \"a\"]; }; }", "twice"},
        {"{ standard_scaler = { columns = [\"a\"]; output_columns = [\"b\", \"c\"]; }; "
         "}",
         "2 names and columns 1"},
        {"{ robust_scaler = { columns = [\"a\"]; quantile_range = [0.9, 0.1]; }; }",
         "ascending"},
        {"{ normalizer = { columns = [\"a\"]; norm = \"l3\"; }; }", "l1, l2, max"},
        {"{ simple_imputer = { columns = [\"a\"]; strategy = \"constant\"; }; }",
         "fill_value"},
        {"{ uniform_kbins_discretizer = { columns = [\"a\"]; }; }", "bins"},
        {"{ uniform_kbins_discretizer = { columns = [\"a\"]; bins = 1.5; }; }", "bins"},
        {"{ custom_kbins_discretizer = { columns = [\"a\"]; bins = [1, 1, 2]; }; }",
         "duplicates"},
        {"{ custom_kbins_discretizer = { columns = [\"a\"]; bins = { b = [1, 2]; }; }; "
         "}",
         "a"},
        {"{ one_hot_encoder = { columns = [\"a\"]; max_categories = { b = 1; }; }; }",
         "\"b\""},
        {"{ label_encoder = { label_column = 3; }; }", "a string"},
        {"{ label_encoder = { label_column = \"w\"; output_column = 3; }; }",
         "a string"},
        {"{ hashing_vectorizer = { columns = [\"a\"]; }; }", "num_features"},
        {"{ a = 1; b = 2; }", "a group with one preprocessor"},
    };
    struct chain chain;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (chain_parse(bad[i].text, &chain, &err) == 0)
            fail_msg("%s is accepted", bad[i].text);
        if (!strstr(err.text, bad[i].message))
            fail_msg("%s", err.text);
        chain_clear(&chain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_scikit_learn),
        cmocka_unit_test(the_power_is_that_of_scikit_learn),
        cmocka_unit_test(every_number_of_workers_learns_the_same),
        SCRATCH(a_chain_that_is_read_again_makes_the_same_bits),
        SCRATCH(a_file_without_preprocessors_is_an_error),
        cmocka_unit_test(independent_preprocessors_learn_in_one_pass),
        cmocka_unit_test(each_step_sees_what_those_before_it_have_made),
        cmocka_unit_test(chains_are_appended_with_what_they_have_learned),
        cmocka_unit_test(norms_may_take_the_place_of_words),
        cmocka_unit_test(columns_are_joined_in_the_order_given),
        cmocka_unit_test(without_names_all_numbers_are_joined_but_those_excluded),
        cmocka_unit_test(float32_stays_and_integers_become_float64),
        cmocka_unit_test(a_constant_column_becomes_zeros),
        cmocka_unit_test(a_column_that_does_not_suit_is_refused_before_any_row),
        cmocka_unit_test(box_cox_refuses_values_that_are_not_positive),
        cmocka_unit_test(mistakes_in_the_configuration_are_named),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, table_make, table_free);
}
