/*
 * table.h - where the rows of a dataset lie: columns of fixed-size rows in files that
 * stay open. Plain data, so that one rank of a node can send it to the others
 * (table_share.h).
 */
#ifndef RAYTRAIN_DATA_TABLE_H
#define RAYTRAIN_DATA_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "util/error.h"

/* A file that rows are read from. Its size was determined after opening. */
struct source {
    int fd;         /* owned by the table */
    bool anonymous; /* memory of this node (expansion.h), sealed: it cannot change or
                       shrink */
    uint64_t size;
    dev_t dev;
    ino_t ino;
    /* Anonymous: the bytes, read-only; NULL if they are not mapped. Other files are
     * never mapped: one that is truncated while in use must cause an error, not a
     * SIGBUS. */
    const unsigned char *map;
    char path[PATH_MAX]; /* the name that the user knows */
};

/* Rows of a column that are adjacent in one source, from offset on. */
struct extent {
    size_t source; /* index */
    uint64_t offset;
    uint64_t first, rows; /* rows first..first+rows of the column */
    bool swapped;         /* the byte order is not this machine's */
};

/* Its rows are those of its extents, in order: one extent for a column in a single
 * file, several for one that spans many files. */
struct column {
    char name[RAYTRAIN_NAME_MAX + 1];
    raytrain_tensor row; /* dtype and shape of one row, data NULL */
    size_t row_bytes;
    size_t extent, n_extents; /* the first one's index in the table, how many */
};

struct table {
    uint64_t rows;
    struct column *columns;
    size_t n_columns;
    struct extent *extents;
    size_t n_extents;
    struct source *sources;
    size_t n_sources;
};

/* Takes over fd, also on failure (then it is closed). *index is the new source's. */
int table_add_source(struct table *t, int fd, bool anonymous, const char *path,
                     size_t *index, struct error *err);
/*
 * Add a column, of which name and row are set, that lies in these extents, whose
 * `first` need not be set. All columns have the same number of rows; every extent has
 * at least one row and lies within its source: RAYTRAIN_ECORRUPT otherwise.
 */
int table_add_column(struct table *t, const struct column *column,
                     const struct extent extents[], size_t n_extents,
                     struct error *err);
/* NULL if there is none. */
const struct column *table_column(const struct table *t, const char *name);
/* The names, "x, y", for messages; text always ends with a NUL. */
void table_names(const struct table *t, char *text, size_t size);
/* Close the sources that no column uses. */
void table_prune(struct table *t);
/* Map the anonymous sources. One that cannot be mapped is read instead. */
void table_map(struct table *t);
void table_clear(struct table *t); /* closes descriptors */

/* The extent that contains a row of the column. Inline: it is called for each row. */
static inline const struct extent *table_extent(const struct table *t,
                                                const struct column *c, uint64_t row)
{
    const struct extent *e = t->extents + c->extent;
    size_t low = 0, high = c->n_extents;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (e[middle].first <= row)
            low = middle;
        else
            high = middle;
    }
    return &e[low];
}

/* The dtype's size times all dimensions; false if that exceeds a uint64_t. */
bool tensor_bytes(const raytrain_tensor *tensor, uint64_t *bytes);

#endif
