/*
 * libsvm.h - all ranks together turn files of LIBSVM text, one after the other, into
 * rows of columns. libsvm_block.h describes the lines. The result does not depend on
 * the number of ranks, nor on the size of blocks.
 *
 *     label     float32
 *     weight    float32, if a row has LABEL:WEIGHT; 1 in rows without it
 *     qid       int64, if rows have qid:QUERY; then all rows must have it
 *     features  sparse float32; row.shape[0], known at the end, is the largest index + 1
 *
 * Features are numbered from 0. Files do not say whether their indices begin with 0 or
 * 1: as in scikit-learn, they begin with 1 if no row has an index 0. For files that are
 * used together, such as those to train and to validate, this is found out before
 * (convert/first_index.h).
 *
 * Every rank reads its range twice: to count rows, and to parse them. It reads it once
 * more if a row has a weight, a qid or an index 0, and no row at the beginnings of
 * ranges has.
 */
#ifndef RAYTRAIN_TEXT_LIBSVM_H
#define RAYTRAIN_TEXT_LIBSVM_H

#include "comm/comm.h"
#include "text/row_sink.h"
#include "text/source.h"

enum libsvm_base { LIBSVM_AUTO, LIBSVM_FROM_ZERO, LIBSVM_FROM_ONE };

struct libsvm_options {
    enum libsvm_base base;
    size_t block_bytes; /* 0: 256 KiB */
};

/*
 * COLLECTIVE, with the same arguments and the same outcome on every rank. The files may
 * have no rows.
 *
 * RAYTRAIN_EINVAL, with file and line: a line that is not as described.
 * RAYTRAIN_ECORRUPT: a file changes while it is read. RAYTRAIN_ENOTFOUND: a file does
 * not exist.
 */
int libsvm_convert(struct comm *comm, const struct text_source sources[], size_t n,
                   const struct libsvm_options *options, const struct row_sink *sink,
                   void *arg, struct error *err);

/*
 * COLLECTIVE: *zero is true if a row of these files has an index 0. Lines that are not
 * as described are skipped: the conversion refuses them.
 */
int libsvm_has_zero(struct comm *comm, const struct text_source sources[], size_t n,
                    bool *zero, struct error *err);

#endif
