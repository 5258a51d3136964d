/*
 * libsvm_block.h - turns lines of LIBSVM text into rows of columns, block by block.
 *
 *     LABEL[:WEIGHT] [qid:QUERY] INDEX:VALUE INDEX:VALUE ... # COMMENT
 *
 * Spaces and tabs separate words; indices rise; other features of the row are 0. A line
 * without words is not a row.
 */
#ifndef RAYTRAIN_TEXT_LIBSVM_BLOCK_H
#define RAYTRAIN_TEXT_LIBSVM_BLOCK_H

#include <stdbool.h>

#include "frame/frame.h"

/* What the rows that have been parsed have. */
struct libsvm_seen {
    bool weight, query, zero; /* `zero`: an index 0 */
    int64_t last;             /* the largest index; -1: no row has one */
};

struct libsvm_block {
    /* The columns: label, weight and qid if rows have them, features. */
    struct frame rows;
    bool weight, query;
    unsigned first; /* the number of the first feature in text: 0 or 1 */
    struct libsvm_seen seen;
    size_t fault;    /* after an error: where its line begins in the block */
    size_t no_query; /* if `some_without`: where a row without qid begins */
    bool some_without;
};

/* Call libsvm_block_clear() in any case. */
int libsvm_block_init(struct libsvm_block *b, struct error *err);
void libsvm_block_clear(struct libsvm_block *b);

/* Makes the columns, without rows, as b->weight and b->query say. */
int libsvm_block_columns(struct libsvm_block *b, struct error *err);

/* The number of rows in whole lines. */
uint64_t libsvm_rows(const char *bytes, size_t n);

/*
 * Parses whole lines into b->rows. Missing weights are 1, missing queries 0; values for
 * which there is no column are only noted in b->seen. RAYTRAIN_EINVAL, with b->fault: a
 * line is not as above, or an index is beyond UINT32_MAX or, if `strict`, less than
 * b->first.
 */
int libsvm_block_parse(struct libsvm_block *b, const char *bytes, size_t n, bool strict,
                       struct error *err);

#endif
