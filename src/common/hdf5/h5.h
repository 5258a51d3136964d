/*
 * h5.h - what the store needs of HDF5 besides the image: element types, attributes,
 * datasets, and errors as sentences. Included by files that speak HDF5 only.
 */
#ifndef RAYTRAIN_HDF5_H5_H
#define RAYTRAIN_HDF5_H5_H

#include <hdf5.h>
#include <stdint.h>

#include "util/error.h"

/* HDF5 prints its errors by default. Between begin and end it does not; the setting
 * that was there before (the user's: the library is shared with the training function)
 * is put back. */
struct h5_quiet {
    H5E_auto2_t func;
    void *data;
};
void h5_quiet_begin(struct h5_quiet *quiet);
void h5_quiet_end(const struct h5_quiet *quiet);

/* "cannot WHAT: " and the innermost reason on HDF5's error stack. Returns -1. */
int h5_error(struct error *err, const char *what);

/* The file's type for an element type: little-endian, bfloat16 a float of its own,
 * bytes opaque. -1 on failure; to be closed by the caller. */
hid_t h5_dtype(raytrain_dtype dtype);
/* A fixed-length UTF-8 string of n bytes, NUL included. */
hid_t h5_string_type(size_t n);

/* Is the object of this name a dataset? -1: there is no such object. `access` is the
 * property list of the links on the way. */
int h5_is_dataset(hid_t file, const char *name, hid_t access);
/* A file is opened with this property list also on a file system without locks. */
void h5_locks_optional(hid_t access);

/* Attributes of an object; all return -1 on failure. */
int h5_attr_string(hid_t object, const char *name, const char *value);
int h5_attr_int(hid_t object, const char *name, int64_t value);
int h5_attr_double(hid_t object, const char *name, double value);

/*
 * A contiguous dataset with a place of its own in the file from the start, unfilled and
 * without time stamps; groups on the way are created. data NULL: nothing is written,
 * the place is. *offset (may be NULL) is where its bytes lie, 0 where it has none.
 */
int h5_dataset(hid_t file, const char *name, hid_t type, int ndim, const hsize_t *shape,
               const void *data, uint64_t *offset);

#endif
