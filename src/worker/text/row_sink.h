/*
 * row_sink.h - where the rows of text files go. A converter, such as csv_convert(), is
 * called by all ranks and parses a part of the files on each of them; a sink is what
 * the caller does with the rows.
 *
 * Each function returns 0, or -1 with an error, which ends the conversion on all ranks.
 */
#ifndef RAYTRAIN_TEXT_ROW_SINK_H
#define RAYTRAIN_TEXT_ROW_SINK_H

#include "frame/frame.h"

struct row_sink {
    /* COLLECTIVE: the columns, which have no rows here, and how many rows there will be
     * in all. Called once more if the columns were not those of all rows: then all that
     * has been put is void. In FRAME_SPARSE columns row.shape[0] is not known yet: it
     * is 0, here and in rows that are put. */
    int (*begin)(void *arg, const struct frame *columns, uint64_t rows,
                 struct error *err);
    /* Rows from number `first` of all on; each row comes once, on one rank. In columns
     * of words, codes are those of this rank. */
    int (*put)(void *arg, uint64_t first, const struct frame *rows, struct error *err);
    /* COLLECTIVE: all rows have been put. Columns of words have the words of all ranks
     * now, sorted, with the same codes on every rank; codes[i][c] is the one for code c
     * of rows that this rank has put, -1 remains; codes[i] is NULL for other columns.
     * FRAME_SPARSE columns have their row.shape[0]. Valid during the call. */
    int (*end)(void *arg, const struct frame *columns, int32_t *const codes[],
               struct error *err);
    /* On rank 0: what the user should know about the rows, without an end of line.
     * NULL: it is dropped. */
    void (*warn)(void *arg, const char *text);
};

#endif
