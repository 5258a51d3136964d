/* reader_file.h - what readers of all formats use: open a file, is a column read? */
#ifndef RAYTRAIN_TABLE_READER_FILE_H
#define RAYTRAIN_TABLE_READER_FILE_H

#include <stdbool.h>

#include "config/dataset_config.h"
#include "util/error.h"

/* Open a regular file for reading, never waiting (a FIFO is refused); -1 on failure. */
int reader_open_file(const char *path, struct error *err);

/* The error of an open() that failed with EMFILE: RAYTRAIN_EFIT. */
int reader_too_many_files(const char *path, struct error *err);

/* Is this column asked for? */
bool reader_wants(const struct dataset_config *cfg, const char *column);

#endif
