/* test_foreign_damage.c - HDF5 files of other programs that are truncated, damaged or
 * something else, and large ones. */
#include "foreign_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "scratch.h"
#include "util/fs.h"

static void file_copy(const char *from, const char *to, off_t length)
{
    char *data = NULL;
    size_t n = 0;
    struct error err;

    assert_int_equal(fs_read(from, &data, &n, &err), 0);
    assert_int_equal(
        fs_replace(to, data, (size_t)length < n ? (size_t)length : n, 0666, &err), 0);
    free(data);
}

static void a_truncated_file_is_refused_at_every_length(void **state)
{
    unsigned char values[ROWS * WIDE * 4];
    struct stat st;
    struct error err;

    (void)state;
    values_make(values, sizeof values, 1);
    file_begin(0);
    for (enum layout l = 0; l < N_LAYOUTS; l++)
        numbers_add(RAYTRAIN_INT32, l, 0, values);
    file_end();
    assert_int_equal(stat(FILE_NAME, &st), 0);
    for (off_t n = 0; n < st.st_size; n += n < 200 ? 1 : 61) {
        file_copy(FILE_NAME, "cut.h5", n);
        assert_null(open_one("cut.h5", &err));
        check_error(&err, RAYTRAIN_ECORRUPT, "cut.h5");
    }
}

static void a_file_that_shrinks_while_it_is_open_is_truncated(void **state)
{
    unsigned char values[ROWS * WIDE * 4], got[ROWS * WIDE * 4];
    raytrain_tensor t = {
        .dtype = RAYTRAIN_INT32, .data = got, .ndim = 2, .shape = {ROWS, WIDE}};
    raytrain_checkpoint *ck;
    struct error err;

    (void)state;
    values_make(values, sizeof values, 1);
    file_begin(0);
    numbers_add(RAYTRAIN_INT32, CONTIGUOUS, 0, values);
    file_end();
    ck = open_it();
    assert_int_equal(truncate(FILE_NAME, 100), 0);
    assert_int_equal(checkpoint_get(ck, checkpoint_name(ck, 0), &t, NULL, &err), -1);
    check_error(&err, RAYTRAIN_ECORRUPT, "truncated");
    checkpoint_destroy(ck);
}

/* The address of a dataset, wherever it is in the metadata. */
static void address_change(const char *path, uint64_t from, uint64_t to)
{
    char *data = NULL;
    size_t n = 0, found = 0;

    assert_int_equal(fs_read(path, &data, &n, NULL), 0);
    for (size_t i = 0; i + 8 <= n; i++)
        if (memcmp(data + i, &from, 8) == 0) {
            memcpy(data + i, &to, 8);
            found++;
        }
    assert_true(found > 0);
    assert_int_equal(fs_replace(path, data, n, 0666, NULL), 0);
    free(data);
}

static void a_dataset_that_exceeds_the_file_is_not_read(void **state)
{
    unsigned char values[ROWS * WIDE * 4], got[ROWS * WIDE * 4];
    raytrain_tensor t = {
        .dtype = RAYTRAIN_INT32, .data = got, .ndim = 2, .shape = {ROWS, WIDE}};
    const uint64_t places[] = {1u << 20, INT64_MAX - 10, UINT64_MAX - 100};
    raytrain_checkpoint *ck;
    struct error err;
    haddr_t at;
    hid_t set;
    char name[64];

    (void)state;
    values_make(values, sizeof values, 1);
    numbers_name(RAYTRAIN_INT32, CONTIGUOUS, 0, name);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        file_begin(0);
        numbers_add(RAYTRAIN_INT32, CONTIGUOUS, 0, values);
        set = H5Dopen2(File, name, H5P_DEFAULT);
        at = H5Dget_offset(set);
        H5Dclose(set);
        file_end();
        address_change(FILE_NAME, at, places[i]);
        ck = open_one(FILE_NAME, &err);
        if (ck)
            assert_int_equal(checkpoint_get(ck, name, &t, NULL, &err), -1);
        check_error(&err, RAYTRAIN_ECORRUPT, "int32");
        checkpoint_destroy(ck);
    }
}

static void what_is_no_hdf5_file_is_refused(void **state)
{
    (void)state;
    check_refused("missing.h5", RAYTRAIN_ENOTFOUND, "missing.h5");
    assert_int_equal(mkdir("folder.h5", 0777), 0);
    check_refused("folder.h5", RAYTRAIN_ECORRUPT, "not a regular file");
    assert_int_equal(fs_replace("empty.h5", "", 0, 0666, NULL), 0);
    check_refused("empty.h5", RAYTRAIN_ECORRUPT, "empty");
    assert_int_equal(fs_replace("text.h5", "weights\n", 8, 0666, NULL), 0);
    check_refused("text.h5", RAYTRAIN_ECORRUPT, "neither");
    assert_int_equal(mkfifo("pipe.h5", 0666), 0);
    check_refused("pipe.h5", RAYTRAIN_ECORRUPT, "not a regular file");
}

static void byte_flip(const char *path, off_t at)
{
    FILE *f = fopen(path, "r+");
    int c;

    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    c = fgetc(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_int_equal(fputc(c ^ 1, f), c ^ 1);
    assert_int_equal(fclose(f), 0);
}

static void a_damaged_checkpoint_is_never_read_as_a_plain_file(void **state)
{
    const struct checkpoint_meta meta = {.run_name = "r", .world_size = 1};
    const off_t places[] = {0, 9, 15, 16, 100, 4000, 4200};
    struct comm *self = comm_self_create(NULL);
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    int32_t values[1000] = {0};
    const raytrain_tensor t = {
        .data = values, .dtype = RAYTRAIN_INT32, .ndim = 1, .shape = {1000}};
    const char *const names[] = {"weights", "note", NULL};
    struct error err;

    (void)state;
    assert_int_equal(checkpoint_put(ck, "weights", &t, NULL, &err), 0);
    assert_int_equal(checkpoint_put(ck, "raytrain/session/x", &t, NULL, &err), 0);
    assert_int_equal(checkpoint_put_string(ck, "note", "text", &err), 0);
    assert_int_equal(checkpoint_save(ck, self, &meta, "own.h5", &err), 0);
    checkpoint_destroy(ck);
    comm_free(self);
    ck = open_one("own.h5", &err);
    assert_non_null(ck);
    assert_true(checkpoint_is_verified(ck));
    check_names(ck, names);
    checkpoint_destroy(ck);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        file_copy("own.h5", "bad.h5", INT32_MAX);
        byte_flip("bad.h5", places[i]);
        check_refused("bad.h5", RAYTRAIN_ECORRUPT, "bad.h5");
    }
}

/* ---- Large ---- */

#define MANY ((size_t)(100 << 20) / sizeof(int32_t))

static void a_large_dataset_comes_back_and_its_truncation_is_noticed(void **state)
{
    const hsize_t shape[] = {MANY};
    hid_t space = H5Screate_simple(1, shape, NULL);
    int32_t *values = malloc(MANY * sizeof *values), *got = calloc(MANY, sizeof *got);
    raytrain_tensor t = {
        .dtype = RAYTRAIN_INT32, .data = got, .ndim = 1, .shape = {MANY}};
    raytrain_checkpoint *ck;
    struct error err;

    (void)state;
    assert_true(values && got);
    for (size_t i = 0; i < MANY; i++)
        values[i] = (int32_t)i;
    file_begin(0);
    dataset_add("large", H5T_STD_I32LE, space, H5P_DEFAULT, H5T_STD_I32LE, values);
    file_end();
    H5Sclose(space);
    ck = open_it();
    assert_int_equal(checkpoint_get(ck, "large", &t, NULL, &err), 0);
    assert_memory_equal(got, values, MANY * sizeof *values);
    assert_int_equal(truncate(FILE_NAME, 90 << 20), 0);
    assert_int_equal(checkpoint_get(ck, "large", &t, NULL, &err), -1);
    check_error(&err, RAYTRAIN_ECORRUPT, "truncated");
    checkpoint_destroy(ck);
    free(values);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_truncated_file_is_refused_at_every_length),
        SCRATCH(a_file_that_shrinks_while_it_is_open_is_truncated),
        SCRATCH(a_dataset_that_exceeds_the_file_is_not_read),
        SCRATCH(what_is_no_hdf5_file_is_refused),
        SCRATCH(a_damaged_checkpoint_is_never_read_as_a_plain_file),
        SCRATCH(a_large_dataset_comes_back_and_its_truncation_is_noticed),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
