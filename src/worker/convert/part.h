/*
 * part.h - the file of converted rows (raytrain-format(5)): an HDF5 file whose arrays
 * have a fixed place, so that several ranks of a node write it at once, each its own
 * rows, and any rank reads rows of it by their offset.
 *
 * Only the training thread may call these: they use HDF5.
 */
#ifndef RAYTRAIN_CONVERT_PART_H
#define RAYTRAIN_CONVERT_PART_H

#include "convert/part_sums.h"
#include "convert/spool.h"
#include "table/table.h"

struct h5_image;

/* What a part consists of. */
struct part_shape {
    uint64_t rows;
    const struct frame *columns; /* without rows; their words are those of all rows */
    const uint64_t *elements;    /* of all rows of each column */
};

/* Where the arrays of a column begin in the file. */
struct part_places {
    uint64_t rows; /* numbers, codes, or struct row_place */
    uint64_t elements, indices;
    uint64_t word_offsets, word_bytes;
};

/* Where the rows of one rank begin in a part: how many rows and elements precede
 * them. */
struct part_start {
    uint64_t row;
    const uint64_t *elements; /* of each column */
};

/* The layout, which is the same on every rank of a node that asks for it, and the bytes
 * of the file that are neither rows nor words. */
int part_layout(const struct part_shape *shape, struct part_places places[],
                struct h5_image **image, struct error *err);
/* By one rank, before any rank writes rows: creates the file with everything except
 * the rows. Returns a descriptor, or -1. */
int part_create(const char *path, const struct part_shape *shape,
                const struct part_places places[], const struct h5_image *image,
                struct part_sums *sums, struct error *err);
/* By each rank: writes its rows, which are all rows of the spool. Code c in column i
 * of the spool becomes codes[i][c]. */
int part_write(int fd, const char *path, const struct part_places places[],
               const struct part_start *start, struct spool *spool,
               const int32_t *const codes[], struct part_sums *sums, struct error *err);
/* By the rank that created it, after all have written: adds the checksum of the bytes
 * that are now where the image was; rows may share its last page. */
int part_sum_image(const char *path, const struct h5_image *image,
                   struct part_sums *sums, struct error *err);

/* The table of the open source 0, whose path is used in messages. RAYTRAIN_ECORRUPT if
 * it is not a whole part. */
int part_read(struct table *t, struct error *err);

#endif
