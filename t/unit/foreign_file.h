/* foreign_file.h - make HDF5 files like those of other programs, and open them like
 * checkpoints. */
#ifndef RAYTRAIN_TEST_FOREIGN_FILE_H
#define RAYTRAIN_TEST_FOREIGN_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <hdf5.h>

#include "checkpoint/checkpoint.h"
#include "hdf5/h5.h"

#define FILE_NAME "other.h5"
#define ROWS      13
#define WIDE      5

static hid_t File;

/* ---- Making files ---- */

static inline void file_begin(hsize_t user_block)
{
    hid_t plist = H5Pcreate(H5P_FILE_CREATE);

    assert_true(H5Pset_userblock(plist, user_block) >= 0);
    File = H5Fcreate(FILE_NAME, H5F_ACC_TRUNC, plist, H5P_DEFAULT);
    assert_true(File >= 0);
    H5Pclose(plist);
}

static inline void file_end(void)
{
    assert_true(H5Fclose(File) >= 0);
}

/* Without values if `type` is not also their type in memory: memory 0. */
static inline void dataset_add(const char *name, hid_t type, hid_t space, hid_t plist,
                               hid_t memory, const void *values)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE), set;

    H5Pset_create_intermediate_group(links, 1);
    set = H5Dcreate2(File, name, type, space, links, plist, H5P_DEFAULT);
    assert_true(set >= 0);
    if (values)
        assert_true(H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Pclose(links);
}

static inline hid_t space_of(int ndim, hsize_t first)
{
    hsize_t shape[H5S_MAX_RANK] = {first};

    for (int d = 1; d < ndim; d++)
        shape[d] = d == 1 ? WIDE : 1;
    return ndim == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(ndim, shape, NULL);
}

static inline void scalar_add(const char *name, hid_t type, const void *value)
{
    hid_t space = space_of(0, 0);

    dataset_add(name, type, space, H5P_DEFAULT, type, value);
    H5Sclose(space);
}

static inline void int_add(const char *name)
{
    int32_t value = (int32_t)strlen(name);

    scalar_add(name, H5T_STD_I32LE, &value);
}

enum layout { CONTIGUOUS, CHUNKED, GZIP, COMPACT, UNWRITTEN, N_LAYOUTS };

static inline hid_t plist_of(enum layout layout)
{
    const hsize_t chunk[] = {4, 2};
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);

    if (layout == CHUNKED || layout == GZIP)
        H5Pset_chunk(plist, 2, chunk);
    if (layout == GZIP) {
        H5Pset_shuffle(plist);
        H5Pset_deflate(plist, 4);
        H5Pset_fletcher32(plist);
    }
    if (layout == COMPACT)
        H5Pset_layout(plist, H5D_COMPACT);
    return plist;
}

/* ---- Looking at them ---- */

static inline raytrain_checkpoint *open_one(const char *path, struct error *err)
{
    struct comm *self = comm_self_create(NULL);
    raytrain_checkpoint *ck = NULL;
    int rc = checkpoint_open_any(self, path, &ck, err);

    assert_int_equal(rc, ck ? 0 : -1);
    comm_free(self);
    return ck;
}

static inline raytrain_checkpoint *open_it(void)
{
    struct error err;
    raytrain_checkpoint *ck = open_one(FILE_NAME, &err);

    if (!ck)
        fail_msg("%s", err.text);
    assert_true(checkpoint_is_restored(ck));
    assert_false(checkpoint_is_verified(ck));
    assert_int_equal(checkpoint_meta(ck)->training_iteration, 0);
    assert_int_equal(checkpoint_meta(ck)->n_metrics, 0);
    return ck;
}

static inline void check_error(const struct error *err, raytrain_status code,
                               const char *text)
{
    if (err->code != code || !strstr(err->text, text))
        fail_msg("expected %d \"%s\", got %d \"%s\"", code, text, err->code, err->text);
    assert_non_null(strstr(err->text, ".h5"));
}

static inline void check_refused(const char *path, raytrain_status code,
                                 const char *text)
{
    struct error err;

    assert_null(open_one(path, &err));
    check_error(&err, code, text);
}

static inline void check_names(const raytrain_checkpoint *ck, const char *const *names)
{
    size_t i = 0;

    for (; names[i]; i++)
        assert_string_equal(checkpoint_name(ck, i), names[i]);
    assert_null(checkpoint_name(ck, i));
    assert_null(checkpoint_name(ck, SIZE_MAX));
}

/* ---- Numbers ---- */

static inline void values_make(unsigned char *values, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (unsigned char)(seed + 37 * i + i / 7);
}

static inline const char *numbers_name(raytrain_dtype t, enum layout layout, int big,
                                       char name[64])
{
    snprintf(name, 64, "%s/layout%d-%d", raytrain_dtype_name(t), layout, big);
    return name;
}

static inline void numbers_add(raytrain_dtype t, enum layout layout, int big,
                               const unsigned char *values)
{
    hid_t memory = h5_dtype(t), type = H5Tcopy(memory), space = space_of(2, ROWS);
    hid_t plist = plist_of(layout);
    char name[64];

    if (big)
        assert_true(H5Tset_order(type, H5T_ORDER_BE) >= 0);
    dataset_add(numbers_name(t, layout, big, name), type, space, plist, memory,
                layout == UNWRITTEN ? NULL : values);
    H5Pclose(plist);
    H5Sclose(space);
    H5Tclose(type);
    H5Tclose(memory);
}

#endif
