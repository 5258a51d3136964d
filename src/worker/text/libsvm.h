/*
 * libsvm.h - files of LIBSVM text, one after the other, become rows of columns, by all
 * ranks at once. The lines are described in libsvm_block.h. The result does not depend
 * on how many ranks there are, nor on the size of blocks.
 *
 *     label     float32
 *     weight    float32, if a row has LABEL:WEIGHT; 1 in rows without
 *     qid       int64, if rows have qid:QUERY: then all must
 *     features  sparse float32; row.shape[0], known at the end, is the largest index + 1
 *
 * Features are numbered from 0 on. Files do not say whether theirs begin with 0 or 1:
 * as in scikit-learn, with 1 if no row of all has an index 0. For files that are used
 * together, such as those to train and to validate, it is found out before
 * (convert/first_index.h).
 *
 * Every rank reads its range twice: to count rows, and to parse them; once more if a
 * row has what no row at the beginnings of ranges has.
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
 * COLLECTIVE, with the same arguments on every rank; the result is agreed on. There may
 * be no rows at all.
 *
 * RAYTRAIN_EINVAL, with file and line: a line that is not as described.
 * RAYTRAIN_ECORRUPT: a file changes while it is read. RAYTRAIN_ENOTFOUND: a file is not
 * there.
 */
int libsvm_convert(struct comm *comm, const struct text_source sources[], size_t n,
                   const struct libsvm_options *options, const struct row_sink *sink,
                   void *arg, struct error *err);

/*
 * COLLECTIVE: has a row of these files an index 0? Lines that are not as described are
 * passed over: the conversion refuses them.
 */
int libsvm_has_zero(struct comm *comm, const struct text_source sources[], size_t n,
                    bool *zero, struct error *err);

#endif
