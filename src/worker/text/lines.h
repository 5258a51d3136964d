/*
 * lines.h - files of text, one after the other, become rows of one column, `text`, by
 * all ranks at once: a row for each line, also an empty one, without its LF or CR LF.
 * Other bytes are as they are, NUL too. The result does not depend on how many ranks
 * there are, nor on the size of blocks.
 */
#ifndef RAYTRAIN_TEXT_LINES_H
#define RAYTRAIN_TEXT_LINES_H

#include "comm/comm.h"
#include "text/row_sink.h"
#include "text/source.h"

/*
 * COLLECTIVE, with the same arguments on every rank; the result is agreed on. There may
 * be no rows at all. block_bytes 0: 256 KiB. RAYTRAIN_ECORRUPT: a file changes while it
 * is read. RAYTRAIN_ENOTFOUND: a file is not there.
 */
int lines_convert(struct comm *comm, const struct text_source sources[], size_t n,
                  size_t block_bytes, const struct row_sink *sink, void *arg,
                  struct error *err);

#endif
