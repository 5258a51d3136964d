/* Batch mappers in C: the functions below are found by their names. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "preprocess/map_function.h"
#include "preprocess_table.h"

#define MAPPER(name) "{ batch_mapper = { function = \"" name "\"; }; }"
#define DECLARE_MAP(name)                                                              \
    RAYTRAIN_API int name(raytrain_batch *batch);                                      \
    int name(raytrain_batch *batch)

/* ---- The functions ---- */

/* c is an integer: it becomes two numbers of another type. b is doubled in place. */
DECLARE_MAP(map_numbers)
{
    raytrain_tensor b, c;
    uint64_t two = 2, rows = raytrain_batch_rows(batch);
    void *out;
    int rc = raytrain_batch_column(batch, "c", &c);

    if (rc == RAYTRAIN_OK)
        rc = raytrain_batch_column(batch, "b", &b);
    if (rc == RAYTRAIN_OK)
        rc = raytrain_batch_output(batch, "c", RAYTRAIN_FLOAT32, 1, &two, &out);
    if (rc == RAYTRAIN_OK)
        rc = raytrain_batch_remove(batch, "v");
    for (uint64_t i = 0; rc == RAYTRAIN_OK && i < rows; i++) {
        ((float *)out)[2 * i] = (float)((const int32_t *)c.data)[i];
        ((float *)out)[2 * i + 1] = -(float)((const int32_t *)c.data)[i];
        ((double *)b.data)[i] *= 2;
    }
    return rc;
}

/* Words become whether they are long, and a text of three times the word. */
DECLARE_MAP(map_words)
{
    static const char *const lengths[] = {"short", "long"};
    uint64_t rows = raytrain_batch_rows(batch), offsets[ROWS + 1] = {0}, n, bytes;
    char bytes_of[ROWS * 100];
    raytrain_ragged texts = {.rows = rows, .offsets = offsets, .values = bytes_of};
    raytrain_tensor m;
    int32_t *codes;
    int rc = raytrain_batch_column(batch, "m", &m);

    if (rc == RAYTRAIN_OK)
        rc = raytrain_batch_words(batch, "m", &n);
    if (rc == RAYTRAIN_OK)
        rc = raytrain_batch_output_words(batch, "length", lengths, 2, &codes);
    for (uint64_t i = 0; rc == RAYTRAIN_OK && i < rows; i++) {
        int32_t code = ((const int32_t *)m.data)[i];
        const char *word =
            code < 0 ? "" : raytrain_batch_word(batch, "m", code, &bytes);

        codes[i] = code < 0 ? -1 : bytes > 4;
        offsets[i + 1] = offsets[i];
        for (int k = 0; k < 3; k++)
            offsets[i + 1] += (uint64_t)sprintf(bytes_of + offsets[i + 1], "%s", word);
    }
    return rc == RAYTRAIN_OK ? raytrain_batch_put_ragged(batch, "thrice", &texts) : rc;
}

/* The texts that map_words has made: how long they are, and a sparse vector of that. */
DECLARE_MAP(map_texts)
{
    uint64_t rows = raytrain_batch_rows(batch), offsets[ROWS + 1] = {0};
    uint32_t indices[ROWS];
    double ones[ROWS];
    raytrain_ragged texts, vectors = {.rows = rows,
                                      .offsets = offsets,
                                      .values = ones,
                                      .dtype = RAYTRAIN_FLOAT64,
                                      .indices = indices,
                                      .length = 100};
    void *out;
    int rc = raytrain_batch_ragged(batch, "thrice", &texts);

    if (rc == RAYTRAIN_OK)
        rc = raytrain_batch_output(batch, "n", RAYTRAIN_INT64, 0, NULL, &out);
    for (uint64_t i = 0; rc == RAYTRAIN_OK && i < rows; i++) {
        indices[i] = (uint32_t)(texts.offsets[i + 1] - texts.offsets[i]);
        ((int64_t *)out)[i] = indices[i];
        ones[i] = 1;
        offsets[i + 1] = i + 1;
    }
    return rc == RAYTRAIN_OK ? raytrain_batch_put_ragged(batch, "one", &vectors) : rc;
}

DECLARE_MAP(map_fewer_rows)
{
    uint64_t offsets[ROWS] = {0}, rows = raytrain_batch_rows(batch);
    raytrain_ragged texts = {.rows = rows > 0 ? rows - 1 : 0, .offsets = offsets};

    return raytrain_batch_put_ragged(batch, "t", &texts);
}

DECLARE_MAP(map_no_column)
{
    raytrain_tensor x;

    return raytrain_batch_column(batch, "x", &x);
}

DECLARE_MAP(map_status)
{
    return raytrain_batch_rows(batch) > 0 ? 77 : 0;
}

DECLARE_MAP(map_sentence)
{
    return raytrain_batch_rows(batch) > 0
               ? raytrain_batch_fail(batch, RAYTRAIN_ECORRUPT, "an age is negative")
               : 0;
}

/* What it makes depends on the number of rows. */
DECLARE_MAP(map_other_type)
{
    void *out;

    return raytrain_batch_output(
        batch, "new", raytrain_batch_rows(batch) > 0 ? RAYTRAIN_INT8 : RAYTRAIN_INT16,
        0, NULL, &out);
}

DECLARE_MAP(map_sometimes)
{
    void *out;

    return raytrain_batch_rows(batch) > 0
               ? 0
               : raytrain_batch_output(batch, "new", RAYTRAIN_INT8, 0, NULL, &out);
}

DECLARE_MAP(map_surprise)
{
    void *out;

    return raytrain_batch_rows(batch) == 0
               ? 0
               : raytrain_batch_output(batch, "new", RAYTRAIN_INT8, 0, NULL, &out);
}

DECLARE_MAP(map_bad_code)
{
    static const char *const words[] = {"a"};
    int32_t *codes;
    int rc = raytrain_batch_output_words(batch, "w", words, 1, &codes);

    for (uint64_t i = 0; rc == RAYTRAIN_OK && i < raytrain_batch_rows(batch); i++)
        codes[i] = 1;
    return rc;
}

DECLARE_MAP(map_twice)
{
    void *out;

    raytrain_batch_output(batch, "new", RAYTRAIN_INT8, 0, NULL, &out);
    return raytrain_batch_output(batch, "new", RAYTRAIN_INT8, 0, NULL, &out);
}

DECLARE_MAP(map_wrong_calls)
{
    raytrain_tensor x;
    uint64_t n, huge[2] = {UINT64_C(1) << 40, UINT64_C(1) << 40};
    uint64_t deep[RAYTRAIN_MAX_DIMS];
    uint64_t rows = raytrain_batch_rows(batch), fall[ROWS + 1] = {1};
    raytrain_ragged r, bad = {.rows = rows, .offsets = fall, .values = "x"};
    void *out;

    for (int i = 0; i < RAYTRAIN_MAX_DIMS; i++)
        deep[i] = 1;
    if (raytrain_batch_rows(NULL) != 0 ||
        raytrain_batch_column(NULL, "a", &x) != RAYTRAIN_EINVAL ||
        raytrain_batch_column(batch, "a", NULL) != RAYTRAIN_EINVAL ||
        raytrain_batch_column(batch, "l", &x) != RAYTRAIN_ETYPE ||
        raytrain_batch_ragged(batch, "a", &r) != RAYTRAIN_ETYPE ||
        raytrain_batch_words(batch, "a", &n) != RAYTRAIN_ETYPE ||
        raytrain_batch_word(batch, "w", 1000, NULL) ||
        raytrain_batch_remove(batch, "x") != RAYTRAIN_ENOTFOUND ||
        raytrain_batch_output(batch, "", RAYTRAIN_INT8, 0, NULL, &out) !=
            RAYTRAIN_EINVAL ||
        raytrain_batch_output(batch, "x", (raytrain_dtype)99, 0, NULL, &out) !=
            RAYTRAIN_EINVAL ||
        raytrain_batch_output(batch, "x", RAYTRAIN_INT8, 2, huge, &out) !=
            RAYTRAIN_EINVAL ||
        raytrain_batch_output(batch, "x", RAYTRAIN_INT8, RAYTRAIN_MAX_DIMS, deep,
                              &out) != RAYTRAIN_EINVAL ||
        (rows > 0 && raytrain_batch_put_ragged(batch, "x", &bad) != RAYTRAIN_EINVAL) ||
        raytrain_batch_fail(batch, 0, "no") != RAYTRAIN_EFAILED)
        return 1;
    return 0;
}

/* ---- The tests ---- */

static void columns_are_changed_added_and_removed(void **state)
{
    struct frame f = FRAME_INIT;
    struct job job;
    const struct frame_column *c;

    (void)state;
    assert_int_equal(fit(&job, MAPPER("map_numbers"), 1, 50), 0);
    transformed(&job.chains[0], &f); /* compares with the schema */
    assert_null(frame_find(&f, "v"));
    c = frame_find(&f, "c");
    assert_int_equal(c->row.dtype, RAYTRAIN_FLOAT32);
    assert_int_equal(c->row.shape[0], 2);
    for (size_t i = 0; i < ROWS; i++) {
        assert_true(number(c, 2 * i) == c_values[i]);
        assert_true(number(c, 2 * i + 1) == -c_values[i]);
        assert_true(number(frame_find(&f, "b"), i) == 2 * b_values[i]);
    }
    frame_clear(&f);
    job_clear(&job);
}

static void words_and_texts_are_read_and_made(void **state)
{
    struct frame f = FRAME_INIT;
    struct job job;
    struct transform *t;
    const struct frame_column *length, *thrice, *n, *one, *m;
    size_t bytes, longs = 0;

    (void)state;
    if (fit(&job, MAPPER("map_words") ", " MAPPER("map_texts"), 1, 50) < 0)
        fail_msg("%s", err.text);
    transformed(&job.chains[0], &f);
    m = frame_find(&table, "m");
    length = frame_find(&f, "length");
    thrice = frame_find(&f, "thrice");
    n = frame_find(&f, "n");
    one = frame_find(&f, "one");
    assert_int_equal(length->kind, FRAME_WORDS);
    for (size_t i = 0; i < ROWS; i++) {
        int32_t code = ((const int32_t *)(const void *)m->data)[i];
        int32_t is = ((const int32_t *)(const void *)length->data)[i];

        bytes = 0;
        if (code >= 0)
            dictionary_word(m->words, (size_t)code, &bytes);
        assert_int_equal(is, code < 0 ? -1 : bytes > 4);
        longs += is == 1;
        assert_int_equal(thrice->offsets[i + 1] - thrice->offsets[i], 3 * bytes);
        assert_true(number(n, i) == 3.0 * (double)bytes);
        assert_int_equal(one->indices[i], 3 * bytes);
    }
    assert_int_equal(one->row.shape[0], 100);
    assert_in_range(longs, 1, ROWS - 1);
    assert_int_equal(transform_create(&job.chains[0], &table, NULL, &t, &err), 0);
    length = frame_find(transform_schema(t), "length");
    assert_string_equal(dictionary_word(length->words, 1, &bytes), "long");
    transform_destroy(t);
    frame_clear(&f);
    job_clear(&job);
}

/* A scaler that comes after a mapper learns from what that has made. */
static void preprocessors_learn_from_what_a_mapper_makes(void **state)
{
    const char *text =
        MAPPER("map_numbers") ", { standard_scaler = { columns = [\"b\"]; "
                              "}; }";
    struct job job[2];
    double mean = 0;

    (void)state;
    for (size_t i = 0; i < ROWS; i++)
        mean += 2 * b_values[i] / ROWS;
    for (int k = 0; k < 2; k++) {
        const struct fitted_item *item;

        if (fit(&job[k], text, 1 + 2 * k, 50) < 0)
            fail_msg("%s", err.text);
        item = fitted_find(&job[k].chains[0].list[1].fitted, "b", "mean");
        assert_non_null(item);
        assert_true(close_to(item->reals[0], mean, 1e-12));
        job_clear(&job[k]);
    }
}

/* What becomes of a batch; 0 if all is fine. */
static int outcome(const char *text)
{
    struct frame f = FRAME_INIT;
    struct transform *t = NULL;
    struct chain chain;
    int rc;

    memset(&err, 0, sizeof err);
    if (chain_parse(text, &chain, &err) < 0)
        fail_msg("%s", err.text);
    rc = transform_create(&chain, &table, NULL, &t, &err);
    /* Twice: what a failure leaves behind is used again. */
    for (int i = 0; t && i < 2; i++) {
        assert_int_equal(rows_take(&f, 0, ROWS, &err), 0);
        rc = transform_apply(t, &f, &err);
    }
    transform_destroy(t);
    frame_clear(&f);
    chain_clear(&chain);
    return rc;
}

static void what_goes_wrong_is_reported_with_the_function(void **state)
{
    static const struct {
        const char *text;
        raytrain_status code;
        const char *part;
    } cases[] = {
        {MAPPER("map_fewer_rows"), RAYTRAIN_EINVAL,
         "a mapper keeps the number of rows"},
        {MAPPER("map_no_column"), RAYTRAIN_ENOTFOUND, "no column \"x\"; found: a, b"},
        {MAPPER("map_status"), RAYTRAIN_EFAILED, "the function returned 77"},
        {MAPPER("map_sentence"), RAYTRAIN_ECORRUPT, "an age is negative"},
        {MAPPER("map_other_type"), RAYTRAIN_ETYPE, "another type or shape"},
        {MAPPER("map_sometimes"), RAYTRAIN_EINVAL, "\"new\" was not made"},
        {MAPPER("map_surprise"), RAYTRAIN_EINVAL, "\"new\" is made in a batch"},
        {MAPPER("map_bad_code"), RAYTRAIN_EINVAL, "code 1, but has 1 words"},
        {MAPPER("map_twice"), RAYTRAIN_EINVAL, "made or removed twice"},
        {MAPPER("map_nowhere"), RAYTRAIN_ENOTFOUND, "has no function map_nowhere"},
        {"{ batch_mapper = { function = \"f\"; library = \"/nowhere.so\"; }; }",
         RAYTRAIN_EINVAL, "only a checkpoint names it"},
        {"{ batch_mapper = { python = \"maps:f\"; }; }", RAYTRAIN_ENOTSUP,
         "needs a worker in "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(outcome(cases[i].text), -1);
        if (err.code != cases[i].code || !strstr(err.text, cases[i].part) ||
            strncmp(err.text, "batch_mapper \"", 14) != 0)
            fail_msg("%s: %d %s", cases[i].text, (int)err.code, err.text);
    }
}

static int find(const char *library, const char *name)
{
    raytrain_map_func function = NULL;
    int rc = map_function_find(library, name, &function, &err);

    assert_true(rc < 0 || function);
    return rc;
}

/* A chain of a checkpoint may name any file, and any function of libc. */
static void a_library_is_loaded_only_if_that_was_allowed(void **state)
{
    const char *nowhere = "/nowhere.so", *null = "/dev/null";

    (void)state;
    assert_int_equal(find(nowhere, "f"), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_int_equal(map_function_allow(nowhere, "g", MAP_OF_USER, &err), 0);
    assert_int_equal(find(nowhere, "f"), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_int_equal(find(nowhere, "g"), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "cannot load /nowhere.so"));
    assert_int_equal(map_function_allow(nowhere, "f", MAP_OF_CHECKPOINT, &err), 0);
    assert_int_equal(find(nowhere, "f"), -1);
    assert_non_null(strstr(err.text, "no file \"/nowhere.so\""));
    assert_int_equal(map_function_allow(null, "f", MAP_OF_CHECKPOINT, &err), 0);
    assert_int_equal(find(null, "f"), -1);
    assert_non_null(strstr(err.text, "is not a shared object"));
}

static void a_function_beneath_the_program_needs_to_be_allowed(void **state)
{
    (void)state;
    assert_int_equal(find(NULL, "map_numbers"), 0);
    assert_int_equal(find(NULL, "puts"), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_int_equal(map_function_allow(NULL, "puts", MAP_OF_USER, &err), 0);
    assert_int_equal(find(NULL, "puts"), 0);
}

static void wrong_calls_are_refused(void **state)
{
    (void)state;
    if (outcome(MAPPER("map_wrong_calls")) < 0)
        fail_msg("%s", err.text);
}

static void a_configuration_without_one_function_is_refused(void **state)
{
    static const char *const cases[] = {
        "{ batch_mapper = { }; }",
        "{ batch_mapper = { function = \"f\"; python = \"m:f\"; }; }",
        "{ batch_mapper = { function = \"f\"; batch_size = 5; }; }",
        "{ batch_mapper = { python = \"f\"; }; }",
        "{ batch_mapper = { python = \"m:f\"; library = \"f.so\"; }; }",
        "{ batch_mapper = { python = \"m:f\"; batch_format = \"rows\"; }; }",
    };
    struct chain chain;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(chain_parse(cases[i], &chain, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_EINVAL);
        chain_clear(&chain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_changed_added_and_removed),
        cmocka_unit_test(words_and_texts_are_read_and_made),
        cmocka_unit_test(preprocessors_learn_from_what_a_mapper_makes),
        cmocka_unit_test(what_goes_wrong_is_reported_with_the_function),
        cmocka_unit_test(a_library_is_loaded_only_if_that_was_allowed),
        cmocka_unit_test(a_function_beneath_the_program_needs_to_be_allowed),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(a_configuration_without_one_function_is_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, table_make, table_free);
}
