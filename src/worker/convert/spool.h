/*
 * spool.h - keeps the rows that a rank has parsed in a file without a name, until their
 * place in a part is known. They are read back once, in the order and in the blocks in
 * which they were put.
 */
#ifndef RAYTRAIN_CONVERT_SPOOL_H
#define RAYTRAIN_CONVERT_SPOOL_H

#include <stdio.h>

#include "frame/frame.h"
#include "text/source.h"

struct spool {
    FILE *stream;
    char *buffer;      /* the stream's */
    const char *where; /* the directory, for messages */
    const struct text_watch *watch;
    size_t *columns;    /* indices of the kept columns in the frames that are put */
    struct frame rows;  /* the kept columns; also the block that was read last */
    uint64_t *elements; /* put so far, for each kept column */
    uint64_t n_rows;    /* put so far */
};

/* Creates the file in this directory, a string that the caller keeps. The watch is
 * asked before each block that is read back. Call spool_clear() in any case. */
int spool_create(struct spool *s, const char *directory, const struct text_watch *watch,
                 struct error *err);
void spool_clear(struct spool *s);

/* Discards all rows. Later ones are like `like`; their columns for which keep(arg,
 * name) is true are kept. */
int spool_begin(struct spool *s, const struct frame *like,
                bool (*keep)(const void *arg, const char *name), const void *arg,
                struct error *err);
int spool_put(struct spool *s, const struct frame *rows, struct error *err);

/* Read from the start. */
int spool_rewind(struct spool *s, struct error *err);
/* The next block, into s->rows; without rows at the end. */
int spool_next(struct spool *s, struct error *err);

#endif
