/*
 * reader.h - the seam of the data formats. A reader finds the columns of a file and says
 * where their rows lie; rows are then read with pread(2), by any thread. A format whose
 * rows have no fixed place (compressed, text) is expanded at open into an anonymous file
 * that the node's ranks share.
 */
#ifndef RAYTRAIN_DATA_READER_H
#define RAYTRAIN_DATA_READER_H

#include <stdbool.h>
#include <sys/types.h>

#include "data/dataset.h"

/* One column: row i is row_bytes bytes at offset + i * row_bytes of fd. */
struct column {
    char *name;
    raytrain_tensor row; /* dtype and shape of one row, data NULL */
    size_t row_bytes;
    int fd; /* owned by the table; columns may share one */
    off_t offset;
};

struct table {
    uint64_t rows;
    struct column *columns;
    size_t n_columns;
};
void table_clear(struct table *t); /* closes descriptors */

struct reader_ops {
    const char *format; /* "hdf5", "idx" */
    /* Do these first bytes of the file look like mine? */
    bool (*probe)(const unsigned char *head, size_t n, const char *path);
    /* COLLECTIVE over env->node. Sizes from the file are checked against its length before
     * they are believed. */
    int (*open)(const struct dataset_config *cfg, const struct dataset_env *env,
                struct table *out, struct error *err);
};

extern const struct reader_ops reader_idx;
extern const struct reader_ops reader_hdf5;

#endif
