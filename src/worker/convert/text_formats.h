/*
 * text_formats.h - the text formats. Their rows have no fixed place in a file, so all
 * ranks convert them together (converted.h).
 *
 * To add one: write a converter in worker/text that puts rows into a `struct row_sink`
 * (text/row_sink.h), and here a function NAME_job() that calls it. Add the name to
 * TEXT_FORMATS (config/registry.h), and its endings to the table in
 * config/data_files.c.
 */
#ifndef RAYTRAIN_CONVERT_TEXT_FORMATS_H
#define RAYTRAIN_CONVERT_TEXT_FORMATS_H

#include "comm/comm.h"
#include "config/data_config.h"
#include "text/row_line.h"
#include "text/row_sink.h"
#include "text/source.h"

/* COLLECTIVE: puts all rows of the sources into the sink, as the dataset's options say.
 * `format` is one of TEXT_FORMATS (config/registry.h). */
int text_format_convert(struct comm *comm, const struct dataset_config *cfg,
                        const char *format, const struct text_source sources[],
                        size_t n, const struct row_sink *sink, void *arg,
                        struct error *err);
/* Finds where row `row` of all sources begins. */
int text_format_line(const struct dataset_config *cfg, const char *format,
                     const struct text_source sources[], size_t n, uint64_t row,
                     struct row_line *at, struct error *err);

#endif
