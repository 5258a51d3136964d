/*
 * text_formats.c - the table of text formats; each row calls a converter of
 * worker/text.
 */
#include "convert/text_formats.h"

#include <stdlib.h>
#include <string.h>

#include "config/registry.h"
#include "table/reader.h"
#include "text/csv_file.h"
#include "text/libsvm.h"
#include "text/libsvm_block.h"
#include "text/lines.h"

struct job {
    struct comm *comm;
    const struct dataset_config *cfg;
    const struct text_source *sources;
    size_t n;
    const struct row_sink *sink;
    void *arg;
};

/* ---- CSV ---- */

static bool format_column_wanted(const void *cfg, const char *column)
{
    return reader_wants(cfg, column);
}

static int separated_convert(const struct job *j, char delimiter, struct error *err)
{
    const struct dataset_config *cfg = j->cfg;
    const size_t n_declared = cfg->n_types + cfg->n_words;
    struct csv_declared *declared = calloc(n_declared + 1, sizeof *declared);
    const struct csv_options options = {.delimiter =
                                            cfg->delimiter ? cfg->delimiter : delimiter,
                                        .without_header = cfg->without_header,
                                        .declared = declared,
                                        .n_declared = n_declared,
                                        .missing = {cfg->missing, cfg->n_missing},
                                        .wanted = format_column_wanted,
                                        .wanted_arg = cfg};
    int rc = declared ? 0 : error_no_memory(err);

    for (size_t i = 0; declared && i < cfg->n_types; i++)
        declared[i] = (struct csv_declared){.column = cfg->types[i].column,
                                            .type = csv_type_parse(cfg->types[i].type)};
    for (size_t i = 0; declared && i < cfg->n_words; i++)
        declared[cfg->n_types + i] = (struct csv_declared){
            .column = cfg->words[i], .type = CSV_WORDS, .optional = true};
    rc = comm_agree(j->comm, rc, err);
    if (rc == 0)
        rc = csv_convert(j->comm, j->sources, j->n, &options, j->sink, j->arg, err);
    free(declared);
    return rc;
}

static int csv_job(const struct job *j, struct error *err)
{
    return separated_convert(j, 0, err);
}

static int tsv_job(const struct job *j, struct error *err)
{
    return separated_convert(j, '\t', err);
}

static int csv_row(const struct job *j, uint64_t row, struct row_line *at,
                   struct error *err)
{
    const struct dataset_config *cfg = j->cfg;

    return csv_row_line(j->sources, j->n, cfg->delimiter, !cfg->without_header, row, at,
                        err);
}

static int tsv_row(const struct job *j, uint64_t row, struct row_line *at,
                   struct error *err)
{
    const struct dataset_config *cfg = j->cfg;

    return csv_row_line(j->sources, j->n, cfg->delimiter ? cfg->delimiter : '\t',
                        !cfg->without_header, row, at, err);
}

/* ---- Others ---- */

static int libsvm_job(const struct job *j, struct error *err)
{
    static const enum libsvm_base bases[] = {[FIRST_INDEX_AUTO] = LIBSVM_AUTO,
                                             [FIRST_INDEX_ZERO] = LIBSVM_FROM_ZERO,
                                             [FIRST_INDEX_ONE] = LIBSVM_FROM_ONE};
    const struct libsvm_options options = {.base = bases[j->cfg->first_index]};

    return libsvm_convert(j->comm, j->sources, j->n, &options, j->sink, j->arg, err);
}

static int libsvm_row(const struct job *j, uint64_t row, struct row_line *at,
                      struct error *err)
{
    return line_row_line(j->sources, j->n, libsvm_rows, row, at, err);
}

static int text_job(const struct job *j, struct error *err)
{
    return lines_convert(j->comm, j->sources, j->n, 0, j->sink, j->arg, err);
}

static uint64_t one_row(const char *line, size_t n)
{
    (void)line;
    (void)n;
    return 1;
}

static int text_row(const struct job *j, uint64_t row, struct row_line *at,
                    struct error *err)
{
    return line_row_line(j->sources, j->n, one_row, row, at, err);
}

/* ---- All of them ---- */

#define ROW(name) {#name, name##_job, name##_row},

static const struct {
    const char *format;
    int (*convert)(const struct job *j, struct error *err);
    int (*line)(const struct job *j, uint64_t row, struct row_line *at,
                struct error *err);
} formats[] = {TEXT_FORMATS(ROW)};

static int format_unknown(const char *format, struct error *err)
{
    return error_set(err, RAYTRAIN_EINVAL, "\"%s\" is not a text format", format);
}

int text_format_convert(struct comm *comm, const struct dataset_config *cfg,
                        const char *format, const struct text_source sources[],
                        size_t n, const struct row_sink *sink, void *arg,
                        struct error *err)
{
    const struct job job = {comm, cfg, sources, n, sink, arg};

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].format, format) == 0)
            return formats[i].convert(&job, err);
    return format_unknown(format, err);
}

int text_format_line(const struct dataset_config *cfg, const char *format,
                     const struct text_source sources[], size_t n, uint64_t row,
                     struct row_line *at, struct error *err)
{
    const struct job job = {.cfg = cfg, .sources = sources, .n = n};

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].format, format) == 0)
            return formats[i].line(&job, row, at, err);
    return format_unknown(format, err);
}
