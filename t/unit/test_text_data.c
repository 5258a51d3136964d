/*
 * test_text_data.c - datasets in formats of text, converted and read by processes on
 * "nodes": every row once, with its values, however many they are; and when rows that
 * are there already are used again.
 */
#include "config.h"

#include <fcntl.h>
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
#define ROWS_MAX  2000

/* ---- Rows as text ---- */

static void value_print(FILE *out, const struct frame_column *c, uint64_t row)
{
    const void *data = c->data;
    size_t n;

    if (c->kind == FRAME_WORDS) {
        int32_t code = ((const int32_t *)data)[row];

        fprintf(out, "%s",
                code < 0 ? "-" : dictionary_word(c->words, (size_t)code, &n));
    } else if (c->kind == FRAME_TEXT) {
        fwrite(c->data + c->offsets[row], 1, c->offsets[row + 1] - c->offsets[row],
               out);
    } else if (c->kind == FRAME_SPARSE) {
        for (uint64_t k = c->offsets[row]; k < c->offsets[row + 1]; k++)
            fprintf(out, "%u:%g ", c->indices[k], (double)((const float *)data)[k]);
    } else if (c->row.dtype == RAYTRAIN_INT64) {
        fprintf(out, "%lld", (long long)((const int64_t *)data)[row]);
    } else if (c->row.dtype == RAYTRAIN_FLOAT32) {
        fprintf(out, "%g", (double)((const float *)data)[row]);
    } else if (c->row.dtype == RAYTRAIN_UINT8) {
        fprintf(out, "%d", c->data[row]);
    } else {
        fprintf(out, "%g", ((const double *)data)[row]);
    }
}

/* A line for each row of a batch. */
static int batch_print(raytrain_dataset *ds, uint64_t rows, FILE *out)
{
    struct error err;
    raytrain_tensor row;

    for (uint64_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < dataset_n_columns(ds); i++) {
            const struct frame_column *c =
                dataset_frame_column(ds, dataset_column_at(ds, i, &row), &err);

            if (!c)
                return -1;
            fputs(i > 0 ? "|" : "", out);
            value_print(out, c, r);
        }
        fputc('\n', out);
    }
    return 0;
}

/* ---- Runs ---- */

struct run {
    struct dataset_config cfg;
    struct dataset_state from; /* the epoch is read from here */
    uint64_t steps;            /* the most batches; 0: up to its end */
    int ranks, per_node;
};

static int rows_print(raytrain_dataset *ds, const struct run *run, FILE *out,
                      struct error *err)
{
    uint64_t rows, steps = 0;
    int rc = 0;

    if (dataset_state_set(ds, &run->from, err) < 0 ||
        dataset_set_batch_size(ds, 7, err) < 0)
        return -1;
    while (rc == 0 && (run->steps == 0 || steps++ < run->steps)) {
        rc = dataset_next(ds, &rows, err);
        if (rc == 0)
            rc = batch_print(ds, rows, out);
    }
    return rc < 0 ? -1 : 0;
}

/* A rank: what it reads goes to the file "out-RANK", an error to "error". */
static int rank_run(struct comm *all, struct comm *node, void *arg)
{
    const struct run *run = arg;
    struct dataset_env env = {.rank = all->rank,
                              .size = all->size,
                              .node = node,
                              .all = all,
                              .directory = DIRECTORY,
                              .seed = 3};
    raytrain_dataset *ds = NULL;
    struct error err = {0};
    struct dataset_state at;
    char name[32];
    FILE *out;
    int rc;

    snprintf(name, sizeof name, "out-%d", all->rank);
    out = fopen(name, "w");
    if (!out)
        return 1;
    rc = dataset_open(&run->cfg, &env, &ds, &err);
    if (rc == 0)
        rc = dataset_compare(ds, all, &err);
    if (rc == 0)
        rc = rows_print(ds, run, out, &err);
    if (rc == 0 && all->rank == 0) {
        dataset_state_get(ds, &at);
        snprintf(name, sizeof name, "%d", (int)at.position);
        rc = fs_replace("position", name, strlen(name), 0666, &err);
    }
    if (rc < 0 && all->rank == 0)
        fs_replace("error", err.text, strlen(err.text), 0666, NULL);
    dataset_close(ds);
    return fclose(out) != 0 || rc < 0;
}

static char *lines[ROWS_MAX];
static size_t n_lines;

static void lines_forget(void)
{
    while (n_lines > 0)
        free(lines[--n_lines]);
}

/* Add the lines of all ranks. */
static void lines_read(int ranks)
{
    char name[32], *text, *save, *line;

    for (int r = 0; r < ranks; r++) {
        snprintf(name, sizeof name, "out-%d", r);
        assert_int_equal(fs_read(name, &text, NULL, NULL), 0);
        for (line = strtok_r(text, "\n", &save); line;
             line = strtok_r(NULL, "\n", &save))
            lines[n_lines++] = strdup(line);
        free(text);
    }
}

static int line_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void run_good(const struct run *run)
{
    char *text;

    unlink("error");
    if (process_comm_run(run->ranks, run->per_node, rank_run, (void *)run) != 0) {
        text = NULL;
        fs_read("error", &text, NULL, NULL);
        fail_msg("%d ranks: %s", run->ranks, text ? text : "?");
    }
    lines_read(run->ranks);
}

static void run_fails(const struct run *run, const char *message)
{
    char *text;

    assert_int_equal(process_comm_run(run->ranks, run->per_node, rank_run, (void *)run),
                     run->ranks);
    assert_int_equal(fs_read("error", &text, NULL, NULL), 0);
    if (!strstr(text, message))
        fail_msg("\"%s\" is not in: %s", message, text);
    free(text);
}

/* The lines that were read are these, in any order. */
static void lines_are(const char *const expected[], size_t n)
{
    qsort(lines, n_lines, sizeof *lines, line_compare);
    assert_int_equal(n_lines, n);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(lines[i], expected[i]);
    lines_forget();
}

static void file_write(const char *path, const char *text)
{
    assert_int_equal(fs_replace(path, text, strlen(text), 0666, NULL), 0);
}

static struct run run_of(const char *path, int ranks, int per_node)
{
    return (struct run){.cfg = {.name = (char *)"train", .path = (char *)path},
                        .ranks = ranks,
                        .per_node = per_node};
}

/* ---- CSV ---- */

#define FILE_ROWS 150

/* Three files: with a BOM and ends of lines as on Windows, empty, and without an end of
 * the last line; words, missing values, and a quoted end of line in each tenth row. */
static void files_make(void)
{
    FILE *a = fopen("d-0.csv", "w"), *b = fopen("d-2.csv", "w");

    fputs("\xef\xbb\xbfid,x,city,note\r\n", a);
    fputs("id,x,city,note\n", b);
    for (int i = 0; i < FILE_ROWS; i++) {
        fprintf(a, "%d,%d.5,%s,\"n%s%d\"\r\n", i, i, i % 3 ? "Paris" : "Oslo",
                i % 10 ? "," : "\n", i);
        fprintf(b, "%s%d,,%s,m%d", i ? "\n" : "", FILE_ROWS + i, i % 4 ? "Rome" : "",
                i);
    }
    assert_int_equal(fclose(a) | fclose(b), 0);
    file_write("d-1.csv", "");
}

/* The lines of all rows, without the quoted ends of lines. */
static void expected_make(char expected[2 * FILE_ROWS][64])
{
    for (int i = 0; i < FILE_ROWS; i++) {
        snprintf(expected[i], 64, "%d|%d.5|%s|n,%d", i, i, i % 3 ? "Paris" : "Oslo", i);
        snprintf(expected[FILE_ROWS + i], 64, "%d|nan|%s|m%d", FILE_ROWS + i,
                 i % 4 ? "Rome" : "-", i);
    }
}

/* Each row of the files was read once; in order if it was not shuffled. */
static void rows_check(bool ordered)
{
    static char expected[2 * FILE_ROWS][64];
    static int seen[2 * FILE_ROWS];
    size_t split = 0;

    memset(seen, 0, sizeof seen);
    expected_make(expected);
    for (size_t i = 0; i < n_lines; i++) {
        char *end;
        long id = strtol(lines[i], &end, 10);

        if (*end != '|') { /* the second half of a quoted text */
            assert_int_equal(id % 10, 0);
            split++;
            continue;
        }
        assert_in_range(id, 0, 2 * FILE_ROWS - 1);
        seen[id]++;
        if (id < FILE_ROWS && id % 10 == 0)
            assert_memory_equal(lines[i], expected[id], strlen(lines[i]));
        else
            assert_string_equal(lines[i], expected[id]);
        if (ordered)
            assert_int_equal(id, i - split);
    }
    for (int i = 0; i < 2 * FILE_ROWS; i++)
        assert_int_equal(seen[i], 1);
    lines_forget();
}

static struct dataset_type note_is_text[] = {{(char *)"note", (char *)"text"}};

static struct run files_run(int ranks, int per_node)
{
    struct run run = run_of("d-*.csv", ranks, per_node);

    run.cfg.types = note_is_text;
    run.cfg.n_types = 1;
    return run;
}

static void each_row_of_csv_files_comes_once_on_any_number_of_ranks(void **state)
{
    (void)state;
    files_make();
    for (int ranks = 1; ranks <= 5; ranks += ranks < 3 ? 1 : 2) {
        for (int per_node = 1; per_node <= 3; per_node += 2) {
            struct run run = files_run(ranks, per_node);

            assert_int_equal(fs_remove_tree(DIRECTORY, NULL), 0);
            run_good(&run);
            rows_check(ranks == 1);
            run.cfg.shuffle = true;
            run_good(&run);
            rows_check(false);
            assert_int_equal(scratch_count(DIRECTORY),
                             1 + (ranks + per_node - 1) / per_node);
        }
    }
}

static void an_epoch_goes_on_in_its_middle_on_other_ranks(void **state)
{
    struct run run = files_run(2, 2);
    char *position;

    (void)state;
    files_make();
    run.cfg.shuffle = true;
    run.steps = 5;
    run_good(&run);
    assert_int_equal(fs_read("position", &position, NULL, NULL), 0);
    assert_string_equal(position, "70");
    free(position);
    run.from.position = 70;
    run.steps = 0;
    run.ranks = 3;
    run.per_node = 2;
    run_good(&run);
    rows_check(false);
}

/* ---- Using rows again ---- */

static ino_t inode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_ino;
}

/* Run, and see whether the rows were converted. */
static void converts(const struct run *run, bool expected)
{
    ino_t before = access(INDEX, F_OK) == 0 ? inode_of(INDEX) : 0;
    int fd = open(INDEX, O_RDONLY); /* its number is not given to another file */

    run_good(run);
    lines_forget();
    if ((inode_of(INDEX) != before) != expected)
        fail_msg("%s",
                 expected ? "rows were not converted" : "rows were converted again");
    if (fd >= 0)
        close(fd);
}

static void part_find(char path[300])
{
    snprintf(path, 300, DIRECTORY "/part-%d-00000.h5", 1);
    for (int i = 2; access(path, F_OK) != 0 && i < 30; i++)
        snprintf(path, 300, DIRECTORY "/part-%d-00000.h5", i);
}

static void converted_rows_are_used_again_unless_text_or_options_change(void **state)
{
    struct run run = files_run(2, 2);
    struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};

    (void)state;
    files_make();
    converts(&run, true);
    run.ranks = 3;
    converts(&run, false);
    run.cfg.shuffle = true;
    converts(&run, false);
    run.cfg.n_types = 0;
    converts(&run, true);
    converts(&run, false);
    run.cfg.missing = (char *[]){(char *)"?"};
    run.cfg.n_missing = 1;
    converts(&run, true);
    converts(&run, false);
    assert_int_equal(utimensat(AT_FDCWD, "d-1.csv", times, 0), 0);
    converts(&run, true);
    file_write("d-3.csv", "id,x,city,note\n1,2,3,4\n");
    converts(&run, true);
    converts(&run, false);
}

static void damaged_or_missing_parts_are_made_again(void **state)
{
    struct run run = files_run(2, 2);
    const char nothing[400] = {0};
    char path[300];
    FILE *f;

    (void)state;
    files_make();
    converts(&run, true);
    part_find(path);
    assert_int_equal(truncate(path, 3000), 0);
    converts(&run, true);
    part_find(path);
    assert_int_equal(unlink(path), 0);
    converts(&run, true);
    part_find(path);
    f = fopen(path, "r+");
    assert_int_equal(fwrite(nothing, 1, sizeof nothing, f), sizeof nothing);
    assert_int_equal(fclose(f), 0);
    converts(&run, true);
    file_write(INDEX, "{");
    converts(&run, true);
}

static void what_a_killed_conversion_has_left_is_removed(void **state)
{
    struct run run = files_run(1, 1);

    (void)state;
    files_make();
    assert_int_equal(fs_mkdirs(DIRECTORY, 0777, NULL), 0);
    file_write(DIRECTORY "/.part-1-00000.h5", "x");
    file_write(DIRECTORY "/part-1-00007.h5", "x");
    file_write(DIRECTORY "/.rows-abcdef", "x");
    file_write(DIRECTORY "/notes", "x");
    converts(&run, true);
    assert_int_equal(scratch_count(DIRECTORY), 3);
    assert_int_equal(access(DIRECTORY "/notes", F_OK), 0);
}

/* ---- Errors ---- */

static void a_wrong_row_is_named_with_file_and_line(void **state)
{
    struct run run = run_of("bad.csv", 3, 2);

    (void)state;
    file_write("bad.csv", "a,b\n1,2\n3,4\n5,6,7\n8,9\n");
    run_fails(&run, "bad.csv:4");
    file_write("bad.csv", "a,b\n");
    run_fails(&run, "no rows");
    file_write("bad.csv", "a,b\n1,2\n");
    run.cfg.columns = (char *[]){(char *)"z"};
    run.cfg.n_columns = 1;
    run_fails(&run, "no column \"z\"; the columns are: a, b");
    run.cfg.columns = NULL;
    run.cfg.n_columns = 0;
    run.cfg.label = (char *)"y";
    run_fails(&run, "no column \"y\"");
    run.cfg.label = NULL;
    file_write("other.tsv", "a\tb\n1\t2\n");
    run.cfg.path = (char *)"*.?sv";
    run_fails(&run, "different formats");
    assert_int_equal(scratch_count(DIRECTORY), 0);
}

/* ---- Other formats and options ---- */

static void options_say_what_the_text_is(void **state)
{
    static const char *const two[] = {"1|a", "2|b"}, *const one[] = {"7"};
    struct dataset_type types[] = {{(char *)"0", (char *)"float32"}};
    struct run run = run_of("d.dat", 2, 2);

    (void)state;
    file_write("d.dat", "1;a\n2;b\n");
    run.cfg.format = (char *)"csv";
    run.cfg.without_header = true;
    run.cfg.delimiter = ';';
    run.cfg.types = types;
    run.cfg.n_types = 1;
    run_good(&run);
    lines_are(two, 2);
    run = run_of("d.tsv", 2, 2);
    file_write("d.tsv", "a,b\tc\n5\t7\n");
    run.cfg.columns = (char *[]){(char *)"c"};
    run.cfg.n_columns = 1;
    run.cfg.label = (char *)"c";
    run_good(&run);
    lines_are(one, 1);
}

/* Their fields are not parsed, so they may be anything; but records must be whole. */
static void columns_that_are_not_named_are_skipped(void **state)
{
    static const char *const rows[] = {"a|1", "b|2", "c|3"};
    struct dataset_type types[] = {{(char *)"y", (char *)"float32"}};
    struct run run = run_of("s.csv", 2, 2);

    (void)state;
    file_write("s.csv", "w,y,n,v\na,1.5,1,\"x\ny\"\nb,no,2,\nc,,3,\"\"\"\"\n");
    run.cfg.columns = (char *[]){(char *)"w", (char *)"n"};
    run.cfg.n_columns = 2;
    run.cfg.types = types;
    run.cfg.n_types = 1;
    run_good(&run);
    lines_are(rows, 3);
    run.cfg.columns = (char *[]){(char *)"w", (char *)"y"};
    run_fails(&run, "s.csv:4: column \"y\" has the value \"no\"");
    run.cfg.columns = (char *[]){(char *)"w", (char *)"n"};
    file_write("s.csv", "w,y,n,v\na,1.5,1,1\nb,2,3\n");
    run_fails(&run, "s.csv:3: the record has 3 fields");
}

static void lines_and_sparse_vectors_are_rows(void **state)
{
    static const char *const lines_of_text[] = {"a line", "the last", "x"};
    static const char *const vectors[] = {"-1|0:1.5 4:2 ", "0.5|", "1|2:3 "};
    struct run run = run_of("t.txt", 2, 1);

    (void)state;
    file_write("t.txt", "a line\r\nx\nthe last");
    run_good(&run);
    lines_are(lines_of_text, 3);
    assert_int_equal(fs_remove_tree(DIRECTORY, NULL), 0);
    run = run_of("v.libsvm", 3, 2);
    file_write("v.libsvm", "1 3:3\n-1 1:1.5 5:2\n0.5\n");
    run_good(&run);
    lines_are(vectors, 3);
}

static void compressed(const char *command)
{
    struct run run = files_run(3, 2);

    files_make();
    assert_int_equal(unlink("d-1.csv"), 0);
    assert_int_equal(system(command), 0);
    converts(&run, true);
    run.ranks = 2;
    run_good(&run);
    rows_check(false);
    assert_int_equal(scratch_count(DIRECTORY), 3);
}

static void gzip_files_are_decompressed_by_one_rank_each(void **state)
{
    struct run run = run_of("d-0.csv.gz", 2, 1);

    (void)state;
    compressed(
        "gzip d-2.csv && head -c 300 d-0.csv | gzip >a && tail -c +301 d-0.csv | "
        "gzip >>a && mv a d-0.csv.gz && rm d-0.csv && mv d-0.csv.gz d-0.csv "
        "&& mv d-2.csv.gz d-2.csv");
    assert_int_equal(system("head -c 200 d-2.csv >cut.csv.gz && echo z >>d-0.csv && "
                            "{ head -c 200 d-2.csv; head -c 99 /dev/urandom; cat "
                            "d-2.csv; } >bad.gz"),
                     0);
    run.cfg.path = (char *)"cut.csv.gz";
    run_fails(&run, "cut.csv.gz: the compressed data end too early");
    run.cfg.path = (char *)"d-0.csv";
    run_fails(&run, "d-0.csv: other bytes follow the compressed data");
    run.cfg.path = (char *)"bad.gz";
    run.cfg.format = (char *)"csv";
    run_fails(&run, "bad.gz: the compressed data are damaged");
    run.cfg.format = NULL;
    assert_int_equal(system("printf 'a,b\\n1,2,3\\n' | gzip >bad.csv.gz"), 0);
    run.cfg.path = (char *)"bad.csv.gz";
    run_fails(&run, "bad.csv.gz:2");
}

/* As tapes and other devices of blocks leave them, and gzip takes them. */
static void zeros_after_compressed_data_are_not_read(void **state)
{
    struct run run = files_run(3, 2);

    (void)state;
    compressed("gzip d-0.csv d-2.csv && cat d-2.csv.gz >d-2.csv && "
               "{ cat d-0.csv.gz; head -c 1000000 /dev/zero; } >d-0.csv && "
               "gzip -t <d-0.csv && rm d-*.gz");
    assert_int_equal(system("gzip -c d-2.csv >>d-0.csv"), 0);
    run.cfg.path = (char *)"d-0.csv";
    run_fails(&run, "d-0.csv: other bytes follow the compressed data");
}

static void zstd_files_are_decompressed(void **state)
{
#ifdef HAVE_ZSTD
    /* The head of a frame with a window of 2 GiB, and an empty block. */
    static const char long_window[] = "\x28\xb5\x2f\xfd\0\xa8\1\0";
    struct run run = run_of("long.csv", 2, 1);

    (void)state;
    if (system("zstd --version >/dev/null 2>&1") != 0)
        skip();
    compressed("zstd -q --rm d-0.csv d-2.csv && mv d-0.csv.zst d-0.csv && mv "
               "d-2.csv.zst d-2.csv");
    assert_int_equal(
        fs_replace("long.csv", long_window, sizeof long_window, 0666, NULL), 0);
    run.cfg.path = (char *)"long.csv";
    run_fails(&run, "long.csv: decompressing it needs a window of more than 128 MiB");
#else
    (void)state;
    skip();
#endif
}

static void a_process_alone_leaves_no_file(void **state)
{
    struct run run = files_run(1, 1);
    struct dataset_env env = {.rank = 0, .size = 1};
    raytrain_dataset *ds;
    struct error err;
    FILE *out = fopen("out-0", "w");
    char tmp[PATH_MAX];

    (void)state;
    files_make();
    assert_int_equal(mkdir("tmp", 0777), 0);
    assert_non_null(realpath("tmp", tmp));
    assert_int_equal(setenv("TMPDIR", tmp, 1), 0);
    if (dataset_open(&run.cfg, &env, &ds, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(scratch_count(tmp), 0);
    assert_int_equal(rows_print(ds, &run, out, &err), 0);
    dataset_close(ds);
    assert_int_equal(fclose(out), 0);
    lines_read(1);
    rows_check(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(each_row_of_csv_files_comes_once_on_any_number_of_ranks),
        SCRATCH(an_epoch_goes_on_in_its_middle_on_other_ranks),
        SCRATCH(converted_rows_are_used_again_unless_text_or_options_change),
        SCRATCH(damaged_or_missing_parts_are_made_again),
        SCRATCH(what_a_killed_conversion_has_left_is_removed),
        SCRATCH(a_wrong_row_is_named_with_file_and_line),
        SCRATCH(options_say_what_the_text_is),
        SCRATCH(columns_that_are_not_named_are_skipped),
        SCRATCH(lines_and_sparse_vectors_are_rows),
        SCRATCH(gzip_files_are_decompressed_by_one_rank_each),
        SCRATCH(zeros_after_compressed_data_are_not_read),
        SCRATCH(zstd_files_are_decompressed),
        SCRATCH(a_process_alone_leaves_no_file),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
