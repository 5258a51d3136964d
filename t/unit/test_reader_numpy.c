/* test_reader_numpy.c - .npy and .npz files, good and bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include "data/dataset.h"
#include "table/reader.h"
#include "util/fs.h"

#include "idx_file.h"
#include "npy_file.h"

#define FORTRAN(descr, shape)                                                          \
    "{'descr': " descr ", 'fortran_order': True, 'shape': " shape ", }"
#define TEXT(descr, shape)                                                             \
    "{'descr': " descr ", 'fortran_order': False, 'shape': " shape ", }"

static struct bytes B;
static struct zip_writer Zip;

static int table_open(const char *path, char **columns, const char *label,
                      struct table *t, struct error *err)
{
    struct dataset_config cfg = {.name = (char *)"d",
                                 .path = (char *)path,
                                 .label = (char *)label,
                                 .columns = columns};

    while (columns && columns[cfg.n_columns])
        cfg.n_columns++;
    memset(err, 0, sizeof *err);
    return reader_open(&(struct reader_job){.config = &cfg, .size = 1}, t, err);
}

#define NAMES(...) ((char **)(const char *[]){__VA_ARGS__, NULL})

static void check_columns(const char *path, char **columns, const char *label,
                          const char *expected)
{
    struct table t;
    struct error err;
    char names[512];

    if (table_open(path, columns, label, &t, &err) < 0)
        fail_msg("%s", err.text);
    table_names(&t, names, sizeof names);
    assert_string_equal(names, expected);
    table_clear(&t);
}

static void check_refused(const char *path, char **columns, raytrain_status code,
                          const char *text)
{
    struct table t;
    struct error err;

    if (table_open(path, columns, NULL, &t, &err) == 0)
        fail_msg("accepted where \"%s\" was expected", text);
    if (err.code != code || !strstr(err.text, text))
        fail_msg("expected %d \"%s\", got %d \"%s\"", code, text, err.code, err.text);
    assert_null(t.sources);
}

/* All rows of a column are these bytes. */
static void check_rows(const char *path, const char *column, raytrain_dtype dtype,
                       const void *expected, size_t bytes)
{
    struct dataset_config cfg = {.name = (char *)"d",
                                 .path = (char *)path,
                                 .columns = NAMES(column),
                                 .n_columns = 1};
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds;
    raytrain_tensor x;
    struct error err;
    uint64_t rows;

    if (dataset_open(&cfg, &env, &ds, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(dataset_set_batch_size(ds, dataset_rows(ds), &err), 0);
    assert_int_equal(dataset_next(ds, &rows, &err), 0);
    assert_int_equal(dataset_column(ds, column, &x, &err), 0);
    assert_string_equal(raytrain_dtype_name(x.dtype), raytrain_dtype_name(dtype));
    assert_memory_equal(x.data, expected, bytes);
    dataset_close(ds);
}

/* ---- Good files ---- */

/* Two rows of 1, 2, as a file has them and as they must come. */
static const struct {
    const char *descr;
    raytrain_dtype dtype;
    const char *file, *host;
    size_t bytes;
} TYPES[] = {
    {"'|b1'", RAYTRAIN_UINT8, "\0\1", "\0\1", 2},
    {"'|u1'", RAYTRAIN_UINT8, "\1\2", "\1\2", 2},
    {"'|i1'", RAYTRAIN_INT8, "\1\2", "\1\2", 2},
    {"'<i2'", RAYTRAIN_INT16, "\1\0\2\0", (const char *)(const int16_t[]){1, 2}, 4},
    {"'>u2'", RAYTRAIN_UINT16, "\0\1\0\2", (const char *)(const int16_t[]){1, 2}, 4},
    {"'>i4'", RAYTRAIN_INT32, "\0\0\0\1\0\0\0\2", (const char *)(const int32_t[]){1, 2},
     8},
    {"'<u4'", RAYTRAIN_UINT32, "\1\0\0\0\2\0\0\0",
     (const char *)(const int32_t[]){1, 2}, 8},
    {"'<i8'", RAYTRAIN_INT64, "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0",
     (const char *)(const int64_t[]){1, 2}, 16},
    {"'>u8'", RAYTRAIN_UINT64, "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2",
     (const char *)(const int64_t[]){1, 2}, 16},
    {"'<f2'", RAYTRAIN_FLOAT16, "\0\x3c\0\x40",
     (const char *)(const uint16_t[]){0x3c00, 0x4000}, 4},
    {"'<f4'", RAYTRAIN_FLOAT32, "\0\0\x80\x3f\0\0\0\x40",
     (const char *)(const float[]){1, 2}, 8},
    {"'>f8'", RAYTRAIN_FLOAT64, "\x3f\xf0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0",
     (const char *)(const double[]){1, 2}, 16},
};

static void every_type_is_read(void **state)
{
    char text[256];

    (void)state;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        for (unsigned char version = 1; version <= 3; version++) {
            snprintf(text, sizeof text, TEXT("%s", "(2,)"), TYPES[i].descr);
            npy_write("x.npy", version, text, TYPES[i].file, TYPES[i].bytes);
            check_rows("x.npy", "x", TYPES[i].dtype, TYPES[i].host, TYPES[i].bytes);
        }
}

static void headers_are_read_as_python_writes_them(void **state)
{
    static const char *const T[] = {
        "{'descr':'|u1','fortran_order':False,'shape':(2,3)}",
        "{ \"shape\" : (2L, 3L) , \"descr\" : \"|u1\" , \"fortran_order\" : False }",
        "{'shape': (2, 3,), 'fortran_order': False, 'descr': '|u1',}",
    };
    struct table t;
    struct error err;

    (void)state;
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        npy_write("h.npy", 1, T[i], "abcdef", 6);
        check_rows("h.npy", "h", RAYTRAIN_UINT8, "abcdef", 6);
    }
    assert_int_equal(table_open("h.npy", NULL, NULL, &t, &err), 0);
    assert_false(t.sources[0].anonymous);
    assert_int_equal(t.rows, 2);
    assert_int_equal(t.columns[0].row.ndim, 1);
    assert_int_equal(t.columns[0].row.shape[0], 3);
    table_clear(&t);
    npy_write("h.npy", 1, "{'descr':'|u1','fortran_order':True,'shape':(6,)}", "abcdef",
              6); /* one dimension has one order */
    check_rows("h.npy", "h", RAYTRAIN_UINT8, "abcdef", 6);
}

/* numpy.arange(12).reshape(3, 2, 2), as numpy.asfortranarray() has it in memory. */
static const int16_t IN_ROWS[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const int16_t IN_FORTRAN_ORDER[12] = {0, 4, 8, 2, 6, 10, 1, 5, 9, 3, 7, 11};

static void arrays_in_fortran_order_are_read_row_by_row(void **state)
{
    int16_t big_endian[12];

    (void)state;
    for (int i = 0; i < 12; i++)
        big_endian[i] = (int16_t)htobe16((uint16_t)IN_FORTRAN_ORDER[i]);
    npy_write("x.npy", 1, FORTRAN("'>i2'", "(3, 2, 2)"), big_endian, sizeof big_endian);
    check_rows("x.npy", "x", RAYTRAIN_INT16, IN_ROWS, sizeof IN_ROWS);
    npy_write("x.npy", 1, FORTRAN("'<i2'", "(1, 12, 1)"), IN_ROWS, sizeof IN_ROWS);
    check_rows("x.npy", "x", RAYTRAIN_INT16, IN_ROWS, sizeof IN_ROWS);
    npy_write("x.npy", 1, FORTRAN("'<i2'", "(12, 1)"), IN_ROWS, sizeof IN_ROWS);
    check_rows("x.npy", "x", RAYTRAIN_INT16, IN_ROWS, sizeof IN_ROWS);
    npy_write("x.npy", 1, FORTRAN("'<i2'", "(13, 1)"), IN_ROWS, sizeof IN_ROWS);
    check_refused("x.npy", NULL, RAYTRAIN_ECORRUPT, "claims more elements");
    npy_write("x.npy", 1, FORTRAN("'<i2'", "(0, 2)"), "", 0);
    check_refused("x.npy", NULL, RAYTRAIN_EINVAL, "no rows");
    npy_write("x.npy", 1, FORTRAN("'|S4'", "(2, 2)"), "aaaabbbbccccdddd", 16);
    check_refused("x.npy", NULL, RAYTRAIN_ENOTSUP, "holds texts, not numbers");
}

/* More rows and elements than are copied at once. */
static void large_arrays_in_fortran_order_are_read(void **state)
{
    enum { ROWS = 20011, ELEMENTS = 37 };
    size_t bytes = sizeof(int32_t) * ROWS * ELEMENTS;
    int32_t *file = malloc(bytes), *expected = malloc(bytes);
    struct bytes head = {0};
    FILE *f = fopen("large.npy", "w");

    (void)state;
    for (int r = 0; r < ROWS; r++)
        for (int e = 0; e < ELEMENTS; e++)
            expected[r * ELEMENTS + e] = file[e * ROWS + r] = r * 1000 + e;
    npy_put(&head, 1, FORTRAN("'<i4'", "(20011, 37)"), "", 0);
    assert_int_equal(fwrite(head.data, 1, head.n, f), head.n);
    assert_int_equal(fwrite(file, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
    check_rows("large.npy", "large", RAYTRAIN_INT32, expected, bytes);
    free(file);
    free(expected);
}

static void columns_are_named_after_files(void **state)
{
    static const char *const T[][2] = {
        {"x.npy", "x"},
        {"x1.npy", "x1"},
        {"x-0001.npy", "x"},
        {"features_7.npy", "features"},
        {"part.00000-of-00010.npy", "part"},
        {"0001.npy", "x"},
        {"no-ending", "no-ending"},
        {"a.b.npy", "a.b"},

    };

    (void)state;
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        npy_write(T[i][0], 1, TEXT("'|u1'", "(2,)"), "ab", 2);
        check_columns(T[i][0], NULL, NULL, T[i][1]);
    }
}

static void many_files_are_one_column(void **state)
{
    (void)state;
    assert_int_equal(mkdir("m", 0700), 0);
    npy_write("m/x-1.npy", 1, TEXT("'<i2'", "(2,)"), "\1\0\2\0", 4);
    npy_write("m/x-2.npy", 1, TEXT("'>i2'", "(0,)"), "", 0);
    npy_write("m/x-3.npy", 1, TEXT("'>i2'", "(1,)"), "\0\3", 2);
    check_rows("m", "x", RAYTRAIN_INT16, (const int16_t[]){1, 2, 3}, 6);
    npy_write("m/x-4.npy", 1, TEXT("'>i4'", "(1,)"), "\0\0\0\3", 4);
    check_refused("m", NULL, RAYTRAIN_ETYPE,
                  "\"x\" is int16 in m/x-1.npy, but int32 in m/x-4.npy");
}

static void labels_are_another_column(void **state)
{
    struct table t;
    struct error err;

    (void)state;
    npy_write("lx.npy", 1, TEXT("'|u1'", "(2, 1)"), "ab", 2);
    npy_write("ly.npy", 1, TEXT("'|u1'", "(2,)"), "cd", 2);
    check_columns("lx.npy", NULL, "ly.npy", "lx, ly");
    check_columns("lx.npy", NAMES("ly"), "ly.npy", "ly");
    check_columns("lx.npy", NULL, "lx", "lx");
    assert_int_equal(table_open("lx.npy", NULL, "lz", &t, &err), -1);
    assert_non_null(strstr(err.text, "neither a file nor a column: \"lz\""));
    npy_write("ly.npy", 1, TEXT("'|u1'", "(3,)"), "cde", 3);
    assert_int_equal(table_open("lx.npy", NULL, "ly.npy", &t, &err), -1);
    assert_non_null(strstr(err.text, "ly.npy: it has 3 rows, but \"lx\" has 2"));
}

/* Fields with padding, sub-arrays, and fields that are not numbers, in more rows than a
 * buffer holds. */
static void fields_of_records_are_columns(void **state)
{
    enum { ROWS = 2000, BYTES = 17 };
    static unsigned char file[ROWS * BYTES];
    static int32_t a[ROWS];
    static uint16_t b[ROWS][2];
    struct table t;
    struct error err;
    char text[256];

    (void)state;
    for (int32_t i = 0; i < ROWS; i++) {
        unsigned char *row = file + i * BYTES;
        uint32_t be = htobe32((uint32_t)i);

        a[i] = i;
        b[i][0] = (uint16_t)(3 * i);
        b[i][1] = (uint16_t)(5 * i);
        memcpy(row, "?", 1);
        memcpy(row + 1, &be, 4);
        memcpy(row + 8, (uint16_t[]){htole16(b[i][0]), htole16(b[i][1])}, 4);
        memcpy(row + 12, "text!", 5);
    }
    snprintf(text, sizeof text,
             TEXT("[('', '|V1'), ('a', '>i4'), ('', '|V3'), ('b', '<u2', (2,)), "
                  "('s', '|S5')]",
                  "(%d,)"),
             ROWS);
    npy_write("r.npy", 1, text, file, sizeof file);
    check_columns("r.npy", NULL, NULL, "a, b");
    check_columns("r.npy", NAMES("b"), "a", "a, b");
    check_rows("r.npy", "a", RAYTRAIN_INT32, a, sizeof a);
    check_rows("r.npy", "b", RAYTRAIN_UINT16, b, sizeof b);
    check_refused("r.npy", NAMES("s"), RAYTRAIN_ENOTSUP, "holds texts, not numbers");
    check_refused("r.npy", NAMES("z"), RAYTRAIN_ENOTFOUND, "no column");
    assert_int_equal(table_open("r.npy", NULL, NULL, &t, &err), 0);
    assert_int_equal(t.n_sources, 1);
    assert_false(t.sources[0].anonymous);
    table_clear(&t);
}

/* ---- Archives ---- */

static void member_add(const char *name, const char *text, const void *data, size_t n,
                       bool deflated, bool wide)
{
    B.n = 0;
    npy_put(&B, 1, text, data, n);
    zip_add(&Zip, name, &B, deflated, wide);
}

static void archive_make(bool deflated, bool wide, const char *comment)
{
    Zip.file.n = Zip.directory.n = 0;
    member_add("x.npy", TEXT("'|u1'", "(3, 2)"), "abcdef", 6, deflated, wide);
    member_add("y.npy", TEXT("'>i2'", "(3,)"), "\0\1\0\2\0\3", 6, deflated, wide);
    member_add("scalar.npy", TEXT("'<f8'", "()"), "12345678", 8, deflated, wide);
    member_add("words.npy", TEXT("'<U1'", "(3,)"), "123412341234", 12, deflated, wide);
    zip_add(&Zip, "README", &(struct bytes){.data = "hi", .n = 2}, false, wide);
    zip_finish(&Zip, wide, comment);
    bytes_write(&Zip.file, "a.npz");
}

static void members_that_are_left_out_are_listed(void **state)
{
    struct dataset_config cfg = {.name = (char *)"d", .path = (char *)"l.npz"};
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds;
    struct error err;
    char text[1024];

    (void)state;
    Zip.file.n = Zip.directory.n = 0;
    member_add("x.npy", FORTRAN("'|u1'", "(3, 2)"), "acebdf", 6, true, false);
    member_add("scalar.npy", TEXT("'<f8'", "()"), "12345678", 8, true, false);
    member_add("c.npy", TEXT("'<c8'", "(1,)"), "12345678", 8, true, false);
    member_add("o.npy", TEXT("'|O'", "(3,)"), "123", 3, true, false);
    member_add("r.npy", TEXT("[('a', '|u1'), ('s', '|S1')]", "(3,)"), "AaBbCc", 6, true,
               false);
    zip_add(&Zip, "README", &(struct bytes){.data = "hi", .n = 2}, false, false);
    zip_finish(&Zip, false, "");
    bytes_write(&Zip.file, "l.npz");
    check_rows("l.npz", "x", RAYTRAIN_UINT8, "abcdef", 6);
    assert_int_equal(dataset_open(&cfg, &env, &ds, &err), 0);
    assert_int_equal(dataset_n_columns(ds), 2); /* x, a */
    left_out_describe(dataset_left_out(ds), false, text, sizeof text);
    assert_string_equal(
        text,
        "\"scalar\" (has no rows: it is a scalar), \"c\" (holds complex numbers), "
        "\"o\" (holds Python objects, which are not read; save numbers), "
        "\"s\" (holds texts, not numbers), \"README\" (is not an array)");
    dataset_close(ds);
}

static void members_of_archives_are_columns(void **state)
{
    struct table t;
    struct error err;

    (void)state;
    for (int i = 0; i < 4; i++) {
        archive_make(i & 1, i & 2, i ? "a comment PK\5\6 ..." : "");
        check_columns("a.npz", NULL, NULL, "x, y");
        check_columns("a.npz", NAMES("x"), "y", "x, y");
        check_rows("a.npz", "x", RAYTRAIN_UINT8, "abcdef", 6);
        check_rows("a.npz", "y", RAYTRAIN_INT16, (const int16_t[]){1, 2, 3}, 6);
        check_refused("a.npz", NAMES("scalar"), RAYTRAIN_ENOTSUP, "it is a scalar");
        check_refused("a.npz", NAMES("words"), RAYTRAIN_ENOTSUP,
                      "holds texts, not numbers");
        check_refused("a.npz", NAMES("z"), RAYTRAIN_ENOTFOUND, "no column \"z\"");
        assert_int_equal(table_open("a.npz", NULL, NULL, &t, &err), 0);
        assert_int_equal(t.sources[0].anonymous, i & 1);
        assert_int_equal(t.n_sources, i & 1 ? 2 : 1);
        table_clear(&t);
    }
}

/* Bytes that repeat as deflate's longest matches, more than a step expands at a
 * time. */
static void large_members_are_expanded(void **state)
{
    static unsigned char zeros[60000];

    (void)state;
    Zip.file.n = Zip.directory.n = 0;
    member_add("z.npy", TEXT("'|u1'", "(60000,)"), zeros, sizeof zeros, true, false);
    zip_finish(&Zip, false, "");
    bytes_write(&Zip.file, "z.npz");
    check_rows("z.npz", "z", RAYTRAIN_UINT8, zeros, sizeof zeros);
}

static void columns_of_different_lengths_are_refused(void **state)
{
    (void)state;
    Zip.file.n = Zip.directory.n = 0;
    member_add("x.npy", TEXT("'|u1'", "(3,)"), "abc", 3, false, false);
    member_add("y.npy", TEXT("'|u1'", "(2,)"), "ab", 2, false, false);
    zip_finish(&Zip, false, "");
    bytes_write(&Zip.file, "l.npz");
    check_refused("l.npz", NULL, RAYTRAIN_EINVAL, "(the option `columns`)");
    check_columns("l.npz", NAMES("y"), NULL, "y");
}

/* ---- Bad files ---- */

static void bad_headers_are_refused(void **state)
{
    static const struct {
        const char *text;
        raytrain_status code;
        const char *message;
    } T[] = {
        {TEXT("'|u1'", "(5,)"), RAYTRAIN_ECORRUPT, "claims more elements"},
        {TEXT("'|u1'", "(3,)"), RAYTRAIN_ECORRUPT, "1 bytes follow"},
        {TEXT("'|u1'", "(4294967296, 4294967296, 2)"), RAYTRAIN_ECORRUPT, "damaged"},
        {TEXT("'|u1'", "(99999999999999999999,)"), RAYTRAIN_ECORRUPT, "damaged"},
        {TEXT("'|u1'", "()"), RAYTRAIN_ENOTSUP, "it is a scalar"},
        {TEXT("'|u1'", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), RAYTRAIN_ENOTSUP, "dimensions"},
        {TEXT("'|O'", "(4,)"), RAYTRAIN_ENOTSUP, "Python objects"},
        {TEXT("'<c8'", "(4,)"), RAYTRAIN_ECORRUPT, "claims more"},
        {TEXT("'<M8[ns]'", "(0,)"), RAYTRAIN_ECORRUPT, "4 bytes follow"},
        {TEXT("'|S4'", "(1,)"), RAYTRAIN_ENOTSUP, "holds texts, not numbers"},
        {TEXT("'|u'", "(4,)"), RAYTRAIN_ECORRUPT, "not that of an .npy file"},
        {TEXT("[('a', [('b', '|u1')])]", "(4,)"), RAYTRAIN_ENOTSUP, "hold records"},
        {TEXT("[(('t', 'a'), '|u1')]", "(4,)"), RAYTRAIN_ENOTSUP, "titles"},
        {TEXT("[('a', '|u1')]", "(2, 2)"), RAYTRAIN_ENOTSUP, "more than one dimension"},
        {TEXT("[('a', '|u1'), ('a', '|u1')]", "(2,)"), RAYTRAIN_EINVAL, "twice"},
        {TEXT("[('a', '|u1', (9223372036854775808, 4))]", "(2,)"), RAYTRAIN_ECORRUPT,
         "damaged"},
        {"{'descr': '|u1', 'shape': (4,)}", RAYTRAIN_ECORRUPT, "damaged"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (4,)", RAYTRAIN_ECORRUPT,
         "damaged"},
        {"__import__('os').abort()", RAYTRAIN_ECORRUPT, "damaged"},
        {"", RAYTRAIN_ECORRUPT, "damaged"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        npy_write("bad.npy", 1, T[i].text, "abcd", 4);
        check_refused("bad.npy", NULL, T[i].code, T[i].message);
    }
    npy_write("bad.npy", 4, TEXT("'|u1'", "(4,)"), "abcd", 4);
    check_refused("bad.npy", NULL, RAYTRAIN_ENOTSUP, "version");
}

/* Any truncation is found, and none crashes. */
static void truncated_files_are_refused(void **state)
{
    struct table t;
    struct error err;

    (void)state;
    npy_write("t.npy", 1, TEXT("'|u1'", "(4,)"), "abcd", 4);
    archive_make(true, true, "");
    for (off_t n = (off_t)Zip.file.n - 1; n > 0; n--) {
        assert_int_equal(truncate("a.npz", n), 0);
        assert_int_equal(table_open("a.npz", NULL, NULL, &t, &err), -1);
        if (n >= 132)
            continue;
        assert_int_equal(truncate("t.npy", n), 0);
        assert_int_equal(table_open("t.npy", NULL, NULL, &t, &err), -1);
    }
}

/* In a compressed archive every flipped bit that matters is found by the checksum. */
static void flipped_bits_do_not_change_rows(void **state)
{
    struct table t;
    struct error err;

    (void)state;
    archive_make(true, false, "");
    for (size_t i = 0; i < 8 * Zip.file.n; i++) {
        unsigned char bit = (unsigned char)(1 << i % 8);

        Zip.file.data[i / 8] ^= bit;
        bytes_write(&Zip.file, "f.npz");
        Zip.file.data[i / 8] ^= bit;
        if (table_open("f.npz", NAMES("x"), NULL, &t, &err) < 0)
            continue;
        table_clear(&t);
        check_rows("f.npz", "x", RAYTRAIN_UINT8, "abcdef", 6);
    }
}

static void other_archives_are_refused(void **state)
{
    struct dataset_config cfg = {
        .name = (char *)"d", .path = (char *)"o.npz", .format = (char *)"numpy"};
    struct table t;
    struct error err;

    (void)state;
    Zip.file.n = Zip.directory.n = 0;
    member_add("x.npy", TEXT("'|u1'", "(3,)"), "abc", 3, false, false);
    Zip.directory.data[10] = 12; /* bzip2 */
    zip_finish(&Zip, false, "");
    bytes_write(&Zip.file, "o.npz");
    check_refused("o.npz", NULL, RAYTRAIN_EINVAL,
                  "no column that is read: \"x\" (is compressed by method 12");
    check_refused("o.npz", NAMES("x"), RAYTRAIN_ENOTSUP, "method 12");
    Zip.file.n = Zip.directory.n = 0;
    zip_finish(&Zip, false, "");
    bytes_write(&Zip.file, "o.npz");
    assert_int_equal(
        reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err), -1);
    assert_non_null(strstr(err.text, "no columns"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(headers_are_read_as_python_writes_them),
        cmocka_unit_test(arrays_in_fortran_order_are_read_row_by_row),
        cmocka_unit_test(large_arrays_in_fortran_order_are_read),
        cmocka_unit_test(columns_are_named_after_files),
        cmocka_unit_test(many_files_are_one_column),
        cmocka_unit_test(labels_are_another_column),
        cmocka_unit_test(fields_of_records_are_columns),
        cmocka_unit_test(members_of_archives_are_columns),
        cmocka_unit_test(members_that_are_left_out_are_listed),
        cmocka_unit_test(large_members_are_expanded),
        cmocka_unit_test(columns_of_different_lengths_are_refused),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(flipped_bits_do_not_change_rows),
        cmocka_unit_test(other_archives_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
