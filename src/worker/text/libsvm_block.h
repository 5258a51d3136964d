/*
 * libsvm_block.h - lines of LIBSVM text become rows of columns, a block at a time.
 *
 *     LABEL[:WEIGHT] [qid:QUERY] INDEX:VALUE INDEX:VALUE ... # COMMENT
 *
 * Words are separated by spaces and tabs; indices rise. What is not written is 0. A
 * line without words is not a row.
 */
#ifndef RAYTRAIN_TEXT_LIBSVM_BLOCK_H
#define RAYTRAIN_TEXT_LIBSVM_BLOCK_H

#include <stdbool.h>

#include "frame/frame.h"

/* What rows have, over all that have been parsed. */
struct libsvm_seen {
    bool weight, query, zero; /* `zero`: an index 0 */
    int64_t last;             /* the largest index; -1: there is none */
};

struct libsvm_block {
    /* The columns: label, weight and qid if they are there, features. */
    struct frame rows;
    bool weight, query;
    unsigned first; /* the number of the first feature in text: 0 or 1 */
    struct libsvm_seen seen;
    size_t fault;    /* if a block is wrong: where the line with the error begins */
    size_t no_query; /* a row without qid: where it begins, if `some_without` */
    bool some_without;
};

/* libsvm_block_clear() is due in any case. */
int libsvm_block_init(struct libsvm_block *b, struct error *err);
void libsvm_block_clear(struct libsvm_block *b);

/* Columns without rows, as b->weight and b->query say. */
int libsvm_block_columns(struct libsvm_block *b, struct error *err);

/* How many rows whole lines are. */
uint64_t libsvm_rows(const char *bytes, size_t n);

/*
 * Parse whole lines into b->rows. Missing weights are 1, missing queries 0; what the
 * columns have no place for is only noted in b->seen. RAYTRAIN_EINVAL, and b->fault: a
 * line is not as above, or an index is less than b->first, if `strict`, or beyond
 * UINT32_MAX.
 */
int libsvm_block_parse(struct libsvm_block *b, const char *bytes, size_t n, bool strict,
                       struct error *err);

#endif
