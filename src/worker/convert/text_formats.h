/*
 * text_formats.h - formats of text, whose rows have no fixed place: all ranks together
 * convert them (converted.h).
 *
 * To add one: write a converter in worker/text that gives rows to a `struct row_sink`
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

/* COLLECTIVE: all rows of the sources to the sink, as the dataset's options say.
 * `format` is one of TEXT_FORMATS (config/registry.h). */
int text_format_convert(struct comm *comm, const struct dataset_config *cfg,
                        const char *format, const struct text_source sources[],
                        size_t n, const struct row_sink *sink, void *arg,
                        struct error *err);
/* Where row `row` of all of them begins. */
int text_format_line(const struct dataset_config *cfg, const char *format,
                     const struct text_source sources[], size_t n, uint64_t row,
                     struct row_line *at, struct error *err);

#endif
