/*
 * test_conversion.c - what can go wrong while text is converted, or with its rows
 * afterwards: requests to stop, files that change, damage, many files.
 */
#include "config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/dataset.h"
#include "util/fs.h"

#include "process_comm.h"
#include "scratch.h"

#define DIRECTORY "run/data/train"
#define INDEX     DIRECTORY "/index.json"

/* ---- Runs ---- */

struct run {
    const char *path;
    int ranks, per_node;
    int at, by; /* calls of the watch of rank `by` from number `at` on */
    int (*act)(struct error *err); /* do this; NULL: nothing */
};

struct count {
    const struct run *run;
    int rank, calls;
};

static int count_proceed(void *arg, struct error *err)
{
    struct count *c = arg;
    const struct run *run = c->run;

    if (run->act && c->rank == run->by && c->calls++ >= run->at)
        return run->act(err);
    return 0;
}

/* The sum of column 0 over all rows, and their number, to the file "sum-RANK". */
static int rows_sum(raytrain_dataset *ds, int rank, struct error *err)
{
    unsigned long long sum = 0, n = 0;
    const struct frame_column *c;
    raytrain_tensor row;
    char name[32], text[64];
    uint64_t rows;
    int rc = dataset_set_batch_size(ds, 10, err);

    while (rc == 0 && (rc = dataset_next(ds, &rows, err)) == 0) {
        c = dataset_frame_column(ds, dataset_column_at(ds, 0, &row), err);
        n += rows;
        for (uint64_t i = 0; i < rows; i++) {
            if (c->kind == FRAME_TEXT)
                sum += strtoull((const char *)c->data + c->offsets[i], NULL, 10);
            else if (c->row.dtype == RAYTRAIN_INT64)
                sum += (unsigned long long)((const int64_t *)(void *)c->data)[i];
            else
                sum += (unsigned long long)((const float *)(void *)c->data)[i];
        }
    }
    snprintf(name, sizeof name, "sum-%d", rank);
    snprintf(text, sizeof text, "%llu %llu\n", n, sum);
    return rc < 0 ? -1 : fs_replace(name, text, strlen(text), 0666, err);
}

/* Exits with the code of the error; rank 0 leaves its text in "error". */
static int rank_run(struct comm *all, struct comm *node, void *arg)
{
    struct count count = {.run = arg, .rank = all->rank};
    struct text_watch watch = {count_proceed, &count};
    struct dataset_config cfg = {.name = (char *)"train",
                                 .path = (char *)count.run->path};
    struct dataset_env env = {.rank = all->rank,
                              .size = all->size,
                              .node = node,
                              .all = all,
                              .directory = DIRECTORY,
                              .watch = &watch};
    raytrain_dataset *ds = NULL;
    struct error err = {0};
    int rc = dataset_open(&cfg, &env, &ds, &err);

    if (rc == 0)
        rc = rows_sum(ds, all->rank, &err);
    dataset_close(ds);
    if (rc < 0 && all->rank == 0)
        fs_replace("error", err.text, strlen(err.text), 0666, NULL);
    return rc < 0;
}

static int run_now(const struct run *run)
{
    unlink("error");
    return process_comm_run(run->ranks, run->per_node, rank_run, (void *)run);
}

static void error_has(const char *words)
{
    char *text = NULL;

    assert_int_equal(fs_read("error", &text, NULL, NULL), 0);
    if (!strstr(text, words))
        fail_msg("\"%s\" is not in: %s", words, text);
    free(text);
}

/* It finds the rows 0..n-1. */
static void run_finds(const struct run *run, unsigned long long n)
{
    unsigned long long rows = 0, sum = 0;
    char *text = NULL;

    if (run_now(run) != 0) {
        fs_read("error", &text, NULL, NULL);
        fail_msg("%s", text ? text : "?");
    }
    for (int r = 0; r < run->ranks; r++) {
        unsigned long long own_rows, own_sum;
        char name[32];

        snprintf(name, sizeof name, "sum-%d", r);
        assert_int_equal(fs_read(name, &text, NULL, NULL), 0);
        assert_int_equal(sscanf(text, "%llu %llu", &own_rows, &own_sum), 2);
        free(text);
        rows += own_rows;
        sum += own_sum;
    }
    assert_int_equal(rows, n);
    assert_int_equal(sum, n * (n - 1) / 2);
}

/* ---- Files ---- */

/* Rows first..first+n: a number, and what fills a block of text now and then. */
static void rows_write(const char *path, const char *head, const char *form, int first,
                       int n)
{
    FILE *f = fopen(path, "w");

    fputs(head, f);
    for (int i = first; i < first + n; i++)
        fprintf(f, form, i, i);
    assert_int_equal(fclose(f), 0);
}

/* ---- Requests to stop ---- */

static int stop(struct error *err)
{
    return error_set(err, RAYTRAIN_ESTOPPED, "stopped on request");
}

/* Wherever it is asked for, nothing is left, and the next run converts all rows. */
static void stops_everywhere(const char *path, unsigned long long rows, int calls_min)
{
    struct run run = {.path = path, .ranks = 2, .act = stop};
    int calls[2] = {0};

    for (run.by = 0; run.by < 2; run.by++) {
        run.per_node = 2 - run.by;
        for (run.at = 0; run_now(&run) != 0; run.at++) {
            error_has("stopped on request");
            assert_int_equal(scratch_count(DIRECTORY), 0);
            calls[run.by]++;
        }
        run_finds(&(struct run){.path = path, .ranks = 3, .per_node = 2}, rows);
        assert_int_equal(fs_remove_tree(DIRECTORY, NULL), 0);
    }
    assert_in_range(calls[0], calls_min, 1000);
    assert_in_range(calls[1], 2, 1000);
}

static void a_stop_ends_the_conversion_of_csv_at_any_block(void **state)
{
    (void)state;
    rows_write("a.csv", "id,x\n", "%d,%060d\n", 0, 9000);
    rows_write("b.csv", "id,x\n", "%d,word%d\n", 9000, 1000);
    stops_everywhere("?.csv", 10000, 8);
}

static void a_stop_ends_the_conversion_of_lines_and_libsvm(void **state)
{
    (void)state;
    rows_write("a.txt", "", "%d %040d\n", 0, 12000);
    stops_everywhere("a.txt", 12000, 4);
    rows_write("a.svm", "", "%d 1:%d\n", 0, 12000);
    stops_everywhere("a.svm", 12000, 4);
}

static void a_stop_ends_decompressing(void **state)
{
    (void)state;
    rows_write("a.csv", "id,x\n", "%d,%d\n", 0, 40000);
    assert_int_equal(system("gzip -1 a.csv"), 0);
    stops_everywhere("a.csv.gz", 40000, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_stop_ends_the_conversion_of_csv_at_any_block),
        SCRATCH(a_stop_ends_the_conversion_of_lines_and_libsvm),
        SCRATCH(a_stop_ends_decompressing),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
