/* test_foreign.c - HDF5 files of other programs, opened like checkpoints. */
#include "foreign_file.h"

#include <unistd.h>

#include "scratch.h"
#include "thread_comm.h"

/* ---- Numbers ---- */

static void check_numbers(raytrain_checkpoint *ck, const char *name,
                          raytrain_dtype dtype, const unsigned char *values)
{
    size_t size = raytrain_dtype_size(dtype);
    const raytrain_slab slab = {.start = {3, 1}, .count = {6, 3}};
    unsigned char got[ROWS * WIDE * 8];
    raytrain_tensor t;
    struct error err;

    assert_int_equal(checkpoint_info(ck, name, &t, &err), 0);
    assert_int_equal(t.dtype, dtype);
    assert_int_equal(t.ndim, 2);
    assert_true(t.shape[0] == ROWS && t.shape[1] == WIDE);
    t.data = got;
    if (checkpoint_get(ck, name, &t, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_memory_equal(got, values, ROWS * WIDE * size);
    if (checkpoint_get(ck, name, &t, &slab, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t r = 0; r < 6; r++)
        assert_memory_equal(got + r * 3 * size, values + ((3 + r) * WIDE + 1) * size,
                            3 * size);
}

/* Which of their bytes lie elsewhere in the file is HDF5's to know: user block 512. */
static void every_type_byte_order_and_layout_comes_back(void **state)
{
    static const unsigned char zeros[ROWS * WIDE * 8];
    unsigned char values[ROWS * WIDE * 8];
    raytrain_checkpoint *ck;
    char name[64];

    (void)state;
    for (hsize_t user_block = 0; user_block <= 512; user_block += 512) {
        file_begin(user_block);
        for (raytrain_dtype t = RAYTRAIN_FLOAT32; t <= RAYTRAIN_BYTES; t++) {
            values_make(values, sizeof values, t);
            for (enum layout l = 0; l < N_LAYOUTS; l++)
                for (int big = 0; big < (t == RAYTRAIN_BYTES ? 1 : 2); big++)
                    numbers_add(t, l, big, values);
        }
        file_end();
        ck = open_it();
        for (raytrain_dtype t = RAYTRAIN_FLOAT32; t <= RAYTRAIN_BYTES; t++) {
            values_make(values, sizeof values, t);
            for (enum layout l = 0; l < N_LAYOUTS; l++)
                for (int big = 0; big < (t == RAYTRAIN_BYTES ? 1 : 2); big++)
                    check_numbers(ck, numbers_name(t, l, big, name), t,
                                  l == UNWRITTEN ? zeros : values);
        }
        checkpoint_destroy(ck);
    }
}

static void scalars_and_empty_datasets_come_back(void **state)
{
    hid_t none = space_of(2, 0), eight = space_of(8, 2);
    const float pi = 3.14f, row[2 * WIDE] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    float got[2 * WIDE] = {0};
    raytrain_tensor t = {.dtype = RAYTRAIN_FLOAT32, .data = got};
    raytrain_checkpoint *ck;
    struct error err;

    (void)state;
    file_begin(0);
    scalar_add("pi", H5T_IEEE_F32LE, &pi);
    scalar_add("pi-big", H5T_IEEE_F32BE, NULL);
    dataset_add("none", H5T_IEEE_F32LE, none, H5P_DEFAULT, 0, NULL);
    dataset_add("eight", H5T_IEEE_F32LE, eight, H5P_DEFAULT, H5T_IEEE_F32LE, row);
    file_end();
    H5Sclose(none);
    H5Sclose(eight);
    ck = open_it();
    assert_int_equal(checkpoint_get(ck, "pi", &t, NULL, &err), 0);
    assert_true(got[0] == pi);
    assert_int_equal(checkpoint_get(ck, "pi-big", &t, NULL, &err), 0);
    assert_true(got[0] == 0);
    assert_int_equal(checkpoint_info(ck, "none", &t, &err), 0);
    assert_true(t.ndim == 2 && t.shape[0] == 0 && t.shape[1] == WIDE);
    assert_int_equal(checkpoint_get(ck, "none", &t, NULL, &err), 0);
    assert_int_equal(checkpoint_info(ck, "eight", &t, &err), 0);
    assert_int_equal(t.ndim, 8);
    t.data = got;
    assert_int_equal(checkpoint_get(ck, "eight", &t, NULL, &err), 0);
    assert_memory_equal(got, row, sizeof row);
    checkpoint_destroy(ck);
}

static void wrong_shapes_types_and_names_are_refused(void **state)
{
    int32_t got[4] = {0};
    raytrain_tensor t = {.dtype = RAYTRAIN_INT32, .data = got};
    raytrain_checkpoint *ck;
    struct error err;
    char *text = NULL;

    (void)state;
    file_begin(0);
    int_add("group/int");
    file_end();
    ck = open_it();
    assert_int_equal(checkpoint_get(ck, "group/int", &t, NULL, &err), 0);
    assert_int_equal(got[0], 9);
    t.dtype = RAYTRAIN_FLOAT32;
    assert_int_equal(checkpoint_get(ck, "group/int", &t, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ETYPE);
    assert_int_equal(checkpoint_get_string(ck, "group/int", &text, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ETYPE);
    assert_int_equal(checkpoint_info(ck, "group/inf", &t, &err), -1);
    check_error(&err, RAYTRAIN_ENOTFOUND, "is it 'group/int'?");
    assert_int_equal(checkpoint_info(ck, "group", &t, &err), -1);
    check_error(&err, RAYTRAIN_ENOTFOUND, "only a group");
    checkpoint_destroy(ck);
}

/* h5py's booleans are an enumeration of int8. */
static void enumerations_are_integers(void **state)
{
    hid_t type = H5Tenum_create(H5T_STD_I8LE), space = space_of(2, 4);
    hid_t plist = plist_of(GZIP);
    const int8_t no = 0, yes = 1, values[4 * WIDE] = {1, 0, 0, 1, 1};
    const char *const names[] = {"bool", "bool-gzip", NULL};
    raytrain_checkpoint *ck;
    struct error err;

    (void)state;
    assert_true(H5Tenum_insert(type, "FALSE", &no) >= 0);
    assert_true(H5Tenum_insert(type, "TRUE", &yes) >= 0);
    file_begin(0);
    dataset_add("bool", type, space, H5P_DEFAULT, type, values);
    dataset_add("bool-gzip", type, space, plist, type, values);
    file_end();
    H5Pclose(plist);
    H5Sclose(space);
    H5Tclose(type);
    ck = open_it();
    check_names(ck, names);
    for (int i = 0; names[i]; i++) {
        int8_t got[4 * WIDE] = {9, 9, 9, 9, 9};
        raytrain_tensor t = {
            .dtype = RAYTRAIN_INT8, .data = got, .ndim = 2, .shape = {4, WIDE}};

        if (checkpoint_get(ck, names[i], &t, NULL, &err) < 0)
            fail_msg("%s", err.text);
        assert_memory_equal(got, values, sizeof got);
    }
    checkpoint_destroy(ck);
}

/* ---- Strings ---- */

static void strings_of_every_kind_come_back(void **state)
{
    static const struct {
        const char *name, *value;
        size_t bytes; /* 0: variable */
        H5T_str_t pad;
        const char *expected;
    } rows[] = {
        {"variable", "grüß Gott", 0, H5T_STR_NULLTERM, "grüß Gott"},
        {"fixed", "fixed", 8, H5T_STR_NULLTERM, "fixed"},
        {"full", "12345678", 8, H5T_STR_NULLPAD, "12345678"},
        {"fortran", "ab      ", 8, H5T_STR_SPACEPAD, "ab"},
        {"empty", "", 1, H5T_STR_NULLTERM, ""},
        {"unwritten", NULL, 0, H5T_STR_NULLTERM, ""},
    };
    raytrain_checkpoint *ck;
    raytrain_tensor t;
    struct error err;
    char *text;

    (void)state;
    file_begin(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hid_t type = H5Tcopy(H5T_C_S1);
        char fixed[9] = "";

        if (rows[i].bytes)
            memcpy(fixed, rows[i].value, strlen(rows[i].value));
        H5Tset_size(type, rows[i].bytes ? rows[i].bytes : H5T_VARIABLE);
        H5Tset_strpad(type, rows[i].pad);
        scalar_add(rows[i].name, type,
                   rows[i].bytes   ? (const void *)fixed
                   : rows[i].value ? (const void *)&rows[i].value
                                   : NULL);
        H5Tclose(type);
    }
    file_end();
    ck = open_it();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (checkpoint_get_string(ck, rows[i].name, &text, &err) < 0)
            fail_msg("%s", err.text);
        assert_string_equal(text, rows[i].expected);
        free(text);
        assert_int_equal(checkpoint_info(ck, rows[i].name, &t, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_ETYPE);
    }
    checkpoint_destroy(ck);
}

/* ---- The walk ---- */

static void each_dataset_is_listed_once_whatever_links_there_are(void **state)
{
    const char *const names[] = {"a/b/deep", "a-b", "z", NULL};
    raytrain_checkpoint *ck;
    raytrain_tensor t;
    struct error err;

    (void)state;
    file_begin(0);
    int_add("secret");
    file_end();
    rename(FILE_NAME, "outside.h5");
    file_begin(0);
    int_add("z");
    int_add("a/b/deep");
    int_add("a-b");
    H5Lcreate_soft("/a", File, "a/b/soft-cycle", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/a-b", File, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/gone", File, "dangling", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(File, "a", File, "a/b/hard-cycle", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(File, "/", File, "a/root", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("outside.h5", "/secret", File, "out", H5P_DEFAULT, H5P_DEFAULT);
    file_end();
    ck = open_it();
    check_names(ck, names);
    assert_int_equal(checkpoint_info(ck, "out", &t, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    checkpoint_destroy(ck);
    file_begin(0);
    file_end();
    ck = open_it();
    check_names(ck, (const char *const[]){NULL});
    checkpoint_destroy(ck);
}

static void groups_that_are_too_deep_are_refused(void **state)
{
    char name[2 * 700];

    (void)state;
    for (int i = 0; i < 700; i++)
        memcpy(name + 2 * i, "g/", 2);
    strcpy(name + sizeof name - 2, "i");
    file_begin(0);
    int_add(name);
    file_end();
    check_refused(FILE_NAME, RAYTRAIN_ENOTSUP, "deep");
}

/* ---- What is left out ---- */

static void types_add(void)
{
    const hsize_t two[] = {2};
    hid_t compound = H5Tcreate(H5T_COMPOUND, 8), odd = H5Tcopy(H5T_STD_I32LE);
    hid_t list = H5Tvlen_create(H5T_STD_I32LE), opaque = H5Tcreate(H5T_OPAQUE, 16);
    hid_t array = H5Tarray_create2(H5T_STD_I32LE, 1, two);

    H5Tinsert(compound, "a", 0, H5T_IEEE_F32LE);
    H5Tinsert(compound, "b", 4, H5T_IEEE_F32LE);
    H5Tset_precision(odd, 24);
    H5Tset_size(odd, 3);
    scalar_add("compound", compound, NULL);
    scalar_add("odd", odd, NULL);
    scalar_add("vlen", list, NULL);
    scalar_add("opaque", opaque, NULL);
    scalar_add("array", array, NULL);
    scalar_add("bits", H5T_STD_B8LE, NULL);
    scalar_add("reference", H5T_STD_REF_OBJ, NULL);
    H5Tclose(compound);
    H5Tclose(odd);
    H5Tclose(list);
    H5Tclose(opaque);
    H5Tclose(array);
}

static void shapes_add(void)
{
    hid_t nine = space_of(9, 1), null = H5Screate(H5S_NULL), row = space_of(2, 4);
    hid_t text = H5Tcopy(H5T_C_S1), external = H5Pcreate(H5P_DATASET_CREATE);
    hid_t virtual = H5Pcreate(H5P_DATASET_CREATE), chunks = plist_of(CHUNKED);
    const hsize_t huge[] = {1ull << 40, 1ull << 40};
    hid_t large = H5Screate_simple(2, huge, NULL);

    dataset_add("nine", H5T_STD_I32LE, nine, H5P_DEFAULT, 0, NULL);
    dataset_add("null", H5T_STD_I32LE, null, H5P_DEFAULT, 0, NULL);
    dataset_add("strings", text, row, H5P_DEFAULT, 0, NULL);
    dataset_add("huge", H5T_STD_I32LE, large, chunks, 0, NULL);
    H5Pset_external(external, "outside.bin", 0, 4 * WIDE * 4);
    dataset_add("external", H5T_STD_I32LE, row, external, 0, NULL);
    H5Pset_virtual(virtual, row, "outside.h5", "/x", row);
    dataset_add("virtual", H5T_STD_I32LE, row, virtual, 0, NULL);
    H5Sclose(nine);
    H5Sclose(null);
    H5Sclose(row);
    H5Sclose(large);
    H5Tclose(text);
    H5Pclose(external);
    H5Pclose(virtual);
    H5Pclose(chunks);
}

static void other_datasets_are_left_out_and_named_with_their_kind(void **state)
{
    static const char *const rows[][2] = {
        {"compound", "compounds"},   {"odd", "of a size or format"},
        {"vlen", "variable length"}, {"opaque", "opaque"},
        {"array", "arrays"},         {"bits", "bit fields"},
        {"reference", "references"}, {"nine", "more than 8 dimensions"},
        {"null", "no shape"},        {"strings", "array of strings"},
        {"huge", "larger than"},     {"external", "other files"},
        {"virtual", "other files"},  {"raytrain/session/random/rank", "name"},
        {"bell\a", "name"},
    };
    const char *const names[] = {"ok", NULL};
    raytrain_checkpoint *ck;
    struct error err;
    char *text = NULL;

    (void)state;
    file_begin(0);
    int_add("ok");
    int_add("raytrain/session/random/rank");
    int_add("bell\a");
    types_add();
    shapes_add();
    file_end();
    ck = open_it();
    check_names(ck, names);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        raytrain_tensor t;

        assert_int_equal(checkpoint_info(ck, rows[i][0], &t, &err), -1);
        check_error(&err, RAYTRAIN_ENOTSUP, rows[i][1]);
        assert_int_equal(checkpoint_get_string(ck, rows[i][0], &text, &err), -1);
        check_error(&err, RAYTRAIN_ENOTSUP, rows[i][1]);
    }
    checkpoint_destroy(ck);
}

static size_t filter_nothing(unsigned flags, size_t n_values, const unsigned *values,
                             size_t bytes, size_t *room, void **buffer)
{
    (void)flags;
    (void)n_values;
    (void)values;
    (void)room;
    (void)buffer;
    return bytes;
}

static void an_unknown_filter_is_reported_when_its_dataset_is_read(void **state)
{
    const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, 300,  1,    1,
                                 "exotic",         NULL, NULL, filter_nothing};
    hid_t plist = plist_of(CHUNKED), space = space_of(2, ROWS);
    int32_t values[ROWS * WIDE] = {0};
    raytrain_tensor t = {.data = values};
    raytrain_checkpoint *ck;
    struct error err;

    (void)state;
    assert_true(H5Zregister(&filter) >= 0);
    H5Pset_filter(plist, 300, 0, 0, NULL);
    file_begin(0);
    int_add("plain");
    dataset_add("packed", H5T_STD_I32LE, space, plist, H5T_STD_I32LE, values);
    file_end();
    H5Pclose(plist);
    H5Sclose(space);
    H5Zunregister(300);
    ck = open_it();
    assert_int_equal(checkpoint_info(ck, "packed", &t, &err), 0);
    t.data = values;
    assert_int_equal(checkpoint_get(ck, "packed", &t, NULL, &err), -1);
    check_error(&err, RAYTRAIN_ENOTSUP, "filter");
    assert_non_null(strstr(err.text, "packed"));
    assert_int_equal(checkpoint_info(ck, "plain", &t, &err), 0);
    checkpoint_destroy(ck);
}

/* ---- Several ranks ---- */

/* Each reads its row, without HDF5, and finds the same names. */
static int row_get(struct comm *comm, void *arg)
{
    raytrain_checkpoint *ck = NULL;
    const unsigned char *values = arg;
    unsigned char got[WIDE * 4];
    raytrain_tensor t = {
        .dtype = RAYTRAIN_INT32, .data = got, .ndim = 2, .shape = {ROWS, WIDE}};
    const raytrain_slab slab = {.start = {(uint64_t)comm->rank}, .count = {1, WIDE}};
    struct error err;
    int rc = 0;

    if (checkpoint_open_any(comm, FILE_NAME, &ck, &err) < 0)
        return 1;
    if (checkpoint_get(ck, "int32/layout0-0", &t, &slab, &err) < 0 ||
        memcmp(got, values + (size_t)comm->rank * sizeof got, sizeof got) != 0)
        rc = 2;
    else if (strcmp(checkpoint_name(ck, 0), "int32/layout0-0") != 0 ||
             checkpoint_name(ck, 1))
        rc = 3;
    else if (checkpoint_info(ck, "compound", &t, &err) == 0 ||
             err.code != RAYTRAIN_ENOTSUP)
        rc = 4;
    checkpoint_destroy(ck);
    return rc;
}

static void all_ranks_get_the_list_of_rank_0(void **state)
{
    hid_t compound = H5Tcreate(H5T_COMPOUND, 4);
    unsigned char values[ROWS * WIDE * 4];
    int rc[4];

    (void)state;
    H5Tinsert(compound, "a", 0, H5T_IEEE_F32LE);
    values_make(values, sizeof values, 1);
    file_begin(0);
    scalar_add("compound", compound, NULL);
    numbers_add(RAYTRAIN_INT32, CONTIGUOUS, 0, values);
    file_end();
    H5Tclose(compound);
    thread_comm_run(4, row_get, values, rc);
    for (int i = 0; i < 4; i++)
        assert_int_equal(rc[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(every_type_byte_order_and_layout_comes_back),
        SCRATCH(scalars_and_empty_datasets_come_back),
        SCRATCH(wrong_shapes_types_and_names_are_refused),
        SCRATCH(enumerations_are_integers),
        SCRATCH(strings_of_every_kind_come_back),
        SCRATCH(each_dataset_is_listed_once_whatever_links_there_are),
        SCRATCH(groups_that_are_too_deep_are_refused),
        SCRATCH(other_datasets_are_left_out_and_named_with_their_kind),
        SCRATCH(an_unknown_filter_is_reported_when_its_dataset_is_read),
        SCRATCH(all_ranks_get_the_list_of_rank_0),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
