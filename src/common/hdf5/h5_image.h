/*
 * h5_image.h - an HDF5 file in memory that contains only what was written to it.
 *
 * Checkpoints and results are written this way: the HDF5 library builds the file in an
 * image, in the caller's thread, without touching storage. The raw data of large
 * datasets are never part of it; they only get space (contiguous, early allocation, no
 * fill). What goes to disk afterwards are plain bytes at known offsets, written by our
 * own code, which checks every return code: HDF5 never meets a full disk, and never
 * gets stuck on one at exit.
 *
 * An image is sparse: what was never written is zero and takes no memory.
 */
#ifndef RAYTRAIN_HDF5_H5_IMAGE_H
#define RAYTRAIN_HDF5_H5_IMAGE_H

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct h5_image;

struct h5_image_options {
    hsize_t user_block; /* bytes before those of HDF5; 0, or a power of two >= 512 */
    hsize_t align_threshold; /* objects of at least this many bytes ... */
    hsize_t alignment;       /* ... start at a multiple of this; 0: no alignment */
    bool timeless;           /* equal contents are equal bytes: no time of creation */
    /* size of the blocks in which metadata are allocated; 0: 2048 */
    hsize_t meta_block;
};

/* A new file in a new image; NULL on failure. */
struct h5_image *h5_image_create(const struct h5_image_options *opt, struct error *err);
hid_t h5_image_file(const struct h5_image *image);
/* Close the HDF5 file; the bytes are complete from now on. */
int h5_image_close(struct h5_image *image, struct error *err);
/* Open it again, to change values in place. */
int h5_image_reopen(struct h5_image *image, struct error *err);
void h5_image_destroy(struct h5_image *image); /* NULL and half-built are fine */

/* The length of the file. */
uint64_t h5_image_length(const struct h5_image *image);
/* Copy bytes out of the image, or into it. */
void h5_image_read(const struct h5_image *image, uint64_t offset, void *buf, size_t n);
int h5_image_write(struct h5_image *image, uint64_t offset, const void *buf, size_t n);
/* Visit the pages that were written, in order of offset: start with *cursor = 0, until
 * false is returned. The last page may extend beyond the file's length. */
bool h5_image_next_page(const struct h5_image *image, size_t *cursor, uint64_t *offset,
                        const void **data, size_t *n);

#endif
