/*
 * row_sink.h - the interface that takes the rows of text files. All ranks call a
 * converter, such as csv_convert(), which parses a part of the files on each of them,
 * and puts the rows into the caller's sink.
 *
 * Each function returns 0, or -1 with an error, which ends the conversion on all ranks.
 */
#ifndef RAYTRAIN_TEXT_ROW_SINK_H
#define RAYTRAIN_TEXT_ROW_SINK_H

#include "frame/frame.h"

struct row_sink {
    /* COLLECTIVE: the columns, without rows, and the number of all rows. Called once
     * more if the columns do not fit all rows: then discard all rows that were put. In
     * FRAME_SPARSE columns row.shape[0] is not known yet: it is 0, here and in rows
     * that are put. */
    int (*begin)(void *arg, const struct frame *columns, uint64_t rows,
                 struct error *err);
    /* Takes rows; the first of them has the number `first` among all rows. Each row
     * comes once, on one rank. In columns of words, codes are those of this rank. */
    int (*put)(void *arg, uint64_t first, const struct frame *rows, struct error *err);
    /* COLLECTIVE: all rows have been put. Columns of words now have the words of all
     * ranks, sorted, with the same codes on every rank. Code c of rows that this rank
     * has put becomes codes[i][c]; -1 stays; codes[i] is NULL for other columns.
     * FRAME_SPARSE columns have their row.shape[0]. The arguments are valid during the
     * call. */
    int (*end)(void *arg, const struct frame *columns, int32_t *const codes[],
               struct error *err);
    /* On rank 0: takes a warning for the user, without an end of line. NULL: warnings
     * are dropped. */
    void (*warn)(void *arg, const char *text);
};

#endif
