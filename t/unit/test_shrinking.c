/*
 * test_shrinking.c - files of rows that become shorter while a dataset reads them: in any
 * format an error that names the file, never a SIGBUS and never other rows.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <hdf5.h>

#include "data/dataset.h"

#include "scratch.h"

#define ROWS 3000
#define WIDE 100

static int32_t values[ROWS][WIDE];

/* ---- Files of ROWS x WIDE numbers, which are those of their rows ---- */

static void values_make(void)
{
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < WIDE; k++)
            values[i][k] = i;
}

static void hdf5_make(const char *path, hsize_t chunk_rows, bool deflate)
{
    hsize_t dims[] = {ROWS, WIDE}, chunk[] = {chunk_rows, WIDE};
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, dims, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    hid_t set;

    if (chunk_rows)
        assert_true(H5Pset_chunk(how, 2, chunk) >= 0);
    if (deflate)
        assert_true(H5Pset_deflate(how, 1) >= 0);
    set = H5Dcreate2(file, "x", H5T_STD_I32LE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    assert_true(
        H5Dwrite(set, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Pclose(how);
    H5Sclose(space);
    assert_true(H5Fclose(file) >= 0);
}

/* With `descr` and `shape` of the header. */
static void npy_make(const char *path, const char *descr, const char *shape)
{
    FILE *f = fopen(path, "w");

    fprintf(f, "\x93NUMPY%c%c%c%c", 1, 0, 118, 0);
    fprintf(f, "%-117s\n", "");
    assert_int_equal(fseek(f, 10, SEEK_SET), 0);
    fprintf(f, "{'descr': %s, 'fortran_order': False, 'shape': %s, }", descr, shape);
    assert_int_equal(fseek(f, 128, SEEK_SET), 0);
    assert_int_equal(fwrite(values, sizeof values, 1, f), 1);
    assert_int_equal(fclose(f), 0);
}

static void idx_make(const char *path)
{
    const unsigned char head[] = {0,         0,          12, 2, 0, 0,
                                  ROWS >> 8, ROWS & 255, 0,  0, 0, WIDE};
    FILE *f = fopen(path, "w");

    assert_int_equal(fwrite(head, sizeof head, 1, f), 1);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < WIDE; k++)
            assert_int_equal(
                fwrite((const unsigned char[]){0, 0, (unsigned char)(i >> 8),
                                               (unsigned char)i},
                       4, 1, f),
                1);
    assert_int_equal(fclose(f), 0);
}

/* ---- Reading ---- */

/* All numbers of a row are the same, whatever the row is. */
static void batch_check(raytrain_dataset *ds, uint64_t rows)
{
    struct error err;
    raytrain_tensor row;
    const struct frame_column *c =
        dataset_frame_column(ds, dataset_column_at(ds, 0, &row), &err);

    for (uint64_t i = 0; i < rows; i++) {
        const int32_t *x = (const int32_t *)(const void *)c->data + i * WIDE;

        assert_in_range(x[0], 0, ROWS - 1);
        assert_memory_equal(x, values[x[0]], sizeof values[0]);
    }
}

/* It is cut to some of its bytes after a batch. Do all rows come still? */
static bool survives(const char *path, bool shuffle, uint64_t window, int percent)
{
    struct dataset_config cfg = {.name = (char *)"d",
                                 .path = (char *)path,
                                 .shuffle = shuffle,
                                 .shuffle_window = window};
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds;
    struct error err = {0};
    struct stat st;
    uint64_t rows;
    int rc;

    if (dataset_open(&cfg, &env, &ds, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(dataset_set_batch_size(ds, 30, &err), 0);
    assert_int_equal(dataset_next(ds, &rows, &err), 0);
    batch_check(ds, rows);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(truncate(path, st.st_size * percent / 100), 0);
    while ((rc = dataset_next(ds, &rows, &err)) == 0)
        batch_check(ds, rows);
    dataset_close(ds);
    if (rc == 1)
        return true;
    assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    if (!strstr(err.text, path) || !strstr(err.text, "in use"))
        fail_msg("%s", err.text);
    return false;
}

static void hdf5_plain(void)
{
    hdf5_make("a.h5", 0, false);
}

static void hdf5_chunks(void)
{
    hdf5_make("a.h5", 7, false);
}

static void hdf5_compressed(void)
{
    hdf5_make("a.h5", 7, true);
}

static void npy_plain(void)
{
    npy_make("a.npy", "'<i4'", "(3000, 100)");
}

static void npy_fields(void)
{
    npy_make("a.npy", "[('x', '<i4', (100,))]", "(3000,)");
}

static void idx(void)
{
    idx_make("a-images-idx2-int");
}

static const struct {
    const char *path;
    void (*make)(void);
    bool expanded; /* to be shuffled as a whole, it is in memory */
} FORMATS[] = {{"a.h5", hdf5_plain, false},     {"a.h5", hdf5_chunks, true},
               {"a.h5", hdf5_compressed, true}, {"a.npy", npy_plain, false},
               {"a.npy", npy_fields, false},    {"a-images-idx2-int", idx, false}};

static void a_file_that_shrinks_while_it_is_read_is_named(void **state)
{
    static const uint64_t windows[] = {0, 500};

    (void)state;
    values_make();
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        for (int percent = 0; percent < 90; percent += 30) {
            FORMATS[i].make();
            assert_false(survives(FORMATS[i].path, false, 0, percent));
            for (int w = 0; w < 2; w++) {
                FORMATS[i].make();
                assert_int_equal(survives(FORMATS[i].path, true, windows[w], percent),
                                 w == 0 && FORMATS[i].expanded);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_file_that_shrinks_while_it_is_read_is_named),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
