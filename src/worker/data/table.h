/*
 * table.h - where the rows of a dataset lie: columns of fixed-size rows in files that
 * stay open. Plain data, so that one rank of a node can hand it to the others
 * (share.h).
 */
#ifndef RAYTRAIN_DATA_TABLE_H
#define RAYTRAIN_DATA_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "util/error.h"

/* A file that rows are read from. Its size was looked up after opening. */
struct source {
    int fd;         /* owned by the table */
    bool anonymous; /* memory of this node (expand.h), sealed: it cannot change or
                       shrink */
    uint64_t size;
    dev_t dev;
    ino_t ino;
    /* Anonymous: the bytes, read-only; NULL where they are not mapped. Other files are
     * never mapped: one that is cut short under us must be an error, not a SIGBUS. */
    const unsigned char *map;
    char path[PATH_MAX]; /* what the user knows it as */
};

/* Row i is row_bytes bytes at offset + i * row_bytes of the source. */
struct column {
    char name[RAYTRAIN_NAME_MAX + 1];
    raytrain_tensor row; /* dtype and shape of one row, data NULL */
    size_t row_bytes;
    size_t source; /* index */
    uint64_t offset;
    bool swapped; /* the elements' bytes lie in the other order than this machine's */
};

struct table {
    uint64_t rows;
    struct column *columns;
    size_t n_columns;
    struct source *sources;
    size_t n_sources;
};

/* Take over fd, also on failure (then it is closed). *index is the new source's. */
int table_add_source(struct table *t, int fd, bool anonymous, const char *path,
                     size_t *index, struct error *err);
/*
 * Add a column of `rows` rows; row_bytes is worked out here. All columns have the same
 * number of rows, at least one, and lie within their sources: RAYTRAIN_ECORRUPT
 * otherwise.
 */
int table_add_column(struct table *t, const struct column *column, uint64_t rows,
                     struct error *err);
/* NULL where there is none. */
const struct column *table_column(const struct table *t, const char *name);
/* The names, "x, y", for messages; text always ends with a NUL. */
void table_names(const struct table *t, char *text, size_t size);
/* Close the sources that no column uses. */
void table_prune(struct table *t);
/* Map the anonymous sources. One that cannot be mapped is read instead. */
void table_map(struct table *t);
void table_clear(struct table *t); /* closes descriptors */

/* dtype's size times all dimensions; false where that is more than a uint64_t. */
bool tensor_bytes(const raytrain_tensor *tensor, uint64_t *bytes);

#endif
