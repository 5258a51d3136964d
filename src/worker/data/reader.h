/*
 * reader.h - the seam of the data formats. A reader finds the columns of a file and
 * says where their rows lie; rows are then read with pread(2), by any thread. A format
 * whose rows have no fixed place (compressed, text) is expanded at open into an
 * anonymous file that the node's ranks share.
 *
 * One rank of each node reads the format; the others are handed the table (share.h). So
 * a reader knows nothing of ranks, and a thousand workers do not parse a file each.
 */
#ifndef RAYTRAIN_DATA_READER_H
#define RAYTRAIN_DATA_READER_H

#include "config/data_config.h"
#include "data/table.h"

struct reader_ops {
    const char *format; /* "hdf5", "idx" */
    /* Do these first bytes of the file look like mine? */
    bool (*probe)(const unsigned char *head, size_t n, const char *path);
    /*
     * Add the columns of cfg->path that cfg->columns asks for (all of them where it is
     * NULL) to a table whose source 0 is the open file. Sizes from the file are checked
     * against its length before they are believed. On failure the caller clears the
     * table.
     */
    int (*open)(const struct dataset_config *cfg, struct table *out, struct error *err);
};

extern const struct reader_ops reader_idx;
extern const struct reader_ops reader_hdf5;

/* The name of every format, for messages: "idx, hdf5". */
const char *reader_formats(void);

/* Bytes of a file's beginning that probe gets to see. */
#define READER_HEAD 4096

/*
 * Open cfg->path with the reader that cfg->format names, or else that its first bytes
 * ask for, and check that each of cfg->columns is there. On failure *out is empty.
 */
int reader_open(const struct dataset_config *cfg, struct table *out, struct error *err);

/* Open a regular file for reading, never waiting (a FIFO is refused); -1 on failure. */
int reader_open_file(const char *path, struct error *err);

/* Is this column asked for? */
bool reader_wants(const struct dataset_config *cfg, const char *column);

#endif
