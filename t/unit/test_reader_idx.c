/* test_reader_idx.c - IDX files, plain and compressed, good and bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "data/batch.h"
#include "data/dataset.h"
#include "table/reader.h"
#include "util/fs.h"

#include "idx_file.h"

static struct bytes B;
static int descriptors_at_first;

static int open_path(const char *path, const char *label, struct table *t,
                     struct error *err)
{
    struct dataset_config cfg = {
        .name = (char *)"d", .path = (char *)path, .label = (char *)label};

    memset(err, 0, sizeof *err);
    return reader_open(&(struct reader_job){.config = &cfg, .size = 1}, t, err);
}

/* What the message must hold; the status is the first thing to be looked at. */
static void check_refused(const char *path, raytrain_status code, const char *text)
{
    struct table t;
    struct error err;

    if (open_path(path, NULL, &t, &err) == 0)
        fail_msg("accepted where \"%s\" was expected", text);
    if (err.code != code || !strstr(err.text, text))
        fail_msg("expected %d \"%s\", got %d \"%s\"", code, text, err.code, err.text);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(t.n_sources, 0);
    assert_null(t.columns);
}

/* ---- Good files ---- */

/* Three rows of 1, -2, 3 ... in each type, as the file has them and as they must come.
 */
static const struct {
    unsigned char code;
    raytrain_dtype dtype;
    const char *file, *host; /* six elements */
    size_t width;
} TYPES[] = {
    {0x08, RAYTRAIN_UINT8, "\1\2\3\4\5\377", "\1\2\3\4\5\377", 1},
    {0x09, RAYTRAIN_INT8, "\1\2\3\4\5\377", "\1\2\3\4\5\377", 1},
    {0x0b, RAYTRAIN_INT16, "\0\1\377\376\0\3\0\4\0\5\1\0",
     (const char *)(const int16_t[]){1, -2, 3, 4, 5, 256}, 2},
    {0x0c, RAYTRAIN_INT32, "\0\0\0\1\377\377\377\376\0\0\0\3\0\0\0\4\0\0\0\5\0\1\0\0",
     (const char *)(const int32_t[]){1, -2, 3, 4, 5, 65536}, 4},
    {0x0d, RAYTRAIN_FLOAT32,
     "\x3f\x80\0\0\xc0\0\0\0\x40\x40\0\0\x40\x80\0\0\x40\xa0\0\0\x3f\0\0\0",
     (const char *)(const float[]){1, -2, 3, 4, 5, 0.5}, 4},
    {0x0e, RAYTRAIN_FLOAT64,
     "\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0\x40\x08\0\0\0\0\0\0"
     "\x40\x10\0\0\0\0\0\0\x40\x14\0\0\0\0\0\0\x3f\xe0\0\0\0\0\0\0",
     (const char *)(const double[]){1, -2, 3, 4, 5, 0.5}, 8},
};

static void check_rows(const char *path, size_t i)
{
    struct dataset_config cfg = {.name = (char *)"d", .path = (char *)path};
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds;
    raytrain_tensor x;
    struct error err;
    uint64_t rows;

    assert_int_equal(dataset_open(&cfg, &env, &ds, &err), 0);
    assert_int_equal(dataset_set_batch_size(ds, 3, &err), 0);
    assert_int_equal(dataset_next(ds, &rows, &err), 0);
    assert_int_equal(rows, 3);
    assert_int_equal(dataset_column(ds, "x", &x, &err), 0);
    assert_int_equal(x.dtype, TYPES[i].dtype);
    assert_int_equal(x.ndim, 2);
    assert_int_equal(x.shape[1], 2);
    assert_memory_equal(x.data, TYPES[i].host, 6 * TYPES[i].width);
    dataset_close(ds);
}

static void every_type_is_read_plain_and_compressed(void **state)
{
    const uint32_t shape[] = {3, 2};

    (void)state;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        idx_header(&B, TYPES[i].code, 2, shape);
        bytes_add(&B, TYPES[i].file, 6 * TYPES[i].width);
        bytes_write(&B, "plain");
        check_rows("plain", i);
        bytes_gzip(&B);
        bytes_write(&B, "no-telling-name");
        check_rows("no-telling-name", i);
    }
}

static void plain_files_are_read_in_place(void **state)
{
    struct table t;
    struct error err;

    (void)state;
    idx_numbers(&B, 100);
    bytes_write(&B, "plain");
    assert_int_equal(open_path("plain", NULL, &t, &err), 0);
    assert_int_equal(t.n_sources, 1);
    assert_false(t.sources[0].anonymous);
    assert_int_equal(fcntl(t.sources[0].fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    table_clear(&t);
    bytes_gzip(&B);
    bytes_write(&B, "compressed");
    assert_int_equal(open_path("compressed", NULL, &t, &err), 0);
    assert_int_equal(t.n_sources, 1);
    assert_true(t.sources[0].anonymous);
    assert_int_equal(fcntl(t.sources[0].fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(ftruncate(t.sources[0].fd, 1), -1); /* sealed */
    assert_int_equal(pwrite(t.sources[0].fd, "x", 1, 0), -1);
    table_clear(&t);
}

static void labels_are_found_by_convention(void **state)
{
    static const struct {
        const char *images, *labels;
        bool found;
    } T[] = {
        {"a-images-idx3-ubyte", "a-labels-idx1-ubyte", true},
        {"b-images-idx3-ubyte.gz", "b-labels-idx1-ubyte.gz", true},
        {"c-images-idx3-ubyte.gz", "c-labels-idx1-ubyte", true},
        {"d-images-idx3-ubyte", "d-labels-idx1-ubyte.gz", true},
        {"e-images-idx3-ubyte", "other-labels-idx1-ubyte", false},
        {"f", "f-labels-idx1-ubyte", false},
    };
    struct table t;
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        idx_numbers(&B, 5);
        bytes_write(&B, T[i].images);
        idx_labels(&B, 5);
        bytes_write(&B, T[i].labels);
        assert_int_equal(open_path(T[i].images, NULL, &t, &err), 0);
        assert_int_equal(t.n_columns, T[i].found ? 2 : 1);
        assert_int_equal(table_column(&t, "y") != NULL, T[i].found);
        table_clear(&t);
    }
}

static void columns_select_data_or_labels(void **state)
{
    char *x[] = {(char *)"x"}, *y[] = {(char *)"y"}, *z[] = {(char *)"x", (char *)"z"};
    struct dataset_config cfg = {.name = (char *)"d",
                                 .path = (char *)"a-images-idx3-ubyte"};
    struct table t;
    struct error err;

    (void)state;
    cfg.columns = x;
    cfg.n_columns = 1;
    assert_int_equal(
        reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err), 0);
    assert_int_equal(t.n_columns, 1);
    assert_string_equal(t.columns[0].name, "x");
    table_clear(&t);
    cfg.columns = y;
    assert_int_equal(
        reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err), 0);
    assert_int_equal(t.n_columns, 1);
    assert_int_equal(t.n_sources, 1);
    assert_string_equal(t.columns[0].name, "y");
    table_clear(&t);
    cfg.columns = z;
    cfg.n_columns = 2;
    assert_int_equal(
        reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "no column \"z\"; the columns are: x"));
}

static void several_members_are_one_file(void **state)
{
    static struct bytes whole, part;
    struct table t;
    struct error err;

    (void)state;
    idx_numbers(&whole, 1000);
    B.n = 0;
    for (size_t at = 0; at < whole.n; at += 500) {
        part.n = 0;
        bytes_add(&part, whole.data + at, whole.n - at < 500 ? whole.n - at : 500);
        bytes_gzip(&part);
        bytes_add(&B, part.data, part.n);
    }
    part.n = 0;
    bytes_gzip(&part); /* an empty one */
    bytes_add(&B, part.data, part.n);
    bytes_write(&B, "members");
    assert_int_equal(open_path("members", NULL, &t, &err), 0);
    assert_int_equal(t.rows, 1000);
    assert_int_equal(t.sources[0].size, whole.n);
    assert_int_equal(table_ready(&t, &err), 0);
    assert_memory_equal(t.sources[0].map, whole.data, whole.n);
    table_clear(&t);
}

/* ---- Bad files ---- */

static void files_without_magic_are_refused(void **state)
{
    static const char *const HEADS[] = {"\1\0\10\1\0\0\0\1x", "\0\1\10\1\0\0\0\1x",
                                        "\0\0\12\1\0\0\0\1x", "\0\0\10\0\0\0\0\1x",
                                        "P5 10 10\n"};

    (void)state;
    for (size_t i = 0; i < sizeof HEADS / sizeof *HEADS; i++) {
        B.n = 0;
        bytes_add(&B, HEADS[i], 9);
        bytes_write(&B, "bad");
        check_refused("bad", RAYTRAIN_EINVAL, "the known formats are idx, hdf5");
        bytes_gzip(&B);
        bytes_write(&B, "bad");
        check_refused("bad", RAYTRAIN_EINVAL, "the known formats are idx, hdf5");
    }
}

static void bad_plain_files_are_refused(void **state)
{
    const uint32_t huge[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    const uint32_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, zero = 0, empty[] = {5, 0};

    (void)state;
    B.n = 0;
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_EINVAL, "the file is empty");
    idx_numbers(&B, 10);
    B.n = 6;
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_ECORRUPT, "the header is truncated");
    idx_numbers(&B, 10);
    B.n--;
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_ECORRUPT, "claims more elements");
    idx_numbers(&B, 10);
    bytes_add(&B, "xyz", 3);
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_ECORRUPT, "3 bytes follow");
    idx_header(&B, 0x0e, 3, huge);
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_ECORRUPT, "claims more elements");
    idx_header(&B, 0x08, 9, nine);
    bytes_add(&B, "x", 1);
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_ENOTSUP, "9 dimensions");
    idx_header(&B, 0x08, 1, &zero);
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_EINVAL, "no rows");
    idx_header(&B, 0x08, 2, empty);
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_EINVAL, "rows without elements");
}

static void zeros_after_compressed_data_are_not_read(void **state)
{
    static const char zeros[10000];
    struct table t;
    struct error err;

    (void)state;
    idx_numbers(&B, 2000);
    bytes_gzip(&B);
    bytes_add(&B, zeros, sizeof zeros);
    bytes_write(&B, "padded");
    assert_int_equal(open_path("padded", NULL, &t, &err), 0);
    assert_int_equal(t.rows, 2000);
    table_clear(&t);
    bytes_add(&B, "\x1f\x8b", 2);
    bytes_write(&B, "padded");
    check_refused("padded", RAYTRAIN_ECORRUPT, "other bytes follow");
}

/* gzip has nothing to say of a file whose compressed data are intact. */
static void check_contradiction(const char *what)
{
    struct table t;
    struct error err;

    bytes_gzip(&B);
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_ECORRUPT, what);
    assert_int_equal(open_path("bad", NULL, &t, &err), -1);
    assert_null(strstr(err.text, "gzip -t"));
}

static void bad_compressed_files_are_refused(void **state)
{
    const uint32_t huge[] = {UINT32_MAX, 1000};
    static struct bytes good;

    (void)state;
    idx_numbers(&B, 2000);
    bytes_gzip(&B);
    good = B;
    for (size_t n = 1000; n < good.n; n += 97) {
        B.n = n;
        bytes_write(&B, "bad");
        check_refused("bad", RAYTRAIN_ECORRUPT, "end too early");
    }
    B.n = good.n - 4; /* all the content, but no length behind it */
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_ECORRUPT, "end too early");
    B = good;
    B.data[good.n - 8] ^= 1; /* the checksum */
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_ECORRUPT, "incorrect data check");
    B = good;
    bytes_add(&B, "garbage", 7);
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_ECORRUPT, "other bytes follow");
    idx_numbers(&B, 100);
    bytes_add(&B, "x", 1);
    check_contradiction("more than its header claims");
    idx_numbers(&B, 100);
    B.n--;
    check_contradiction("less than its header claims");
    idx_header(&B, 0x08, 2, huge);
    bytes_gzip(&B);
    bytes_write(&B, "bad");
    check_refused("bad", RAYTRAIN_ECORRUPT, "claims more elements");
}

/* No byte of a compressed file may be anything: each is the magic, a flag, the content
 * or its checksum. What is accepted all the same must be the same rows. */
static void flipped_bytes_are_found(void **state)
{
    static struct bytes plain, good;
    struct table t;
    struct error err;

    (void)state;
    idx_numbers(&plain, 50);
    good = plain;
    bytes_gzip(&good);
    for (size_t i = 0; i < good.n; i++) {
        B = good;
        B.data[i] ^= 0x10;
        bytes_write(&B, "flipped");
        if (open_path("flipped", NULL, &t, &err) == 0) {
            assert_int_equal(table_ready(&t, &err), 0);
            assert_memory_equal(t.sources[0].map, plain.data, plain.n);
        }
        table_clear(&t);
    }
}

/* Whatever a reader says, no column reaches beyond its file. */
static void columns_stay_within_their_file(void **state)
{
    static const struct {
        uint64_t offset, rows, width;
        int rc;
    } T[] = {
        {0, 10, 10, 0},         {100, 0, 10, 0},        {0, 10, 11, -1},
        {1, 10, 10, -1},        {101, 1, 1, -1},        {99, 1, 1, 0},
        {UINT64_MAX, 1, 1, -1}, {1, UINT64_MAX, 1, -1}, {0, UINT64_MAX / 2, 4, -1},
        {0, 1, UINT64_MAX, -1},
    };
    struct error err;

    (void)state;
    B.n = 100;
    bytes_write(&B, "hundred");
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        struct column c = {.name = "x", .row = {.dtype = RAYTRAIN_UINT8, .ndim = 1}};
        struct extent e = {.offset = T[i].offset, .rows = T[i].rows};
        struct table t = {0};

        c.row.shape[0] = T[i].width;
        assert_int_equal(table_add_source(&t, open("hundred", O_RDONLY), false,
                                          "hundred", &e.source, &err),
                         0);
        assert_int_equal(table_add_column(&t, &c, &e, 1, &err), T[i].rc);
        table_clear(&t);
    }
}

/* Rows are found whatever extent they are in, and a read may go over several. */
static void a_column_may_lie_in_several_files(void **state)
{
    struct column c = {.name = "x", .row = {.dtype = RAYTRAIN_UINT16}};
    struct extent e[] = {{.rows = 3}, {.offset = 2, .rows = 1}, {.rows = 2}};
    const uint16_t first[] = {0, 1, 2}, second[] = {9, 3}, third[] = {0x0400, 0x0500};
    struct table t = {0};
    struct frame b;
    struct epoch_order order = EPOCH_ORDER_INIT;
    struct error err;

    (void)state;
    for (int i = 0; i < 3; i++) {
        const void *const bytes[] = {first, second, third};
        FILE *f = fopen("part", "w");

        assert_int_equal(fwrite(bytes[i], 1, i == 0 ? 6 : 4, f), i == 0 ? 6 : 4);
        fclose(f);
        assert_int_equal(table_add_source(&t, open("part", O_RDONLY), false, "part",
                                          &e[i].source, &err),
                         0);
        remove("part");
    }
    e[2].swapped = true;
    assert_int_equal(table_add_column(&t, &c, e, 3, &err), 0);
    assert_int_equal(t.rows, 6);
    assert_int_equal(batch_init(&b, &t, &err), 0);
    epoch_order_set(&order, 6, &(struct order_kind){0, 0}, 1, 0, &err);
    assert_int_equal(batch_read(&b, &t, &(struct batch_rows){&order, 1, 5, 0, 0}, &err),
                     0);
    for (uint16_t i = 0; i < 5; i++)
        assert_int_equal(((uint16_t *)(void *)b.columns[0].data)[i], i + 1);
    epoch_order_set(&order, 6, &(struct order_kind){1, 0}, 1, 0, &err);
    assert_int_equal(batch_read(&b, &t, &(struct batch_rows){&order, 0, 6, 0, 0}, &err),
                     0);
    for (uint16_t i = 0; i < 6; i++)
        assert_int_equal(((uint16_t *)(void *)b.columns[0].data)[i],
                         epoch_order_row(&order, i));
    frame_clear(&b);
    table_clear(&t);
}

static void labels_must_match(void **state)
{
    struct table t;
    struct error err;

    (void)state;
    idx_numbers(&B, 10);
    bytes_write(&B, "images");
    idx_labels(&B, 11);
    bytes_write(&B, "labels");
    assert_int_equal(open_path("images", "labels", &t, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(
        strstr(err.text, "\"x\" has 10 rows (images), \"y\" has 11 (labels)"));
    assert_int_equal(open_path("images", "missing", &t, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "labels: cannot open missing"));
    assert_int_equal(open_path("labels", "images", &t, &err), -1);
}

static void other_paths_are_refused(void **state)
{
    struct dataset_config cfg = {
        .name = (char *)"d", .path = (char *)"images", .format = (char *)"cvs"};
    struct table t;
    struct error err;

    (void)state;
    check_refused("nowhere", RAYTRAIN_ENOTFOUND, "cannot open nowhere");
    assert_int_equal(mkdir("folder", 0700), 0);
    check_refused("folder", RAYTRAIN_ENOTFOUND, "no data files in the directory");
    assert_int_equal(mkdir("folder/images", 0700), 0);
    check_refused("folder", RAYTRAIN_ENOTFOUND, "no data files in the directory");
    check_refused("/dev/zero", RAYTRAIN_EINVAL, "a device or a pipe");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    check_refused("fifo", RAYTRAIN_EINVAL, "a device or a pipe"); /* without waiting */
    assert_int_equal(
        reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err), -1);
    assert_non_null(strstr(err.text, "unknown format \"cvs\": one of idx, hdf5"));
    cfg.format = (char *)"idx";
    cfg.path = (char *)"/proc/self/exe";
    assert_int_equal(
        reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err), -1);
    assert_non_null(strstr(err.text, "not an IDX file"));
}

/* Runs last: none of the others left a descriptor open. */
static void nothing_is_left_open(void **state)
{
    (void)state;
    assert_int_equal(files_open(), descriptors_at_first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read_plain_and_compressed),
        cmocka_unit_test(plain_files_are_read_in_place),
        cmocka_unit_test(labels_are_found_by_convention),
        cmocka_unit_test(columns_select_data_or_labels),
        cmocka_unit_test(several_members_are_one_file),
        cmocka_unit_test(files_without_magic_are_refused),
        cmocka_unit_test(bad_plain_files_are_refused),
        cmocka_unit_test(zeros_after_compressed_data_are_not_read),
        cmocka_unit_test(bad_compressed_files_are_refused),
        cmocka_unit_test(flipped_bytes_are_found),
        cmocka_unit_test(columns_stay_within_their_file),
        cmocka_unit_test(a_column_may_lie_in_several_files),
        cmocka_unit_test(labels_must_match),
        cmocka_unit_test(other_paths_are_refused),
        cmocka_unit_test(nothing_is_left_open),
    };

    descriptors_at_first = files_open();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
