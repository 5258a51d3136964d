/*
 * h5.h - what raytrain needs of HDF5 besides images: element types, attributes,
 * datasets, and errors as sentences. Only for files that call HDF5.
 */
#ifndef RAYTRAIN_HDF5_H5_H
#define RAYTRAIN_HDF5_H5_H

#include <hdf5.h>
#include <stdint.h>

#include "util/error.h"

/* By default HDF5 prints its errors. Between begin and end it does not; end restores
 * the previous setting, which may be the user's: the library is shared with the
 * training function. */
struct h5_quiet {
    H5E_auto2_t func;
    void *data;
};
void h5_quiet_begin(struct h5_quiet *quiet);
void h5_quiet_end(const struct h5_quiet *quiet);

/* Set err to "cannot WHAT: " and the innermost reason on HDF5's error stack. Returns
 * -1. */
int h5_error(struct error *err, const char *what);

/* The type in a file for an element type: little-endian, bfloat16 as a custom float,
 * bytes as opaque. -1 on failure; the caller closes it. */
hid_t h5_dtype(raytrain_dtype dtype);
/* The element type whose elements have the size and form of this type of a file, in
 * this byte order; 0: none. Opaque types are not considered. */
raytrain_dtype h5_dtype_of(hid_t type, bool *big_endian);
/* A fixed-length UTF-8 string of n bytes, NUL included. */
hid_t h5_string_type(size_t n);

/* Is the object of this name a dataset? -1: there is no such object. `access` is the
 * link access property list. */
int h5_is_dataset(hid_t file, const char *name, hid_t access);
/*
 * Visit each object of the file once, from group to group in the order of the names,
 * through hard links alone. `name` begins below the root, which itself is ".". Stops
 * when `each` returns a value other than 0, and returns that; -1 also if HDF5 fails.
 */
int h5_visit(hid_t file,
             int (*each)(void *arg, hid_t file, const char *name, bool is_dataset),
             void *arg);
/* Call `each` for each link of the group, in the order of the names. Stops when it
 * returns a value other than 0, and returns that; -1 also if HDF5 fails. */
enum h5_link {
    H5_LINK_HARD,
    H5_LINK_SOFT,
    /* it leads to another file, or is of a kind that a user has defined */
    H5_LINK_ELSEWHERE
};
int h5_links(hid_t group, int (*each)(void *arg, const char *name, enum h5_link link),
             void *arg);
/* With this property list, a file can also be opened on a file system without locks. */
void h5_locks_optional(hid_t access);
/* Keep the metadata of files with thousands of objects; others need less memory. */
int h5_cache_metadata(hid_t access);
/* Open the file behind this descriptor, even if its name now belongs to another, to
 * read from it. It may lie on a file system without locks. -1 on failure:
 * RAYTRAIN_ECORRUPT with HDF5's reason, RAYTRAIN_ESTORAGE if another process has locked
 * it to write to it. */
hid_t h5_open_fd(int fd, struct error *err);

/* The same for the n bytes of a file in memory, which HDF5 copies. */
hid_t h5_open_bytes(const void *bytes, size_t n, struct error *err);

/* HDF5 has failed to read from the dataset: h5_error() with RAYTRAIN_ECORRUPT, or
 * RAYTRAIN_ENOTSUP with the filters that are missing. Returns -1. */
int h5_read_error(hid_t set, const char *what, struct error *err);

/* Attributes of an object; all return -1 on failure. One that exists gets this value in
 * place: its type and length stay. */
int h5_attr_string(hid_t object, const char *name, const char *value);
int h5_attr_int(hid_t object, const char *name, int64_t value);
int h5_attr_double(hid_t object, const char *name, double value);

/*
 * A contiguous dataset that has space in the file from the start, unfilled and without
 * time stamps; creates missing groups. data NULL: nothing is written. *offset (may be
 * NULL) is where its bytes are, 0 if it has none.
 */
int h5_dataset(hid_t file, const char *name, hid_t type, int ndim, const hsize_t *shape,
               const void *data, uint64_t *offset);

/* How datasets are created: for many of them, since HDF5 takes as long to make this as to
 * create one. -1: HDF5 failed, and there is nothing to close. */
struct h5_creation {
    hid_t link, set;
};
int h5_creation_open(struct h5_creation *how);
void h5_creation_close(struct h5_creation *how);
int h5_dataset_create(const struct h5_creation *how, hid_t file, const char *name,
                      hid_t type, int ndim, const hsize_t *shape, const void *data,
                      uint64_t *offset);

/*
 * A dataset without bytes of its own: a view of `line`, another dataset of the same file,
 * which has one dimension and `length` elements (HDF5 calls it a virtual dataset). Open
 * it, add its parts, create it under its name, close it. -1: HDF5 failed; after a failure
 * of open there is nothing to close.
 */
struct h5_view {
    const char *line; /* borrowed until the view is created */
    hid_t whole, from, set;
};
int h5_view_open(struct h5_view *view, int ndim, const hsize_t *shape, const char *line,
                 hsize_t length);
/* These elements of the view, in row-major order, are those of the line from `at` on. */
int h5_view_add(struct h5_view *view, const hsize_t *start, const hsize_t *count,
                hsize_t at);
int h5_view_create(const struct h5_view *view, const struct h5_creation *how,
                   hid_t file, const char *name, hid_t type);
void h5_view_close(struct h5_view *view);

#endif
