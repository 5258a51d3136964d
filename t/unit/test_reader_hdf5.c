/* test_reader_hdf5.c - datasets of HDF5 files as columns: every layout and type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hdf5.h>

#include "data/batch.h"
#include "data/dataset.h"
#include "hdf5/h5.h"
#include "table/reader.h"
#include "util/fs.h"

#include "idx_file.h"

#define ROWS 40
#define WIDE 3

static hid_t File;

/* ---- Making files ---- */

static void file_make(hsize_t user_block)
{
    hid_t plist = H5Pcreate(H5P_FILE_CREATE);

    assert_true(H5Pset_userblock(plist, user_block) >= 0);
    File = H5Fcreate("d.h5", H5F_ACC_TRUNC, plist, H5P_DEFAULT);
    assert_true(File >= 0);
    H5Pclose(plist);
}

static void file_done(void)
{
    assert_true(H5Fclose(File) >= 0);
}

enum layout { CONTIGUOUS, CHUNKED, GZIP, COMPACT };

/* rows x WIDE of a type; element i is i % 100 if `memory` is an int32's type. */
static void dataset_make(const char *name, hid_t type, hsize_t rows, enum layout layout)
{
    static int32_t values[ROWS * WIDE];
    hsize_t dims[] = {rows, WIDE}, chunk[] = {7, 2};
    hid_t space = H5Screate_simple(2, dims, NULL),
          plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t d;

    for (int i = 0; i < ROWS * WIDE; i++)
        values[i] = i % 100;
    if (layout == CHUNKED || layout == GZIP)
        H5Pset_chunk(plist, 2, chunk);
    if (layout == GZIP) {
        H5Pset_shuffle(plist);
        H5Pset_deflate(plist, 4);
        H5Pset_fletcher32(plist);
    }
    if (layout == COMPACT)
        H5Pset_layout(plist, H5D_COMPACT);
    d = H5Dcreate2(File, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(d >= 0);
    if (rows == ROWS)
        assert_true(
            H5Dwrite(d, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(d);
    H5Sclose(space);
    H5Pclose(plist);
}

static void dataset_empty(const char *name, hid_t type, hid_t space, hid_t plist)
{
    hid_t d = H5Dcreate2(File, name, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);

    assert_true(d >= 0);
    H5Dclose(d);
}

/* ---- Looking at them ---- */

static int table_open(char **columns, const char *label, struct table *t,
                      struct error *err)
{
    struct dataset_config cfg = {.name = (char *)"d",
                                 .path = (char *)"d.h5",
                                 .label = (char *)label,
                                 .columns = columns};

    while (columns && columns[cfg.n_columns])
        cfg.n_columns++;
    memset(err, 0, sizeof *err);
    return reader_open(&(struct reader_job){.config = &cfg, .size = 1}, t, err);
}

#define NAMES(...) ((char **)(const char *[]){__VA_ARGS__, NULL})

static void check_refused(char **columns, raytrain_status code, const char *text)
{
    struct table t;
    struct error err;

    if (table_open(columns, NULL, &t, &err) == 0)
        fail_msg("accepted where \"%s\" was expected", text);
    if (err.code != code || !strstr(err.text, text))
        fail_msg("expected %d \"%s\", got %d \"%s\"", code, text, err.code, err.text);
    assert_non_null(strstr(err.text, "d.h5"));
}

static double half_value(uint16_t bits, int mantissa_bits, int bias)
{
    int e = (bits & 0x7fff) >> mantissa_bits;
    double m = (bits & ((1 << mantissa_bits) - 1)) / (double)(1 << mantissa_bits);

    if (e == 0)
        return m; /* only 0 comes up here */
    for (m = 1 + m; e > bias; e--)
        m *= 2;
    for (; e < bias; e++)
        m /= 2;
    return m;
}

static double value_get(const raytrain_tensor *x, size_t i)
{
    switch (x->dtype) {
    case RAYTRAIN_FLOAT32:
        return ((float *)x->data)[i];
    case RAYTRAIN_FLOAT64:
        return ((double *)x->data)[i];
    case RAYTRAIN_FLOAT16:
        return half_value(((uint16_t *)x->data)[i], 10, 15);
    case RAYTRAIN_BFLOAT16:
        return half_value(((uint16_t *)x->data)[i], 7, 127);
    case RAYTRAIN_INT8:
    case RAYTRAIN_UINT8:
        return ((int8_t *)x->data)[i];
    case RAYTRAIN_INT16:
    case RAYTRAIN_UINT16:
        return ((int16_t *)x->data)[i];
    case RAYTRAIN_INT32:
    case RAYTRAIN_UINT32:
        return ((int32_t *)x->data)[i];
    case RAYTRAIN_INT64:
    case RAYTRAIN_UINT64:
        return (double)((int64_t *)x->data)[i];
    case RAYTRAIN_BYTES:
        break;
    }
    return -1;
}

/* All rows of the first column, each read on its own, and in two parts. */
static void rows_read(const struct table *t, void *out, size_t n)
{
    const struct column *c = &t->columns[0];
    const struct extent *e = table_extent(t, c, 0);
    const struct packing *p = &t->packings[e->packing - 1];
    const struct source *s = &t->sources[e->source];
    unsigned char *again = malloc(n);
    struct error err;

    assert_true(e->packing > 0);
    assert_int_equal(n, t->rows * c->row_bytes);
    for (uint64_t i = 0; i < t->rows; i++)
        assert_int_equal(packing_read(t->cache, p, t->chunks, s, i, 1,
                                      (unsigned char *)out + i * c->row_bytes, &err),
                         0);
    assert_int_equal(packing_read(t->cache, p, t->chunks, s, 0, 5, again, &err), 0);
    assert_int_equal(packing_read(t->cache, p, t->chunks, s, 5, t->rows - 5,
                                  again + 5 * c->row_bytes, &err),
                     0);
    assert_memory_equal(out, again, n);
    free(again);
}

/* Column x of the file holds ROWS x WIDE of these numbers. */
static void check_values(raytrain_dtype dtype, bool in_place)
{
    struct dataset_config cfg = {.name = (char *)"d", .path = (char *)"d.h5"};
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds;
    raytrain_tensor x;
    struct table t;
    struct error err;
    uint64_t rows;

    assert_int_equal(table_open(NULL, NULL, &t, &err), 0);
    assert_int_equal(t.n_sources, 1);
    assert_int_equal(t.sources[0].anonymous, !in_place);
    table_clear(&t);
    assert_int_equal(dataset_open(&cfg, &env, &ds, &err), 0);
    assert_int_equal(dataset_rows(ds), ROWS);
    assert_int_equal(dataset_set_batch_size(ds, ROWS, &err), 0);
    assert_int_equal(dataset_next(ds, &rows, &err), 0);
    assert_int_equal(dataset_column(ds, "x", &x, &err), 0);
    assert_string_equal(raytrain_dtype_name(x.dtype), raytrain_dtype_name(dtype));
    assert_int_equal(x.ndim, 2);
    assert_int_equal(x.shape[0], ROWS);
    assert_int_equal(x.shape[1], WIDE);
    for (size_t i = 0; i < ROWS * WIDE; i++)
        assert_float_equal(value_get(&x, i), (double)(i % 100), 0);
    dataset_close(ds);
}

static void check_layouts(hid_t type, raytrain_dtype dtype, bool exact)
{
    static const struct {
        enum layout layout;
        hsize_t user_block;
        bool in_place;
    } T[] = {{CONTIGUOUS, 0, true}, {CONTIGUOUS, 1024, true}, {CHUNKED, 0, true},
             {GZIP, 0, true},       {GZIP, 512, false},       {COMPACT, 0, false}};

    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        file_make(T[i].user_block);
        dataset_make("x", type, ROWS, T[i].layout);
        file_done();
        check_values(dtype, T[i].in_place && exact);
    }
}

/* ---- Good files ---- */

static void every_type_layout_and_byte_order_is_read(void **state)
{
    (void)state;
    for (raytrain_dtype t = RAYTRAIN_FLOAT32; t < RAYTRAIN_BYTES; t++)
        for (int big = 0; big < 2; big++) {
            hid_t type = h5_dtype(t);

            assert_true(H5Tset_order(type, big ? H5T_ORDER_BE : H5T_ORDER_LE) >= 0);
            check_layouts(type, t, true);
            H5Tclose(type);
        }
}

static void odd_types_are_converted(void **state)
{
    hid_t bits24 = H5Tcopy(H5T_STD_I32LE), bits12 = H5Tcopy(H5T_STD_U16BE);

    (void)state;
    H5Tset_precision(bits24, 24);
    check_layouts(bits24, RAYTRAIN_INT32, false);
    H5Tset_precision(bits12, 12);
    check_layouts(bits12, RAYTRAIN_UINT16, false);
    H5Tclose(bits24);
    H5Tclose(bits12);
}

/* h5py's booleans are an enumeration of int8. */
static void enumerations_are_their_numbers(void **state)
{
    static signed char values[ROWS];
    hsize_t rows = ROWS, chunk = 9;
    hid_t type = H5Tenum_create(H5T_STD_I8LE), space = H5Screate_simple(1, &rows, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    signed char rows_got[ROWS];
    struct table t;
    struct error err;

    (void)state;
    H5Tenum_insert(type, "FALSE", &(signed char){0});
    H5Tenum_insert(type, "TRUE", &(signed char){1});
    for (int i = 0; i < ROWS; i++)
        values[i] = i % 3 == 0;
    H5Pset_chunk(plist, 1, &chunk);
    file_make(0);
    for (int k = 0; k < 2; k++) {
        hid_t d = H5Dcreate2(File, k ? "chunked" : "contiguous", type, space,
                             H5P_DEFAULT, k ? plist : H5P_DEFAULT, H5P_DEFAULT);

        assert_true(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
        H5Dclose(d);
    }
    file_done();
    H5Tclose(type);
    H5Sclose(space);
    H5Pclose(plist);
    assert_int_equal(table_open(NULL, NULL, &t, &err), 0);
    assert_int_equal(t.n_columns, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct column *c = &t.columns[i];
        const struct extent *e = table_extent(&t, c, 0);
        signed char got[ROWS];

        assert_int_equal(c->row.dtype, RAYTRAIN_INT8);
        assert_int_equal(c->row.ndim, 0);
        assert_false(t.sources[e->source].anonymous);
        assert_int_equal(e->packing, strcmp(c->name, "chunked") == 0);
        if (e->packing)
            continue;
        assert_int_equal(pread(t.sources[e->source].fd, got, ROWS, (off_t)e->offset),
                         ROWS);
        assert_memory_equal(got, values, ROWS);
    }
    assert_int_equal(table_ready(&t, &err), 0);
    assert_string_equal(t.columns[0].name, "chunked");
    rows_read(&t, rows_got, ROWS);
    assert_memory_equal(rows_got, values, ROWS);
    table_clear(&t);
}

/* Written never, and allocated late: it has no place yet, and holds its fill value. */
static void unwritten_rows_are_the_fill_value(void **state)
{
    hsize_t rows = 10;
    hid_t space = H5Screate_simple(1, &rows, NULL),
          plist = H5Pcreate(H5P_DATASET_CREATE);
    struct table t;
    struct error err;

    (void)state;
    H5Pset_fill_value(plist, H5T_NATIVE_INT16, &(short){77});
    file_make(0);
    dataset_empty("x", H5T_STD_I16LE, space, plist);
    file_done();
    H5Sclose(space);
    H5Pclose(plist);
    assert_int_equal(table_open(NULL, NULL, &t, &err), 0);
    assert_int_equal(table_ready(&t, &err), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(((const short *)t.sources[0].map)[i], 77);
    table_clear(&t);
}

/* Chunks in three dimensions, none of which divides the shape; some are not stored,
 * and one was stored without a filter. All are read as HDF5 reads them. */
static void any_chunks_are_read_as_hdf5_reads_them(void **state)
{
    static int16_t values[23][7][5], expected[23][7][5], got[23][7][5];
    hsize_t dims[] = {23, 7, 5}, chunk[] = {4, 3, 2}, begin[] = {5, 1, 1};
    hsize_t count[] = {9, 5, 3}, at[] = {8, 3, 2};
    hid_t space = H5Screate_simple(3, dims, NULL), d;
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    int16_t plain[24];
    struct table t;
    struct error err;

    (void)state;
    for (int i = 0; i < 23 * 7 * 5; i++)
        (&values[0][0][0])[i] = (int16_t)(i * 37);
    for (int i = 0; i < 24; i++)
        plain[i] = (int16_t)(1000 + i);
    H5Pset_fill_value(plist, H5T_NATIVE_INT16, &(short){77});
    H5Pset_chunk(plist, 3, chunk);
    H5Pset_shuffle(plist);
    H5Pset_deflate(plist, 9);
    file_make(0);
    d = H5Dcreate2(File, "x", H5T_STD_I16LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, NULL, count, NULL);
    assert_true(H5Dwrite(d, H5T_NATIVE_INT16, space, space, H5P_DEFAULT, values) >= 0);
    assert_true(H5Dwrite_chunk(d, H5P_DEFAULT, 3, at, sizeof plain, plain) >= 0);
    assert_true(H5Dread(d, H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, expected) >=
                0);
    H5Dclose(d);
    file_done();
    H5Sclose(space);
    H5Pclose(plist);
    assert_int_equal(expected[0][0][0], 77);
    assert_int_equal(expected[8][3][2], 1000);
    assert_int_equal(table_open(NULL, NULL, &t, &err), 0);
    assert_int_equal(t.n_sources, 1);
    assert_false(t.sources[0].anonymous);
    assert_int_equal(table_ready(&t, &err), 0);
    rows_read(&t, got, sizeof got);
    assert_memory_equal(got, expected, sizeof got);
    table_clear(&t);
}

/* More bands than the cache may hold, of many columns in turn, and in any order. */
static void chunks_are_read_in_any_order(void **state)
{
    struct dataset_config cfg = {
        .name = (char *)"d", .path = (char *)"d.h5", .shuffle = true};
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds;
    struct table t;
    struct epoch_order order = EPOCH_ORDER_INIT;
    struct frame b;
    struct error err;
    char name[16];

    (void)state;
    file_make(0);
    for (int i = 0; i < 80; i++) {
        snprintf(name, sizeof name, "c%02d", i);
        dataset_make(name, H5T_STD_I32BE, ROWS, GZIP);
    }
    file_done();
    assert_int_equal(table_open(NULL, NULL, &t, &err), 0);
    assert_int_equal(t.n_packings, 80);
    assert_int_equal(table_ready(&t, &err), 0);
    epoch_order_set(&order, ROWS, &(struct order_kind){1, 0}, 1, 0, &err);
    assert_int_equal(batch_init(&b, &t, &err), 0);
    assert_int_equal(
        batch_read(&b, &t, &(struct batch_rows){&order, 0, ROWS, 0, 0}, &err), 0);
    for (uint64_t i = 0; i < ROWS; i++)
        for (size_t k = 0; k < 80; k++)
            assert_int_equal(((int32_t *)b.columns[k].data)[i * WIDE],
                             epoch_order_row(&order, i) * WIDE % 100);
    frame_clear(&b);
    table_clear(&t);
    /* In any order, rows that fit into memory are unpacked once. */
    assert_int_equal(
        reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err), 0);
    assert_int_equal(t.n_packings, 0);
    assert_true(t.sources[0].anonymous);
    table_clear(&t);
    assert_int_equal(dataset_open(&cfg, &env, &ds, &err), 0);
    dataset_close(ds);
}

/* Every byte of the chunks is flipped in turn: an error, or rows as they were. */
static void damaged_chunks_are_found(void **state)
{
    struct table t;
    struct error err;
    unsigned char row[WIDE * 4], byte;
    int damaged = 0;

    (void)state;
    file_make(0);
    dataset_make("x", H5T_STD_I32LE, ROWS, GZIP);
    file_done();
    assert_int_equal(table_open(NULL, NULL, &t, &err), 0);
    for (uint32_t i = 0; i < t.chunks[0].bytes; i++) {
        int fd = open("d.h5", O_RDWR);
        off_t at = (off_t)(t.chunks[0].offset + i);

        assert_int_equal(table_ready(&t, &err), 0);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        damaged += packing_read(t.cache, t.packings, t.chunks, t.sources, 0, 1, row,
                                &err) < 0 &&
                   err.code == RAYTRAIN_ECORRUPT;
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
        packing_cache_destroy(t.cache);
        t.cache = NULL;
    }
    assert_int_equal(damaged, t.chunks[0].bytes); /* there is a checksum */
    table_clear(&t);
}

/* Of the file of the following test. */
static void check_left_out(void)
{
    struct dataset_config cfg = {.name = (char *)"d", .path = (char *)"d.h5"};
    struct dataset_env env = {.size = 1};
    raytrain_dataset *ds;
    struct error err;
    char text[4096];

    assert_int_equal(dataset_open(&cfg, &env, &ds, &err), 0);
    assert_int_equal(dataset_n_columns(ds), 2);
    left_out_describe(dataset_left_out(ds), false, text, sizeof text);
    assert_string_equal(
        text, "\"dangling\" (is a link to nothing), "
              "\"elsewhere\" (is a link to another file, which is not followed), "
              "\"group/deep\" (is in a group: name it in the option `columns`), "
              "\"array\" (holds arrays), \"complex\" (holds complex numbers), "
              "\"compound\" (holds compounds), "
              "\"external\" (has its rows in external files, which are not read), "
              "\"nothing\" (has no rows: it is a scalar, or empty), "
              "\"scalar\" (has no rows: it is a scalar, or empty), "
              "\"virtual\" (is virtual: its rows are in other files; name those), "
              "\"wide\" (holds numbers of more than 64 bits), "
              "\"strings\" (holds several strings in each row)");
    left_out_describe(dataset_left_out(ds), false, text, 100);
    assert_string_equal(text, "\"dangling\" (is a link to nothing) and 11 others");
    dataset_close(ds);
}

/* Datasets that cannot be a column are left out and listed, or refused if asked for. A
 * name in Latin-1 is one in UTF-8. */
static void other_datasets_are_skipped_unless_named(void **state)
{
    static const struct {
        const char *name, *why;
    } T[] = {
        {"array", "it holds arrays"},
        {"complex", "it holds complex numbers"},
        {"compound", "it holds compounds"},
        {"dangling", "no dataset \"dangling\"; there are: array, complex, compound"},
        {"elsewhere", "no dataset \"elsewhere\""},
        {"external", "it has its rows in external files"},
        {"group", "is a group; name a dataset in it"},
        {"nothing", "it has no rows: it is a scalar, or empty"},
        {"scalar", "it has no rows: it is a scalar, or empty"},
        {"strings", "it holds several strings in each row"},
        {"virtual", "it is virtual"},
        {"wide", "it holds numbers of more than 64 bits"},
    };
    hsize_t rows = ROWS, three = 3;
    hid_t pairs = H5Screate_simple(2, (hsize_t[]){ROWS, 2}, NULL);
    hid_t space = H5Screate_simple(1, &rows, NULL), scalar = H5Screate(H5S_SCALAR);
    hid_t null = H5Screate(H5S_NULL), compound = H5Tcreate(H5T_COMPOUND, 8);
    hid_t string = H5Tcopy(H5T_C_S1), wide = H5Tcopy(H5T_NATIVE_LDOUBLE);
    hid_t array = H5Tarray_create2(H5T_STD_I32LE, 1, &three);
    hid_t complex = H5Tcreate(H5T_COMPOUND, 8);
    hid_t external = H5Pcreate(H5P_DATASET_CREATE);
    hid_t virtual = H5Pcreate(H5P_DATASET_CREATE);
    struct table t;
    struct error err;

    (void)state;
    H5Tinsert(compound, "a", 0, H5T_STD_I32LE);
    H5Tinsert(complex, "r", 0, H5T_IEEE_F32LE);
    H5Tinsert(complex, "i", 4, H5T_IEEE_F32LE);
    H5Pset_external(external, "raw.bin", 0, ROWS);
    H5Pset_virtual(virtual, space, "other.h5", "x", space);
    file_make(0);
    dataset_make("x", H5T_STD_I32LE, ROWS, CONTIGUOUS);
    file_done();
    assert_int_equal(rename("d.h5", "d2.h5"), 0); /* a good file, but another one */
    file_make(0);
    dataset_make("x", H5T_STD_I32LE, ROWS, CONTIGUOUS);
    dataset_empty("array", array, space, H5P_DEFAULT);
    dataset_empty("complex", complex, space, H5P_DEFAULT);
    dataset_empty("compound", compound, space, H5P_DEFAULT);
    dataset_empty("external", H5T_STD_I8LE, space, external);
    dataset_empty("nothing", H5T_STD_I8LE, null, H5P_DEFAULT);
    dataset_empty("scalar", H5T_STD_I8LE, scalar, H5P_DEFAULT);
    dataset_empty("strings", string, pairs, H5P_DEFAULT);
    dataset_empty("virtual", H5T_STD_I8LE, space, virtual);
    dataset_empty("wide", wide, space, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(File, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    dataset_make("group/deep", H5T_STD_I32LE, ROWS, CONTIGUOUS);
    dataset_make("gr\xf6\xdf"
                 "e",
                 H5T_STD_I32LE, ROWS, CONTIGUOUS);
    H5Lcreate_soft("/not/there", File, "dangling", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("d2.h5", "/x", File, "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
    file_done();
    H5Tclose(array);
    H5Tclose(complex);
    H5Tclose(compound);
    H5Tclose(string);
    H5Tclose(wide);
    H5Sclose(pairs);
    H5Sclose(space);
    H5Sclose(scalar);
    H5Sclose(null);
    H5Pclose(external);
    H5Pclose(virtual);
    check_left_out();
    for (size_t i = 0; i < sizeof T / sizeof *T; i++)
        check_refused(NAMES("x", T[i].name),
                      strstr(T[i].why, "no dataset") ? RAYTRAIN_ENOTFOUND
                      : strcmp(T[i].name, "group")   ? RAYTRAIN_ENOTSUP
                                                     : RAYTRAIN_EINVAL,
                      T[i].why);
    assert_int_equal(table_open(NAMES("gr\xc3\xb6\xc3\x9f"
                                      "e"),
                                NULL, &t, &err),
                     0);
    assert_string_equal(t.columns[0].name, "gr\xc3\xb6\xc3\x9f"
                                           "e");
    table_clear(&t);
}

static void columns_and_label_select_datasets(void **state)
{
    struct table t;
    struct error err;

    (void)state;
    file_make(0);
    H5Gclose(H5Gcreate2(File, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    dataset_make("g/inner", H5T_STD_I32LE, ROWS, CONTIGUOUS);
    dataset_make("x", H5T_STD_I32LE, ROWS, CONTIGUOUS);
    dataset_make("y", H5T_STD_I8LE, ROWS, COMPACT);
    H5Lcreate_soft("/g/inner", File, "soft", H5P_DEFAULT, H5P_DEFAULT);
    file_done();
    assert_int_equal(table_open(NULL, NULL, &t, &err), 0);
    assert_int_equal(t.n_columns, 3); /* soft, x, y */
    assert_int_equal(t.n_sources, 2);
    table_clear(&t);
    assert_int_equal(table_open(NAMES("/g/inner", "y"), NULL, &t, &err), 0);
    assert_string_equal(t.columns[0].name, "/g/inner");
    assert_string_equal(t.columns[1].name, "y");
    table_clear(&t);
    assert_int_equal(table_open(NAMES("x"), "y", &t, &err), 0); /* and the label */
    assert_int_equal(t.n_columns, 2);
    table_clear(&t);
    assert_int_equal(table_open(NAMES("y"), NULL, &t, &err), 0);
    assert_int_equal(t.n_sources, 1); /* the file itself is not needed */
    assert_true(t.sources[0].anonymous);
    table_clear(&t);
    assert_int_equal(table_open(NULL, "z", &t, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "no dataset \"z\"; there are: soft, x, y"));
    check_refused(NAMES("x", "x"), RAYTRAIN_EINVAL, "is there twice");
}

/* ---- Bad files ---- */

static void columns_of_different_lengths_are_refused(void **state)
{
    struct table t;
    struct error err;

    (void)state;
    file_make(0);
    dataset_make("mean", H5T_STD_I32LE, 1, CONTIGUOUS);
    dataset_make("none", H5T_STD_I32LE, 0, CHUNKED);
    dataset_make("x", H5T_STD_I32LE, ROWS, CONTIGUOUS);
    file_done();
    check_refused(NULL, RAYTRAIN_EINVAL, "(the option `columns`)");
    check_refused(NAMES("none"), RAYTRAIN_EINVAL, "it has no rows");
    assert_int_equal(table_open(NAMES("x"), NULL, &t, &err), 0);
    table_clear(&t);
}

static void files_larger_than_the_memory_are_read(void **state)
{
    hsize_t dims[] = {UINT64_C(1) << 40, 1024}, chunk[] = {1024, 1024};
    hsize_t bomb[] = {UINT64_C(1) << 62, 1024};
    hid_t space = H5Screate_simple(2, dims, NULL),
          plist = H5Pcreate(H5P_DATASET_CREATE);

    (void)state;
    H5Pset_chunk(plist, 2, chunk);
    file_make(0);
    dataset_empty("x", H5T_STD_I8LE, space, plist);
    file_done();
    check_refused(NULL, RAYTRAIN_EFIT, "MiB are available: store it uncompressed");
    H5Sclose(space);
    space = H5Screate_simple(2, bomb, NULL); /* more bytes than a number can tell */
    file_make(0);
    dataset_empty("x", H5T_STD_I8LE, space, plist);
    file_done();
    check_refused(NULL, RAYTRAIN_ECORRUPT, "impossible shape");
    H5Sclose(space);
    H5Pclose(plist);
}

static void truncated_and_foreign_files_are_refused(void **state)
{
    static struct bytes whole;
    size_t in_place;
    struct table t;
    struct error err;
    char *data;

    (void)state;
    file_make(0);
    dataset_make("x", H5T_STD_I32LE, ROWS, GZIP);
    file_done();
    assert_int_equal(fs_read("d.h5", &data, &whole.n, &err), 0);
    memcpy(whole.data, data, whole.n);
    free(data);
    in_place = whole.n;
    for (size_t n = 0; n < in_place; n += 64) {
        whole.n = n;
        bytes_write(&whole, "d.h5");
        if (table_open(NULL, NULL, &t, &err) == 0)
            fail_msg("accepted %zu bytes of %zu", n, in_place);
    }
    whole.n = 512; /* the signature, then nothing that makes sense */
    memset(whole.data + 8, 0xa5, 504);
    bytes_write(&whole, "d.h5");
    check_refused(NULL, RAYTRAIN_ECORRUPT, "cannot open it as HDF5: unable to");
}

/* ---- Manners ---- */

static int error_handler_calls;

static herr_t error_handler(hid_t stack, void *arg)
{
    (void)stack;
    (void)arg;
    error_handler_calls++;
    return 0;
}

static void the_users_hdf5_is_left_alone(void **state)
{
    H5E_auto2_t func;
    void *arg;
    struct table t;
    struct error err;
    hid_t mine;

    (void)state;
    file_make(0);
    dataset_make("x", H5T_STD_I32LE, ROWS, CHUNKED);
    file_done();
    mine = H5Fopen("d.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(mine >= 0);
    H5Eset_auto2(H5E_DEFAULT, error_handler, &error_handler_calls);
    assert_int_equal(table_open(NULL, NULL, &t, &err), 0);
    table_clear(&t);
    check_refused(NAMES("z"), RAYTRAIN_ENOTFOUND, "no dataset \"z\"; there are: x");
    H5Eget_auto2(H5E_DEFAULT, &func, &arg);
    assert_true(func == error_handler && arg == &error_handler_calls);
    assert_int_equal(error_handler_calls, 0);
    assert_int_equal(H5Fget_obj_count(mine, H5F_OBJ_ALL), 1);
    assert_true(H5Fclose(mine) >= 0);
}

/* Runs last: none of the others left an identifier open. */
static void nothing_is_left_open(void **state)
{
    (void)state;
    assert_int_equal(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_layout_and_byte_order_is_read),
        cmocka_unit_test(odd_types_are_converted),
        cmocka_unit_test(enumerations_are_their_numbers),
        cmocka_unit_test(unwritten_rows_are_the_fill_value),
        cmocka_unit_test(any_chunks_are_read_as_hdf5_reads_them),
        cmocka_unit_test(chunks_are_read_in_any_order),
        cmocka_unit_test(damaged_chunks_are_found),
        cmocka_unit_test(other_datasets_are_skipped_unless_named),
        cmocka_unit_test(columns_and_label_select_datasets),
        cmocka_unit_test(columns_of_different_lengths_are_refused),
        cmocka_unit_test(files_larger_than_the_memory_are_read),
        cmocka_unit_test(truncated_and_foreign_files_are_refused),
        cmocka_unit_test(the_users_hdf5_is_left_alone),
        cmocka_unit_test(nothing_is_left_open),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
