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
#include <sys/resource.h>
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
    const char *invocation;
    const char *path;
    int ranks, per_node;
    bool goes_on;
    rlim_t descriptors; /* at most; 0: no limit */
    int at, by;         /* calls of the watch of rank `by` from number `at` on */
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

static void warning_keep(void *arg, const char *text)
{
    (void)arg;
    fs_replace("warning", text, strlen(text), 0666, NULL);
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
                              .watch = &watch,
                              .warn = warning_keep,
                              .goes_on = count.run->goes_on,
                              .invocation = count.run->invocation};
    struct rlimit few = {count.run->descriptors, count.run->descriptors};
    raytrain_dataset *ds = NULL;
    struct error err = {0};
    int rc = few.rlim_max > 0 ? setrlimit(RLIMIT_NOFILE, &few) : 0;

    if (rc == 0)
        rc = dataset_open(&cfg, &env, &ds, &err);
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
    unlink("warning");
    return process_comm_run(run->ranks, run->per_node, rank_run, (void *)run);
}

static void file_has(const char *path, const char *words)
{
    char *text = NULL;

    assert_int_equal(fs_read(path, &text, NULL, NULL), 0);
    if (!strstr(text, words))
        fail_msg("\"%s\" is not in: %s", words, text);
    free(text);
}

static void error_has(const char *words)
{
    file_has("error", words);
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

static int stop_at_once(struct error *err)
{
    return error_set(err, RAYTRAIN_ESTOPPED, "stopped on request");
}

/* Wherever it is asked for, nothing is left, and the next run converts all rows. */
static void stops_everywhere(const char *path, unsigned long long rows, int calls_min)
{
    struct run run = {.path = path, .ranks = 2, .act = stop_at_once};
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

/* ---- Damage ---- */

/* Change bit 0 of a byte of a file. */
static void byte_flip(const char *path, long at)
{
    FILE *f = fopen(path, "r+");
    int byte;

    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    byte = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 1, f), byte ^ 1);
    assert_int_equal(fclose(f), 0);
}

/* The first file of a form that has a number from `from` on; the number. */
static int numbered_find(char path[300], const char *form, int from)
{
    for (int i = from; i < from + 100; i++) {
        snprintf(path, 300, form, i);
        if (access(path, F_OK) == 0)
            return i;
    }
    fail_msg("there is no %s", form);
    return -1;
}

/* The places of what index.json has checksums of: at most n. */
static size_t pieces_read(unsigned long long offsets[], unsigned long long bytes[],
                          size_t n)
{
    char *text = NULL, *at;
    size_t found = 0;

    assert_int_equal(fs_read(INDEX, &text, NULL, NULL), 0);
    for (at = strstr(text, "\"sums\""); at && found < n; at = strstr(at + 1, "\n"))
        if (sscanf(at, " \"%llu+%llu %*16[0-9a-f]\"", &offsets[found], &bytes[found]) ==
            2)
            found++;
    free(text);
    return found;
}

/* A changed byte at either end of each piece is noticed, by whichever rank verifies it,
 * and the rows are converted again. */
static void damage_is_repaired(const char *path, unsigned long long rows)
{
    struct run run = {.path = path, .ranks = 3, .per_node = 3};
    unsigned long long offsets[200], bytes[200];
    int number = 0;
    char part[300];
    size_t n;

    run_finds(&run, rows);
    n = pieces_read(offsets, bytes, 200);
    assert_in_range(n, 6, 199);
    for (size_t i = 0; i < n; i += 3) {
        number = numbered_find(part, DIRECTORY "/part-%d-00000.h5", number);
        byte_flip(part, (long)offsets[i]);
        byte_flip(part, (long)(offsets[i] + bytes[i] - 1));
        run.ranks = 1 + (int)i % 3;
        run_finds(&run, rows);
        file_has("warning", part);
        file_has("warning", "converted again");
        run.ranks = 3;
        assert_int_equal(scratch_count(DIRECTORY), 2);
        run_finds(&run, rows);
        assert_int_equal(access("warning", F_OK), -1);
        n = pieces_read(offsets, bytes, 200);
    }
    assert_int_equal(fs_remove_tree(DIRECTORY, NULL), 0);
}

static void a_changed_byte_of_a_part_is_noticed_and_repaired(void **state)
{
    (void)state;
    rows_write("a.csv", "id,x\n", "%d,word%d\n", 0, 3000);
    damage_is_repaired("a.csv", 3000);
    rows_write("a.svm", "", "%d 1:1 7:%d\n", 0, 3000);
    damage_is_repaired("a.svm", 3000);
    rows_write("a.txt", "", "%d %040d\n", 0, 3000);
    damage_is_repaired("a.txt", 3000);
}

/* The attempts of one start of raytrain-run verify the rows once, those of the next again. */
static void rows_are_verified_once_in_an_invocation(void **state)
{
    struct run run = {.path = "a.csv", .ranks = 2, .per_node = 2};
    unsigned long long offset, bytes;
    char part[300];

    (void)state;
    rows_write("a.csv", "id,x\n", "%d,%d\n", 0, 300);
    run_finds(&run, 300);
    run.invocation = "first";
    run_finds(&run, 300);
    assert_int_equal(pieces_read(&offset, &bytes, 1), 1);
    numbered_find(part, DIRECTORY "/part-%d-00000.h5", 0);
    byte_flip(part, (long)(offset + bytes - 1));
    (void)run_now(&run);
    assert_int_equal(access("warning", F_OK), -1);
    run.invocation = "second";
    run_finds(&run, 300);
    file_has("warning", "converted again");
    assert_int_equal(fs_remove_tree(DIRECTORY, NULL), 0);
}

static void rows_without_checksums_are_converted_again(void **state)
{
    struct run run = {.path = "a.csv", .ranks = 2, .per_node = 2};

    (void)state;
    rows_write("a.csv", "id,x\n", "%d,%d\n", 0, 300);
    run_finds(&run, 300);
    assert_int_equal(system("sed -i 's/+/-/' " INDEX), 0);
    run_finds(&run, 300);
    file_has("warning", "no checksums");
}

/* ---- Files that change ---- */

static const char *change_command;

static int change(struct error *err)
{
    (void)err;
    return system(change_command);
}

/* At whichever block the file changes: an error that names it, and nothing is left. */
static void change_is_refused(const char *path, const char *command, const char *words)
{
    struct run run = {.path = path, .ranks = 2, .per_node = 2, .act = change};
    int refused = 0, failed;

    change_command = command;
    for (run.by = 0; run.by < 2; run.by++)
        for (run.at = 0; run.at < 12; run.at++) {
            assert_int_equal(system("cp -p kept d-1.csv"), 0);
            failed = run_now(&run);
            if (failed == 0) { /* it has made fewer calls */
                assert_int_equal(fs_remove_tree(DIRECTORY, NULL), 0);
                continue;
            }
            refused++;
            assert_int_equal(failed, 2);
            error_has("d-1.csv");
            error_has(words);
            error_has("start again");
            assert_int_equal(scratch_count(DIRECTORY), 0);
        }
    assert_in_range(refused, 6, 24);
}

static void a_file_that_changes_while_it_is_converted_is_named(void **state)
{
    (void)state;
    rows_write("d-0.csv", "id,x\n", "%d,%040d\n", 0, 5000);
    rows_write("d-1.csv", "id,x\n", "%d,%040d\n", 5000, 15000);
    assert_int_equal(system("mv d-1.csv kept && touch -d '1 hour ago' kept"), 0);
    change_is_refused("d-*.csv", "echo 1,2 >>d-1.csv", "d-1.csv");
    change_is_refused("d-*.csv", "truncate -s 300000 d-1.csv", "d-1.csv");
    change_is_refused("d-*.csv", "touch d-1.csv", "written to");
    change_is_refused("d-*.csv", "sed s/7/8/ kept >n && mv n d-1.csv", "d-1.csv");
    change_is_refused("d-*.csv", "rm -f d-1.csv", "d-1.csv");
}

static void changed_text_is_refused_in_the_middle_of_an_epoch(void **state)
{
    struct run run = {.path = "d-*.csv", .ranks = 2, .per_node = 1};

    (void)state;
    rows_write("d-0.csv", "id,x\n", "%d,%d\n", 0, 500);
    rows_write("d-1.csv", "id,x\n", "%d,%d\n", 500, 500);
    run_finds(&run, 1000);
    run.goes_on = true;
    run.ranks = 3;
    run_finds(&run, 1000);
    assert_int_equal(system("touch d-1.csv && mv d-0.csv d-00.csv"), 0);
    run_finds(&run, 1000); /* the same rows */
    assert_int_equal(system("sed -i '$s/,9/,8/' d-1.csv"), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run_now(&run), 3);
        error_has("d-1.csv was written to");
        error_has("remove " DIRECTORY);
    }
    rows_write("d-1.csv", "id,x\n", "%d,%d\n", 500, 501);
    assert_int_equal(run_now(&run), 3);
    error_has("d-1.csv has ");
    assert_int_equal(unlink("d-1.csv"), 0);
    assert_int_equal(run_now(&run), 3);
    error_has("d-1.csv is gone");
    rows_write("d-1.csv", "id,x\n", "%d,%d\n", 500, 500);
    run_finds(&run, 1000);
    assert_int_equal(scratch_count(DIRECTORY), 4);
    rows_write("d-2.csv", "id,x\n", "%d,%d\n", 1000, 10);
    assert_int_equal(run_now(&run), 3);
    error_has("d-2.csv is new");
    run.goes_on = false;
    run_finds(&run, 1010);
}

/* ---- Many files ---- */

static void a_thousand_files_with_empty_ones_need_few_descriptors(void **state)
{
    struct run run = {.path = "many/*.csv", .descriptors = 64};
    char name[64];

    (void)state;
    assert_int_equal(mkdir("many", 0777), 0);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "many/d-%04d.csv", i);
        if (i == 0 || i == 499 || i == 999)
            rows_write(name, "", "%d,%d\n", 0, 0);
        else
            rows_write(name, "id,x\n", "%d,%d\n", (i - 1 - (i > 499)) * 3, 3);
    }
    for (run.ranks = 1; run.ranks <= 3; run.ranks++) {
        run.per_node = run.ranks == 3 ? 2 : run.ranks;
        run_finds(&run, 997ull * 3);
        assert_int_equal(fs_remove_tree(DIRECTORY, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_stop_ends_the_conversion_of_csv_at_any_block),
        SCRATCH(a_stop_ends_the_conversion_of_lines_and_libsvm),
        SCRATCH(a_stop_ends_decompressing),
        SCRATCH(a_changed_byte_of_a_part_is_noticed_and_repaired),
        SCRATCH(rows_are_verified_once_in_an_invocation),
        SCRATCH(rows_without_checksums_are_converted_again),
        SCRATCH(a_file_that_changes_while_it_is_converted_is_named),
        SCRATCH(changed_text_is_refused_in_the_middle_of_an_epoch),
        SCRATCH(a_thousand_files_with_empty_ones_need_few_descriptors),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
