/*
 * line_range.h - the lines of text files, of which each rank has those that begin in
 * its range: an equal share of the bytes of all files, one after the other.
 *
 * A line ends with LF, or with the file. A byte order mark at the beginning of a file
 * is left out. Memory: a block, which grows to the longest line.
 */
#ifndef RAYTRAIN_TEXT_LINE_RANGE_H
#define RAYTRAIN_TEXT_LINE_RANGE_H

#include "comm/comm.h"
#include "text/source.h"

#define LINE_BYTES_MAX ((size_t)1 << 30)

struct line_range {
    const struct text_source *sources;
    size_t n_sources;
    int64_t *starts, *sizes; /* of each file: the bytes that are lines */
    uint64_t from, to;       /* of the bytes of all files */
    size_t block_bytes;
    uint64_t first, own; /* of all rows: those of this rank, line_range_count() */
    uint64_t rows;       /* of all ranks */
    char *bytes;
    size_t room;
};

/* Whole lines of one file, at least one. */
struct line_block {
    const char *bytes;
    size_t n;
    const struct text_file *file;
    size_t source; /* whose file it is */
    uint64_t at;   /* where the bytes are in it */
};

/* COLLECTIVE: look at the files and share them. block_bytes 0: 256 KiB. The result is
 * agreed on; line_range_clear() is due in any case. */
int line_range_init(struct comm *comm, struct line_range *r,
                    const struct text_source sources[], size_t n, size_t block_bytes,
                    struct error *err);
void line_range_clear(struct line_range *r);

/* What to do with a block: 0 to go on, 1 to stop, or -1 with an error. */
typedef int (*line_block_func)(void *arg, const struct line_block *block,
                               struct error *err);

/* Call use() for all lines of this rank, a block at a time. RAYTRAIN_ECORRUPT: a file
 * is written to meanwhile. RAYTRAIN_EINVAL: a line has more than LINE_BYTES_MAX. */
int line_range_each(struct line_range *r, line_block_func use, void *arg,
                    struct error *err);

/* COLLECTIVE: r->first, own and rows, if count() says how many rows the bytes of a
 * block are. The result is agreed on. */
int line_range_count(struct comm *comm, struct line_range *r,
                     uint64_t (*count)(const char *bytes, size_t n), struct error *err);

/* As line_range_each(), after rows were counted: *row is the first row of this rank,
 * and use() adds those of its block by line_range_take(). RAYTRAIN_ECORRUPT also if
 * there are fewer. */
int line_range_rows(struct line_range *r, line_block_func use, void *arg, uint64_t *row,
                    struct error *err);
/* *row moves on by n rows of the block; an error if there are more than were
 * counted. */
int line_range_take(const struct line_range *r, uint64_t *row, uint64_t n,
                    const struct line_block *block, struct error *err);

#endif
