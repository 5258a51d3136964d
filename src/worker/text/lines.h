/*
 * lines.h - all ranks together turn text files, one after the other, into rows of one
 * column, `text`: a row for each line, also for an empty one, without its LF or CR LF.
 * Other bytes are not changed, not even NUL. The result does not depend on the number
 * of ranks, nor on the size of blocks.
 */
#ifndef RAYTRAIN_TEXT_LINES_H
#define RAYTRAIN_TEXT_LINES_H

#include "comm/comm.h"
#include "text/row_sink.h"
#include "text/source.h"

/*
 * COLLECTIVE, with the same arguments and the same outcome on every rank. The files may
 * have no rows. block_bytes 0: 256 KiB. RAYTRAIN_ECORRUPT: a file changes while it is
 * read. RAYTRAIN_ENOTFOUND: a file does not exist.
 */
int lines_convert(struct comm *comm, const struct text_source sources[], size_t n,
                  size_t block_bytes, const struct row_sink *sink, void *arg,
                  struct error *err);

#endif
