/* progress.csv: its columns, quoting, and reports that are made again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "callback/progress_csv.h"
#include "scratch.h"
#include "util/fs.h"

static struct error err;

static void add(struct progress_csv *csv, const char *json)
{
    json_t *report = json_loads(json, 0, NULL);

    assert_non_null(report);
    assert_int_equal(progress_csv_add(csv, report, &err), 0);
    json_decref(report);
}

static void expect(struct progress_csv *csv, const char *text)
{
    char *found;

    assert_int_equal(progress_csv_flush(csv, true, &err), 0);
    assert_int_equal(fs_read("progress.csv", &found, NULL, &err), 0);
    assert_string_equal(found, text);
    free(found);
}

static void a_row_is_added(void **state)
{
    struct progress_csv *csv = progress_csv_new(".");

    (void)state;
    add(csv, "{\"loss\": 0.1, \"training_iteration\": 1, \"by_rank\": {}}");
    expect(csv, "training_iteration,loss\n1,0.1\n");
    add(csv, "{\"training_iteration\": 2, \"loss\": null}");
    expect(csv, "training_iteration,loss\n1,0.1\n2,\n");
    progress_csv_free(csv);
}

static void values_are_quoted(void **state)
{
    struct progress_csv *csv = progress_csv_new(".");

    (void)state;
    add(csv, "{\"training_iteration\": 1, \"a\": \"x,\\\"y\\\"\\nz\", \"b\": [1, 2.5, "
             "null], \"c\": true, \"d\": \"\", \"e\": \" s\", \"f\": 1e300, "
             "\"g\": 9007199254740993, \"h\": \"plain\"}");
    expect(csv, "training_iteration,a,b,c,d,e,f,g,h\n"
                "1,\"x,\"\"y\"\"\nz\",\"[1,2.5,null]\",true,\"\",\" s\",1e+300,"
                "9007199254740993,plain\n");
    progress_csv_free(csv);
}

static void a_metric_that_appears_later_is_the_last_column(void **state)
{
    struct progress_csv *csv = progress_csv_new(".");

    (void)state;
    add(csv, "{\"training_iteration\": 1, \"text\": \"a,\\n\\\"b\"}");
    expect(csv, "training_iteration,text\n1,\"a,\n\"\"b\"\n");
    add(csv, "{\"training_iteration\": 2, \"text\": \"c\", \"new\": 1}");
    add(csv, "{\"training_iteration\": 3, \"other\": 2}");
    expect(csv, "training_iteration,text,new,other\n1,\"a,\n\"\"b\",,\n2,c,1,\n"
                "3,,,2\n");
    add(csv, "{\"training_iteration\": 4, \"other\": 3}");
    expect(csv, "training_iteration,text,new,other\n1,\"a,\n\"\"b\",,\n2,c,1,\n"
                "3,,,2\n4,,,3\n");
    progress_csv_free(csv);
}

static void a_report_that_is_made_again_replaces_later_rows(void **state)
{
    struct progress_csv *csv = progress_csv_new(".");
    char report[80];

    (void)state;
    for (int i = 1; i <= 12; i++) {
        snprintf(report, sizeof report, "{\"training_iteration\": %d}", i);
        add(csv, report);
        if (i == 9)
            assert_int_equal(progress_csv_flush(csv, true, &err), 0);
    }
    add(csv, "{\"training_iteration\": 11, \"again\": 1}");
    add(csv, "{\"training_iteration\": 12, \"again\": 1}");
    add(csv, "{\"training_iteration\": 3, \"again\": 2}");
    expect(csv, "training_iteration,again\n1,\n2,\n3,2\n");
    add(csv, "{\"training_iteration\": 1}");
    expect(csv, "training_iteration,again\n1,\n");
    progress_csv_free(csv);
}

static void put(const char *name, const char *text)
{
    assert_int_equal(fs_write_atomic(name, text, strlen(text), 0666, &err), 0);
}

static void the_file_is_made_again_from_the_log(void **state)
{
    struct progress_csv *csv = progress_csv_new(".");

    (void)state;
    put("progress.csv", "something else");
    put("result.json", "{\"training_iteration\": 1, \"attempt\": 0}\n"
                       "{\"training_iteration\": 2, \"attempt\": 0, \"x\": 1}\n"
                       "{\"training_iteration\": 3, \"attempt\": 0}\n"
                       "{\"training_iteration\": 3, \"attempt\": 1}\n");
    assert_int_equal(progress_csv_rebuild(csv, &err), 0);
    expect(csv, "training_iteration,attempt,x\n1,0,\n2,0,1\n3,1,\n");
    add(csv, "{\"training_iteration\": 3, \"attempt\": 1}"); /* is there already */
    add(csv, "{\"training_iteration\": 4, \"attempt\": 1}");
    add(csv, "{\"training_iteration\": 2, \"attempt\": 2}");
    expect(csv, "training_iteration,attempt,x\n1,0,\n2,2,\n");
    assert_int_equal(progress_csv_rebuild(csv, &err), 0);
    expect(csv, "training_iteration,attempt,x\n1,0,\n2,0,1\n3,1,\n");
    progress_csv_free(csv);
}

static void there_are_at_most_so_many_columns(void **state)
{
    struct progress_csv *csv = progress_csv_new(".");
    char report[80], *found;

    (void)state;
    for (int i = 1; i <= PROGRESS_CSV_COLUMNS + 5; i++) {
        snprintf(report, sizeof report, "{\"training_iteration\": %d, \"m%d\": 1}", i,
                 i);
        assert_true(progress_csv_is_full(csv) == (i > PROGRESS_CSV_COLUMNS));
        add(csv, report);
    }
    assert_int_equal(progress_csv_flush(csv, true, &err), 0);
    assert_int_equal(fs_read("progress.csv", &found, NULL, &err), 0);
    assert_null(strstr(found, "m2000"));
    assert_non_null(strstr(found, "m1999"));
    free(found);
    progress_csv_free(csv);
}

static void a_file_that_cannot_be_written_is_an_error(void **state)
{
    struct progress_csv *csv = progress_csv_new("missing");

    (void)state;
    add(csv, "{\"training_iteration\": 1}");
    assert_int_equal(progress_csv_flush(csv, true, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "missing/progress.csv"));
    progress_csv_free(csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_row_is_added),
        SCRATCH(values_are_quoted),
        SCRATCH(a_metric_that_appears_later_is_the_last_column),
        SCRATCH(a_report_that_is_made_again_replaces_later_rows),
        SCRATCH(the_file_is_made_again_from_the_log),
        SCRATCH(there_are_at_most_so_many_columns),
        SCRATCH(a_file_that_cannot_be_written_is_an_error),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
