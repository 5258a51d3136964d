/*
 * table.h - where the rows of a dataset are: columns of rows of fixed size in files
 * that stay open. It is plain data, so that one rank of a node can send it to the
 * others (table_share.h).
 */
#ifndef RAYTRAIN_TABLE_TABLE_H
#define RAYTRAIN_TABLE_TABLE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "config/rows_config.h"
#include "frame/frame.h"
#include "table/packing.h"
#include "table/row_order.h"
#include "table/table_source.h"
#include "util/error.h"

/* Rows of a column that are adjacent in one source, from offset on. */
struct extent {
    size_t source; /* index */
    uint64_t offset;
    uint64_t first, rows; /* rows first..first+rows of the column */
    uint64_t stride;      /* bytes from one row to the next; 0: the rows are dense */
    bool swapped;         /* the byte order is not this machine's */
    /* 0: the bytes are the rows. Otherwise they are packed: the index in the table + 1;
     * the extent is all of its rows. */
    size_t packing;
    /* FRAME_TEXT and FRAME_SPARSE: where the elements of all of its rows begin in the
     * source, how many they are, and where their indices begin (FRAME_SPARSE). */
    uint64_t elements, n_elements, indices;
};

/* What the extents of FRAME_TEXT and FRAME_SPARSE have for each row: its elements among
 * those of the extent. */
struct row_place {
    uint64_t first, count;
};

/* A choice of rows: the i-th one is row order[first + i]. */
struct row_pick {
    uint64_t first;
    struct shuffle order;
};

/* Its rows are those of its extents, in order: one extent for a column in a single
 * file, several for one that spans many files. */
struct column {
    char name[RAYTRAIN_NAME_MAX + 1];
    enum frame_kind kind;
    /* NUMBERS: dtype and shape of one row. WORDS: int32, the code. TEXT: uint8, an
     * element. SPARSE: dtype of an element, and the length of the vector. Data is
     * NULL. */
    raytrain_tensor row;
    struct dictionary *words; /* WORDS; owned by the table */
    size_t row_bytes;         /* in the extents */
    size_t extent, n_extents; /* index of the first one in the table, and number */
};

struct table {
    uint64_t rows;
    struct column *columns;
    size_t n_columns;
    struct dictionary *names; /* of the columns, to find them; NULL: not made yet */
    struct extent *extents;
    size_t n_extents;
    struct source *sources;
    size_t n_sources;
    struct packing *packings;
    size_t n_packings;
    struct packed_chunk *chunks; /* of all packings */
    size_t n_chunks;
    /* Not 0: the rows are a selection (selection.h), and source selection - 1 has their
     * numbers in the columns, uint64_t, which are `selected` after table_ready(). */
    size_t selection;
    const uint64_t *selected;
    struct row_pick
        picks[ROWS_STEPS_MAX]; /* of these rows, each pick of the one before */
    size_t n_picks;
    struct band_store *store;    /* by table_share(); NULL: this process alone */
    struct packing_cache *cache; /* by table_ready(); not for two threads at a time */
};

/* Takes fd, which is closed on failure. *index is that of the new source. */
int table_add_source(struct table *t, int fd, bool anonymous, const char *path,
                     size_t *index, struct error *err);
/*
 * Adds a column that is in these extents. Its name, kind, row and words are set;
 * `first` of the extents need not be. Extents without rows are left out. On success the
 * table owns the words. RAYTRAIN_EINVAL unless all columns have the same number of
 * rows; RAYTRAIN_ECORRUPT unless every extent is within its source.
 */
int table_add_column(struct table *t, const struct column *column,
                     const struct extent extents[], size_t n_extents,
                     struct error *err);
/*
 * Adds a packing, whose `first` need not be set, for extents in that source; *packing
 * is for struct extent. RAYTRAIN_ECORRUPT unless its chunks are within the source, and
 * if packing_count() refuses it.
 */
int table_add_packing(struct table *t, const struct packing *packing,
                      const struct packed_chunk *chunks, size_t source, size_t *number,
                      struct error *err);
/*
 * Makes one table of the rows of all parts, in their order, and empties the parts.
 * files[i] is the file of parts[i], for messages. RAYTRAIN_ETYPE if their columns do
 * not have the same names, types and shapes. On failure *out is empty.
 */
int table_concatenate(struct table parts[], const char *const files[], size_t n,
                      struct table *out, struct error *err);
/* NULL if there is no such column. */
const struct column *table_column(const struct table *t, const char *name);
/* The names, "x, y", for messages; text always ends with a NUL. */
void table_names(const struct table *t, char *text, size_t size);
/* Closes the sources that no column uses. */
void table_prune(struct table *t);
/* Keeps only the first `rows` rows; there are at least as many. */
void table_truncate(struct table *t, uint64_t rows);
void table_remove_column(struct table *t, size_t index);
/* Before rows are read: map the anonymous sources (one that cannot be mapped is read
 * instead), and make the cache of packed rows. May be called again. */
int table_ready(struct table *t, struct error *err);
void table_clear(struct table *t); /* closes descriptors */

/* True if the rows of the table are those of its columns, in their order. */
static inline bool table_is_plain(const struct table *t)
{
    return !t->selected && t->n_picks == 0;
}

/* Where row i of the table is in its columns. */
static inline uint64_t table_row(const struct table *t, uint64_t i)
{
    for (size_t k = t->n_picks; k-- > 0;)
        i = shuffle_row(&t->picks[k].order, t->picks[k].first + i);
    return t->selected ? t->selected[i] : i;
}

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

/* True if rows of this column can have any number of elements. */
static inline bool column_ragged(const struct column *c)
{
    return c->kind == FRAME_TEXT || c->kind == FRAME_SPARSE;
}

/* The dtype's size times all dimensions; false if that exceeds a uint64_t. */
bool tensor_bytes(const raytrain_tensor *tensor, uint64_t *bytes);

#endif
