/* test_predict.c - a prediction: how its rows are cut into parts, their files, and the
 * formats of the output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predict/assembly.h"
#include "predict/predict_plan.h"
#include "predict/predict_record.h"
#include "predict/predicted.h"
#include "predict/output_part.h"
#include "util/fs.h"

#include "scratch.h"
#include "thread_comm.h"

static struct error err;

/* ---- Parts of rows ---- */

static void parts_are_whole_batches_and_cover_all_rows(void **state)
{
    static const struct {
        uint64_t rows, batch, row_bytes;
        int workers;
    } cases[] = {{1, 1024, 8, 4},         {1003, 10, 8, 2},        {1 << 20, 64, 40, 3},
                 {100000000, 1000, 8, 7}, {5000, 100, 1 << 20, 2}, {1000, 1, 0, 1000}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct predict_plan plan;
        uint64_t next = 0;

        predict_plan_make(&plan, cases[i].rows, cases[i].batch, cases[i].row_bytes,
                          cases[i].workers);
        assert_int_equal(plan.part_rows % plan.batch, 0);
        assert_true(plan.part_rows == plan.batch ||
                    plan.part_rows * cases[i].row_bytes <= PREDICT_PART_BYTES);
        for (uint64_t k = 0; k < plan.n; k++) {
            assert_int_equal(predict_plan_first(&plan, k), next);
            assert_true(predict_plan_count(&plan, k) > 0);
            next += predict_plan_count(&plan, k);
        }
        assert_int_equal(next, cases[i].rows);
    }
}

static void ranks_take_all_missing_parts_in_equal_rounds(void **state)
{
    (void)state;
    for (uint64_t missing = 0; missing < 20; missing++)
        for (int size = 1; size < 8; size++) {
            uint64_t rounds = predict_rounds(missing, size);

            assert_int_equal(predict_cut(missing, 0, size), 0);
            assert_int_equal(predict_cut(missing, size, size), missing);
            for (int r = 0; r < size; r++) {
                uint64_t mine =
                    predict_cut(missing, r + 1, size) - predict_cut(missing, r, size);

                assert_true(mine == rounds || mine + 1 == rounds);
            }
        }
}

static void reports_get_rarer_but_not_rarer_than_the_interval(void **state)
{
    /* Rounds without duration: 1, 2, 4, 8, and the last one. */
    const uint64_t quick[] = {2, 4, 8, 10};
    uint64_t round = 1;

    (void)state;
    for (size_t i = 0; i < sizeof quick / sizeof quick[0]; i++) {
        round = predict_report_at(round, 10, 0);
        assert_int_equal(round, quick[i]);
    }
    /* 16 rounds have taken 4 intervals: 4 rounds take one. */
    assert_int_equal(predict_report_at(16, 100, 4 * PREDICT_REPORT_S), 20);
    assert_int_equal(predict_report_at(16, 17, 4 * PREDICT_REPORT_S), 17);
    /* Each round takes longer than the interval. */
    assert_int_equal(predict_report_at(1, 100, 3 * PREDICT_REPORT_S), 2);
    assert_int_equal(predict_report_at(7, 100, 10 * PREDICT_REPORT_S), 8);
}

/* ---- Files of parts ---- */

static void part_put(uint64_t index)
{
    unsigned char text[] = "some bytes";
    struct predicted_stream streams[] = {{text, 4, 4}, {text, 10, 10}};

    assert_int_equal(output_part_write(".", index, 7, streams, 2, &err), 0);
}

static void a_part_that_is_written_is_found(void **state)
{
    uint64_t bytes[2];

    (void)state;
    assert_int_equal(output_part_look(".", 3, 7, 2, bytes, &err), 0);
    part_put(3);
    assert_int_equal(output_part_look(".", 3, 7, 2, bytes, &err), 1);
    assert_int_equal(bytes[0], 4);
    assert_int_equal(bytes[1], 10);
    assert_int_equal(scratch_count("."), 1);
}

static void a_part_of_other_rows_or_streams_is_not_believed(void **state)
{
    uint64_t bytes[3];

    (void)state;
    part_put(3);
    assert_int_equal(output_part_look(".", 3, 8, 2, bytes, &err), 0);
    assert_int_equal(output_part_look(".", 3, 7, 3, bytes, &err), 0);
    assert_int_equal(rename("shard-000003", "shard-000004"), 0);
    assert_int_equal(output_part_look(".", 4, 7, 2, bytes, &err), 0);
}

static void a_part_of_any_other_length_or_bytes_is_not_believed(void **state)
{
    uint64_t bytes[2];
    size_t n;
    char *whole;

    (void)state;
    part_put(0);
    assert_int_equal(fs_read("shard-000000", &whole, &n, &err), 0);
    for (size_t k = 0; k < n; k++) {
        assert_int_equal(truncate("shard-000000", (off_t)k), 0);
        assert_int_equal(output_part_look(".", 0, 7, 2, bytes, &err), 0);
        assert_int_equal(fs_write_atomic("shard-000000", whole, n, 0666, &err), 0);
    }
    for (size_t k = 0; k < n; k++) {
        whole[k] ^= 1;
        assert_int_equal(fs_write_atomic("shard-000000", whole, n, 0666, &err), 0);
        assert_int_equal(output_part_look(".", 0, 7, 2, bytes, &err), 0);
        whole[k] ^= 1;
    }
    assert_int_equal(fs_write_atomic("shard-000000", whole, n, 0666, &err), 0);
    assert_int_equal(output_part_look(".", 0, 7, 2, bytes, &err), 1);
    free(whole);
}

/* ---- Columns ---- */

static void columns_without_a_usable_name_or_shape_are_refused(void **state)
{
    const raytrain_tensor number = {.dtype = RAYTRAIN_FLOAT32};
    const raytrain_tensor empty = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1};
    const raytrain_tensor deep = {.dtype = RAYTRAIN_FLOAT32, .ndim = RAYTRAIN_MAX_DIMS};
    const raytrain_tensor strange = {.dtype = (raytrain_dtype)99};
    struct predicted p;

    (void)state;
    predicted_init(&p, PREDICT_CSV);
    assert_int_equal(predicted_add(&p, "", &number, false, &err), -1);
    assert_int_equal(predicted_add(&p, "a/b", &number, false, &err), -1);
    assert_int_equal(predicted_add(&p, "..", &number, false, &err), -1);
    assert_int_equal(predicted_add(&p, "x", &empty, false, &err), -1);
    assert_int_equal(predicted_add(&p, "x", &deep, false, &err), -1);
    assert_int_equal(predicted_add(&p, "x", &strange, false, &err), -1);
    assert_int_equal(predicted_add(&p, "x", &number, true, &err), 0);
    assert_int_equal(predicted_add(&p, "x", &number, false, &err), -1);
    assert_non_null(strstr(err.text, "--columns"));
    predicted_clear(&p);
}

/* ---- Whole files ---- */

#define ROWS         23
#define LONGEST      6 /* of the strings, in bytes */
#define STRING_BYTES 64

static const char *const strings[ROWS] = {"a,b",    "\"",          "",
                                          "two\nl", "gr\xc3\xbcn", " x "};

/* Columns of the formats that have several: a vector, an integer with a name to quote, a
 * real number, strings. */
struct sample {
    float vector[ROWS][2];
    int64_t integer[ROWS];
    double real[ROWS];
    char strings[STRING_BYTES];
    uint64_t offsets[ROWS + 1];
};

static void sample_fill(struct sample *s)
{
    s->offsets[0] = 0;
    for (int i = 0; i < ROWS; i++) {
        s->vector[i][0] = (float)i / 3;
        s->vector[i][1] = (float)-i;
        s->integer[i] = INT64_MIN + i;
        s->real[i] = i == 3 ? (double)NAN : 1.0 / (i + 1);
        s->offsets[i + 1] = s->offsets[i];
        if (strings[i]) {
            strcpy(s->strings + s->offsets[i], strings[i]);
            s->offsets[i + 1] += strlen(strings[i]);
        }
    }
}

static void columns_add(struct predicted *p, enum predict_format format)
{
    const raytrain_tensor vector = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {2}};
    const raytrain_tensor integer = {.dtype = RAYTRAIN_INT64};
    const raytrain_tensor real = {.dtype = RAYTRAIN_FLOAT64};

    predicted_init(p, format);
    assert_int_equal(predicted_add(p, "v", &vector, false, &err), 0);
    if (format == PREDICT_NPY)
        return;
    assert_int_equal(predicted_add(p, "i,1", &integer, true, &err), 0);
    assert_int_equal(predicted_add(p, "r", &real, false, &err), 0);
    assert_int_equal(predicted_add_strings(p, "s", LONGEST, &err), 0);
}

/* Publish the parts of the sample; their lengths are malloc'ed. */
static uint64_t *parts_publish(const struct predicted *p,
                               const struct predict_plan *plan)
{
    size_t n = predicted_streams(p);
    uint64_t *bytes = calloc(plan->n * n, sizeof *bytes);
    struct sample s;

    assert_non_null(bytes);
    sample_fill(&s);
    for (uint64_t i = 0; i < plan->n; i++) {
        uint64_t at = predict_plan_first(plan, i), rows = predict_plan_count(plan, i);
        const struct predicted_rows data[] = {
            {.data = (unsigned char *)(s.vector + at)},
            {.data = (unsigned char *)(s.integer + at)},
            {.data = (unsigned char *)(s.real + at)},
            {.data = (unsigned char *)s.strings, .offsets = s.offsets + at},
        };
        struct predicted_stream streams[4] = {{NULL, 0, 0}};

        assert_int_equal(p->format->append(p, streams, data, rows, &err), 0);
        assert_int_equal(output_part_write(".", i, rows, streams, n, &err), 0);
        for (size_t k = 0; k < n; k++) {
            bytes[i * n + k] = streams[k].n;
            free(streams[k].data);
        }
    }
    return bytes;
}

static int assemble(struct comm *comm, void *arg)
{
    struct assembly a = *(struct assembly *)arg;
    struct error why;

    a.comm = comm;
    return assembly_make(&a, &why);
}

/* HDF5 is not for several threads. */
static char *file_of(enum predict_format format, int ranks, size_t *n)
{
    struct predict_plan plan;
    struct predicted p;
    struct assembly a = {
        .parts = ".", .output = "./out", .plan = &plan, .predicted = &p};
    uint64_t *bytes;
    char *data;
    int rc[THREAD_COMM_MAX];

    predict_plan_set(&plan, ROWS, 2, 4);
    columns_add(&p, format);
    assert_int_equal(p.format->check(&p, &err), 0);
    bytes = parts_publish(&p, &plan);
    a.bytes = bytes;
    thread_comm_run(ranks, assemble, &a, rc);
    for (int r = 0; r < ranks; r++)
        assert_int_equal(rc[r], 0);
    assert_int_equal(fs_read("out", &data, n, &err), 0);
    free(bytes);
    predicted_clear(&p);
    return data;
}

static void a_csv_file_has_names_and_rows(void **state)
{
    static const char begin[] = "v_0,v_1,\"i,1\",r,s\n"
                                "0,0,-9223372036854775808,1,\"a,b\"\n"
                                "0.33333334,-1,-9223372036854775807,0.5,\"\"\"\"\n";
    size_t n, lines = 0;
    char *text = file_of(PREDICT_CSV, 3, &n);

    (void)state;
    assert_memory_equal(text, begin, sizeof begin - 1);
    assert_non_null(strstr(text, "\n1,-3,-9223372036854775805,nan,\"two\nl\"\n"));
    assert_non_null(strstr(text, ",gr\xc3\xbcn\n"));
    assert_non_null(strstr(text, ",\" x \"\n"));
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    assert_int_equal(lines, ROWS + 1 + 1);
    free(text);
}

static void a_npy_file_is_a_head_and_the_rows(void **state)
{
    struct sample s;
    size_t n;
    char *data = file_of(PREDICT_NPY, 2, &n);

    (void)state;
    sample_fill(&s);
    assert_int_equal(n, 128 + sizeof s.vector);
    assert_memory_equal(data, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4'", 25);
    assert_non_null(strstr(data + 10, "(23, 2,)"));
    assert_int_equal(data[127], '\n');
    assert_memory_equal(data + 128, s.vector, sizeof s.vector);
    free(data);
}

static void an_hdf5_file_has_the_same_bytes_at_any_time(void **state)
{
    size_t n, again;
    char *data = file_of(PREDICT_HDF5, 1, &n), *other;

    (void)state;
    assert_memory_equal(data, "\x89HDF\r\n\x1a\n", 8);

    other = file_of(PREDICT_HDF5, 1, &again);
    assert_int_equal(n, again);
    assert_memory_equal(data, other, n);
    free(data);
    free(other);
}

static void an_hdf5_file_has_strings_as_long_as_the_longest(void **state)
{
    char room[ROWS * (LONGEST + 1)] = "", *data, *at = room;
    size_t n;

    (void)state;
    for (int i = 0; i < ROWS; i++, at += LONGEST + 1)
        if (strings[i])
            memcpy(at, strings[i], strlen(strings[i]));
    data = file_of(PREDICT_HDF5, 1, &n);
    assert_non_null(memmem(data, n, room, sizeof room));
    free(data);
}

/* Rows of one column of strings. */
static int strings_append(struct predicted *p, const char *text, uint64_t n)
{
    const uint64_t offsets[] = {0, n};
    const struct predicted_rows rows = {.data = (const unsigned char *)text,
                                        .offsets = offsets};
    struct predicted_stream stream = {.n = 0};
    int rc = p->format->append(p, &stream, &rows, 1, &err);

    free(stream.data);
    return rc;
}

static void strings_that_an_hdf5_file_cannot_have_are_refused(void **state)
{
    struct predicted p;

    (void)state;
    predicted_init(&p, PREDICT_HDF5);
    assert_int_equal(predicted_add_strings(&p, "s", 3, &err), 0);
    assert_int_equal(p.format->check(&p, &err), 0);
    assert_int_equal(strings_append(&p, "abc", 3), 0);
    assert_int_equal(strings_append(&p, "abcd", 4), -1);
    assert_int_equal(strings_append(&p, "a\0c", 3), -1);
    assert_non_null(strstr(err.text, "write .csv"));
    assert_int_equal(predicted_add_strings(&p, "long", 65536, &err), 0);
    assert_int_equal(p.format->check(&p, &err), -1);
    assert_non_null(strstr(err.text, "write .csv"));
    predicted_clear(&p);
}

static void bfloat16_is_refused_for_numpy(void **state)
{
    const raytrain_tensor row = {.dtype = RAYTRAIN_BFLOAT16};
    struct predicted p;

    (void)state;
    predicted_init(&p, PREDICT_NPY);
    assert_int_equal(predicted_add(&p, "x", &row, false, &err), 0);
    assert_int_equal(p.format->check(&p, &err), -1);
    assert_non_null(strstr(err.text, "bfloat16"));
    predicted_clear(&p);
}

/* ---- The record ---- */

static json_t *record_of(uint64_t batch, const char *checkpoint)
{
    struct predict_plan plan;
    struct predicted p;
    const struct predict_facts facts = {.output = "/o.csv",
                                        .input = "/i",
                                        .checkpoint = checkpoint,
                                        .predicted = &p,
                                        .plan = &plan};
    json_t *record;

    predict_plan_set(&plan, ROWS, batch, 4 * batch);
    columns_add(&p, PREDICT_CSV);
    record = predict_record_make(&facts);
    assert_non_null(record);
    predicted_clear(&p);
    return record;
}

static void a_record_is_kept_and_compared(void **state)
{
    json_t *first = record_of(2, "/c"), *other = record_of(3, "/c"),
           *another = record_of(2, NULL), *kept;

    (void)state;
    assert_int_equal(predict_record_load(".", &kept, &err), 0);
    assert_null(kept);
    assert_int_equal(predict_record_save(".", first, &err), 0);
    assert_int_equal(predict_record_load(".", &kept, &err), 0);
    assert_int_equal(predict_record_compare(kept, first, &err), 0);
    assert_int_equal(predict_record_part_rows(kept), 8);
    assert_int_equal(predict_record_compare(kept, other, &err), -1);
    assert_non_null(strstr(err.text, "batch 2"));
    assert_int_equal(predict_record_compare(kept, another, &err), -1);
    assert_non_null(strstr(err.text, "checkpoint \"/c\""));
    json_decref(first);
    json_decref(other);
    json_decref(another);
    json_decref(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_whole_batches_and_cover_all_rows),
        cmocka_unit_test(ranks_take_all_missing_parts_in_equal_rounds),
        cmocka_unit_test(reports_get_rarer_but_not_rarer_than_the_interval),
        SCRATCH(a_part_that_is_written_is_found),
        SCRATCH(a_part_of_other_rows_or_streams_is_not_believed),
        SCRATCH(a_part_of_any_other_length_or_bytes_is_not_believed),
        cmocka_unit_test(columns_without_a_usable_name_or_shape_are_refused),
        SCRATCH(a_csv_file_has_names_and_rows),
        SCRATCH(a_npy_file_is_a_head_and_the_rows),
        SCRATCH(an_hdf5_file_has_the_same_bytes_at_any_time),
        SCRATCH(an_hdf5_file_has_strings_as_long_as_the_longest),
        cmocka_unit_test(strings_that_an_hdf5_file_cannot_have_are_refused),
        cmocka_unit_test(bfloat16_is_refused_for_numpy),
        SCRATCH(a_record_is_kept_and_compared),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
