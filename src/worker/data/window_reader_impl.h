/*
 * window_reader_impl.h - the members of a window reader, for the files that implement
 * it: window_spans.c is below window_blocks.c, which is below window_reader.c, which
 * makes batches.
 */
#ifndef RAYTRAIN_DATA_WINDOW_READER_IMPL_H
#define RAYTRAIN_DATA_WINDOW_READER_IMPL_H

#include "data/file_view.h"
#include "data/window_reader.h"

#define GAP_BYTES 4096 /* rows of others that are read rather than skipped */

struct window_reader {
    const struct table *table;
    int rank, size;
    bool lend;
    struct file_view **views; /* by source; NULL: there is none of it */
    struct frame schema;
    bool running; /* there was a batch since the last reset */

    uint64_t span_rows;
    struct frame *spans; /* numbers first_span.. */
    size_t n_spans, room;
    uint64_t first_span;
    struct frame *pool; /* spans that are not in use; room for `room` */
    size_t n_pool;
    bool whole; /* a span is a batch */

    struct window_place next; /* the batch that comes next */
    uint64_t handed_out;      /* of this rank's rows */
    uint64_t complete;        /* rows that have been read, */
    uint64_t latest;          /* and the first of those in the last complete window */

    struct window_place last; /* the first batch that is not all in open windows */
    uint64_t last_row;        /* its first row, of this rank's */
    uint64_t assigned;        /* this rank's rows in open windows */

    struct window window; /* rows == 0: none is being read */
    uint64_t window_end;  /* the position after all windows that were opened */
    uint64_t base;        /* this rank's first row in it */
    uint64_t blocks_done;
    bool stream;    /* its rows are not used before long */
    bool ahead;     /* the windows that are opened now are those of the next epoch, */
    uint64_t begin; /* whose rows are this rank's from this one on */
    uint32_t *slots;
    uint64_t slots_room;
    unsigned char *piece;
    uint64_t piece_room;
    unsigned char gap[GAP_BYTES];
};

/* -- window_spans.c -- */
struct portion window_place_portion(const struct window_reader *r,
                                    const struct window_place *at);
/* Bytes of a row of all columns. */
uint64_t window_row_bytes(const struct window_reader *r);
void window_spans_measure(struct window_reader *r, uint64_t batch);
void window_span_remove(struct window_reader *r);
/* The place of one of this rank's rows. */
unsigned char *window_row_place(const struct window_reader *r, size_t column,
                                uint64_t row);
/* The windows that come next are those of the next epoch. */
void window_epoch_look_ahead(struct window_reader *r);
/* The window that comes next, or that has the first row after a reset. */
int window_open(struct window_reader *r, struct epoch_order *o, struct error *err);
void window_finish(struct window_reader *r);

/* -- window_blocks.c -- */
/* Read up to n more blocks of the open window. */
int window_blocks_read(struct window_reader *r, const struct epoch_order *o, uint64_t n,
                       struct error *err);

#endif
