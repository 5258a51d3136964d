/* reader_file.h - what readers of all formats use. */
#ifndef RAYTRAIN_TABLE_READER_FILE_H
#define RAYTRAIN_TABLE_READER_FILE_H

#include <stdbool.h>

#include "config/dataset_config.h"
#include "util/error.h"

/* Opens a regular file for reading, without waiting (a FIFO is refused); -1 on
 * failure. */
int reader_open_file(const char *path, struct error *err);

/* The error of an open() that failed with EMFILE: RAYTRAIN_EFIT. */
int reader_too_many_files(const char *path, struct error *err);

/* True if this column is asked for. */
bool reader_wants(const struct dataset_config *cfg, const char *column);

#endif
