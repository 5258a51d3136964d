/* test_data_many.c - many files as one dataset. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "data/dataset.h"
#include "table/reader.h"
#include "util/fs.h"

#include "idx_file.h"

#define FILES 1000

static struct bytes B;

/* Rows first, first + 1, ... as int32. */
static void rows_write(const char *path, uint32_t first, uint32_t rows, bool gzip)
{
    idx_header(&B, 0x0c, 1, &rows);
    for (uint32_t i = 0; i < rows; i++)
        bytes_u32(&B, first + i);
    if (gzip)
        bytes_gzip(&B);
    bytes_write(&B, path);
}

static int descriptors_below(int end)
{
    int n = 0;

    for (int fd = 0; fd < end; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* The rows are 0, 1, 2, ... in this order; returns how many. */
static uint64_t rows_check(const char *path, bool shuffle)
{
    struct dataset_config cfg = {
        .name = (char *)"d", .path = (char *)path, .shuffle = shuffle};
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds;
    raytrain_tensor x;
    struct error err;
    uint64_t rows, n = 0, sum = 0, all;

    if (dataset_open(&cfg, &env, &ds, &err) < 0)
        fail_msg("%s", err.text);
    all = dataset_rows(ds);
    assert_int_equal(dataset_set_batch_size(ds, 100, &err), 0);
    while (dataset_next(ds, &rows, &err) == 0) {
        assert_int_equal(dataset_column(ds, "x", &x, &err), 0);
        for (uint64_t i = 0; i < rows; i++, n++) {
            sum += (uint64_t)((int32_t *)x.data)[i];
            assert_true(shuffle || ((int32_t *)x.data)[i] == (int32_t)n);
        }
    }
    assert_int_equal(n, all);
    assert_int_equal(sum, all * (all - 1) / 2);
    dataset_close(ds);
    return n;
}

static void check_refused(const char *path, raytrain_status code, const char *texts[])
{
    struct dataset_config cfg = {.name = (char *)"d", .path = (char *)path};
    struct table t;
    struct error err = {0};

    assert_int_equal(
        reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err), -1);
    assert_int_equal(err.code, code);
    for (; *texts; texts++)
        if (!strstr(err.text, *texts))
            fail_msg("expected \"%s\", got \"%s\"", *texts, err.text);
    assert_null(t.columns);
    assert_null(t.sources);
}

#define TEXTS(...) ((const char *[]){__VA_ARGS__, NULL})

/* Files of different lengths; every 400th, and so the first, is empty. All are open at
 * a time; few of them have numbers that other code may need. */
static void a_thousand_files_are_one_dataset(void **state)
{
    struct rlimit limit;
    uint32_t next = 0;
    char path[64];

    (void)state;
    assert_int_equal(mkdir("many", 0700), 0);
    for (uint32_t i = 0; i < FILES; i++) {
        uint32_t rows = i % 400 == 0 ? 0 : i % 7 + 1;

        snprintf(path, sizeof path, "many/%04u-images-idx1-ubyte%s", i,
                 i % 5 ? "" : ".gz");
        rows_write(path, next, rows, i % 5 == 0);
        next += rows;
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < 2 * FD_SETSIZE)
        skip();
    limit.rlim_cur = 512;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(rows_check("many", false), next);
    assert_int_equal(rows_check("many/*", true), next);
    assert_int_equal(files_open(), 0);
}

static void descriptors_leave_low_numbers_free(void **state)
{
    struct dataset_config cfg = {.name = (char *)"d", .path = (char *)"many"};
    struct table t;
    struct error err;

    (void)state;
    assert_int_equal(
        reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err), 0);
    assert_int_equal(t.n_sources, FILES - 3);
    assert_int_equal(files_open(), FILES - 3);
    assert_true(descriptors_below(FD_SETSIZE) < 300);
    for (size_t i = 0; i < t.n_sources; i++)
        assert_int_equal(fcntl(t.sources[i].fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    table_clear(&t);
    assert_int_equal(files_open(), 0);
}

/* With a limit that cannot be raised, the error says so. */
static void too_many_files_for_the_limit_are_refused(void **state)
{
    const struct rlimit limit = {.rlim_cur = 600, .rlim_max = 600};
    struct dataset_config cfg = {.name = (char *)"d", .path = (char *)"many"};
    struct table t;
    struct error err = {0};
    int status;
    pid_t pid = fork(); /* the limit stays */

    (void)state;
    if (pid == 0) {
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
            _exit(1);
        if (reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err) == 0)
            _exit(2);
        _exit(err.code != RAYTRAIN_EFIT || !strstr(err.text, "as it may have"));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void files_without_any_rows_are_refused(void **state)
{
    (void)state;
    rows_write("none-0", 0, 0, false);
    rows_write("none-1", 0, 0, true);
    check_refused("none-*", RAYTRAIN_EINVAL, TEXTS("none-*: it has no rows"));
    rows_write("none-2", 0, 3, false);
    assert_int_equal(rows_check("none-*", false), 3);
    B.n = 0;
    bytes_write(&B, "none-3");
    check_refused("none-*", RAYTRAIN_EINVAL, TEXTS("none-3: the file is empty"));
}

static void columns_must_be_the_same_in_all_files(void **state)
{
    const uint32_t shapes[][2] = {{2, 3}, {2, 4}};

    (void)state;
    rows_write("t-0", 0, 2, false);
    idx_header(&B, 0x08, 1, (uint32_t[]){2});
    bytes_add(&B, "ab", 2);
    bytes_write(&B, "t-1");
    check_refused("t-*", RAYTRAIN_ETYPE,
                  TEXTS("\"x\" is int32 in t-0, but uint8 in t-1"));
    for (int i = 0; i < 2; i++) {
        idx_header(&B, 0x08, 2, shapes[i]);
        bytes_add(&B, "abcdefgh", 2 * shapes[i][1]);
        bytes_write(&B, i ? "s-1" : "s-0");
    }
    check_refused("s-*", RAYTRAIN_ETYPE, TEXTS("uint8[3] in s-0, but uint8[4] in s-1"));
    rows_write("c-0-images-idx1-ubyte", 0, 2, false);
    rows_write("c-0-labels-idx1-ubyte", 0, 2, false);
    rows_write("c-1-images-idx1-ubyte", 2, 2, false);
    check_refused("c-*-images*", RAYTRAIN_ETYPE,
                  TEXTS("c-0-images-idx1-ubyte has a column \"y\"",
                        "c-1-images-idx1-ubyte has none", "`columns`"));
    rows_write("c-1-labels-idx1-ubyte", 2, 2, false);
    assert_int_equal(rows_check("c-*-images*", false), 4);
    bytes_write(&B, "f-0");
    B.n = 0;
    bytes_add(&B, "\x89HDF\r\n\x1a\n", 8);
    bytes_write(&B, "f-1");
    check_refused("f-*", RAYTRAIN_EINVAL,
                  TEXTS("different formats", "f-0 is idx", "f-1 is hdf5"));
}

static int labels_open(const char *label, struct table *t, struct error *err)
{
    struct dataset_config cfg = {.name = (char *)"d",
                                 .path = (char *)"l-[0-9]",
                                 .label = (char *)label,
                                 .format = (char *)"idx"};

    return reader_open(&(struct reader_job){.config = &cfg, .size = 1}, t, err);
}

static void each_file_has_its_labels(void **state)
{
    struct table t;
    struct error err;

    (void)state;
    rows_write("l-0", 0, 2, false);
    rows_write("l-1", 2, 3, false);
    rows_write("l-y0", 0, 2, false);
    assert_int_equal(labels_open("l-y*", &t, &err), -1);
    assert_non_null(strstr(err.text, "1 files of labels (l-y*) for 2 files of rows"));
    rows_write("l-y1", 2, 3, false);
    assert_int_equal(labels_open("l-y*", &t, &err), 0);
    assert_int_equal(t.rows, 5);
    assert_int_equal(t.n_columns, 2);
    table_clear(&t);
    rows_write("l-y1", 2, 2, false);
    assert_int_equal(labels_open("l-y*", &t, &err), -1);
    assert_non_null(strstr(err.text, "different length"));
    assert_non_null(strstr(err.text, "l-y1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_files_are_one_dataset),
        cmocka_unit_test(descriptors_leave_low_numbers_free),
        cmocka_unit_test(too_many_files_for_the_limit_are_refused),
        cmocka_unit_test(files_without_any_rows_are_refused),
        cmocka_unit_test(columns_must_be_the_same_in_all_files),
        cmocka_unit_test(each_file_has_its_labels),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
