/*
 * line_range.h - divides the lines of text files among ranks: each has those that begin
 * in its range, an equal share of the bytes of all files, one after the other.
 *
 * A line ends with LF, or with the file. A byte order mark at the beginning of a file
 * is skipped. Memory: a block, which grows to the longest line.
 */
#ifndef RAYTRAIN_TEXT_LINE_RANGE_H
#define RAYTRAIN_TEXT_LINE_RANGE_H

#include "comm/comm.h"
#include "text/source.h"

#define LINE_BYTES_MAX ((size_t)1 << 30)

struct line_range {
    const struct text_source *sources;
    size_t n_sources;
    int64_t *starts, *sizes; /* for each file, where its lines begin and end */
    uint64_t from, to;       /* of the bytes of all files */
    size_t block_bytes;
    uint64_t first, own; /* this rank's rows among all, after line_range_count() */
    uint64_t rows;       /* of all ranks */
    char *bytes;
    size_t room;
};

/* Whole lines of one file, at least one. */
struct line_block {
    const char *bytes;
    size_t n;
    const struct text_file *file;
    size_t source; /* the number of the file */
    uint64_t at;   /* where the bytes are in it */
};

/* COLLECTIVE, with the same outcome on every rank: looks at the files, and divides
 * their lines. block_bytes 0: 256 KiB. Call line_range_clear() in any case. */
int line_range_init(struct comm *comm, struct line_range *r,
                    const struct text_source sources[], size_t n, size_t block_bytes,
                    struct error *err);
void line_range_clear(struct line_range *r);

/* Processes a block. Returns 0 to continue, 1 to stop, or -1 with an error. */
typedef int (*line_block_func)(void *arg, const struct line_block *block,
                               struct error *err);

/* Calls use() for all lines of this rank, block by block. RAYTRAIN_ECORRUPT: a file is
 * written to meanwhile. RAYTRAIN_EINVAL: a line has more than LINE_BYTES_MAX. */
int line_range_each(struct line_range *r, line_block_func use, void *arg,
                    struct error *err);

/* COLLECTIVE, with the same outcome on every rank: sets r->first, own and rows. count()
 * returns the number of rows in the bytes of a block. */
int line_range_count(struct comm *comm, struct line_range *r,
                     uint64_t (*count)(const char *bytes, size_t n), struct error *err);

/* As line_range_each(), after rows were counted: *row begins with the first row of this
 * rank, and use() adds those of its block by line_range_take(). RAYTRAIN_ECORRUPT also
 * if there are fewer rows than were counted. */
int line_range_rows(struct line_range *r, line_block_func use, void *arg, uint64_t *row,
                    struct error *err);
/* Adds n rows of the block to *row; an error if there are more than were counted. */
int line_range_take(const struct line_range *r, uint64_t *row, uint64_t n,
                    const struct line_block *block, struct error *err);

#endif
