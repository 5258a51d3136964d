/*
 * csv_file.c - see csv_file.h. A conversion reads the heads of the files, scans them
 * for the rows of each rank, parses samples to guess the types, and makes passes over
 * all rows until the types are right.
 */
#include "text/csv_file.h"

#include <stdlib.h>
#include <string.h>

#include "text/csv_block.h"
#include "text/csv_range.h"
#include "text/csv_words.h"
#include "util/quote.h"

#define BLOCK_BYTES  ((size_t)256 * 1024)
#define COLUMN_BYTES                                                                   \
    ((size_t)512) /* of a block, so that it has some rows of many columns */
#define SAMPLE_BYTES ((size_t)64 * 1024)
#define PASSES       2 /* the first one sees all values */

struct csv_conversion {
    struct comm *comm;
    const struct csv_options *options;
    const struct row_sink *sink;
    void *arg;
    struct csv_files files;
    struct csv_range range;
    struct csv_block block;
    enum csv_type *types; /* those that the sink knows */
    char *bytes;
    size_t room;
    uint64_t row;    /* the next row of this rank */
    uint64_t parsed; /* rows of this rank */
    bool stale;      /* types have changed, so rows do not go into the sink */
};

static size_t block_bytes(const struct csv_conversion *c)
{
    size_t wide = c->files.names.n * COLUMN_BYTES;

    if (c->options->block_bytes > 0)
        return c->options->block_bytes;
    return wide > BLOCK_BYTES ? wide : BLOCK_BYTES;
}

/* ---- Columns ---- */

static int declare(struct csv_column *columns, size_t n,
                   const struct csv_declared *declared, struct error *err)
{
    char name[QUOTE_TEXT_MAX];

    for (size_t i = 0; i < n; i++) {
        if (strcmp(columns[i].name, declared->column) != 0)
            continue;
        if (!declared->optional || columns[i].declared == CSV_UNKNOWN)
            columns[i].declared = declared->type;
        return 0;
    }
    if (declared->optional)
        return 0;
    return error_set(err, RAYTRAIN_ENOTFOUND,
                     "there is no column %s, whose type is declared as %s",
                     quote(declared->column, name), csv_type_name(declared->type));
}

static int columns_make(struct csv_conversion *c, struct error *err)
{
    const struct csv_options *o = c->options;
    struct csv_column *columns;
    size_t n = c->files.names.n;
    int rc = csv_names_columns(&c->files.names, !o->without_header, &columns, err);

    for (size_t i = 0; rc == 0 && i < o->n_declared; i++)
        rc = declare(columns, n, &o->declared[i], err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        columns[i].skipped = o->wanted && !o->wanted(o->wanted_arg, columns[i].name);
    if (rc == 0)
        rc =
            csv_block_init(&c->block, c->files.delimiter, &o->missing, columns, n, err);
    if (rc == 0) {
        c->types = calloc(n + 1, sizeof *c->types);
        if (!c->types)
            rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for columns");
    }
    free(columns);
    return comm_agree(c->comm, rc, err);
}

/* ---- Blocks ---- */

static int csv_room_make(struct csv_conversion *c, size_t room, struct error *err)
{
    char *grown;

    if (room <= c->room)
        return 0;
    if (room > CSV_RECORD_MAX)
        return error_set(err, RAYTRAIN_EINVAL,
                         "a record has more than %zu bytes; is a quote missing?",
                         CSV_RECORD_MAX);
    grown = realloc(c->bytes, room);
    if (!grown)
        return error_set(err, RAYTRAIN_ENOMEM,
                         "out of memory for a record of %zu bytes", room);
    c->bytes = grown;
    c->room = room;
    return 0;
}

/* Read the n bytes from `at` on, or up to the end of the file. */
static int csv_block_read(struct csv_conversion *c, const struct text_file *f,
                          uint64_t at, size_t *n, struct error *err)
{
    if (f->size - at < *n)
        *n = (size_t)(f->size - at);
    if (csv_room_make(c, *n + 1, err) < 0)
        return -1;
    return text_read(f, c->bytes, *n, at, err);
}

/* Find where the first record of the piece begins, and whether another one ended
 * there. */
static int piece_begin(struct csv_conversion *c, const struct text_file *f,
                       const struct csv_piece *piece, uint64_t *at, bool *record,
                       struct error *err)
{
    enum csv_state state = piece->state;

    *at = piece->from;
    *record = false;
    while (state != CSV_RECORD && *at < piece->to) {
        size_t n = block_bytes(c);

        if (csv_block_read(c, f, *at, &n, err) < 0)
            return -1;
        *at += csv_scan_line(c->files.delimiter, &state, c->bytes, n, record);
    }
    if (*at == f->size && state != CSV_RECORD && state != CSV_BLANKS)
        *record = true; /* without an end of line */
    return 0;
}

/* Parse records from *at on that begin before `stop`, from about n bytes. */
static int block_parse(struct csv_conversion *c, const struct text_file *f,
                       uint64_t *at, uint64_t stop, size_t n, struct error *err)
{
    size_t used = 0;

    for (; used == 0; n *= 2) {
        struct csv_text text = {.limit = stop - *at < SIZE_MAX ? (size_t)(stop - *at)
                                                               : SIZE_MAX};

        if (csv_block_read(c, f, *at, &n, err) < 0)
            return -1;
        text.bytes = c->bytes;
        text.n = n;
        text.last = n == f->size - *at;
        if (csv_block_parse(&c->block, &text, &used, err) < 0)
            return text_error_at(f, *at + c->block.fault, err);
    }
    *at += used;
    return 0;
}

/* ---- Passes ---- */

static int csv_rows_put(struct csv_conversion *c, struct error *err)
{
    const struct frame *rows = &c->block.rows;
    uint64_t first = c->row;

    c->row += rows->rows;
    c->parsed += rows->rows;
    c->stale |= c->block.widened;
    if (c->stale || rows->rows == 0)
        return 0;
    return c->sink->put(c->arg, first, rows, err);
}

static int piece_parse(struct csv_conversion *c, const struct csv_piece *piece,
                       struct error *err)
{
    struct text_file f = TEXT_FILE_INIT;
    bool record;
    uint64_t at;
    int rc = csv_files_open(&c->files, piece->file, &f, err);

    if (rc == 0)
        rc = piece_begin(c, &f, piece, &at, &record, err);
    if (rc == 0)
        c->row += record;
    while (rc == 0 && at < piece->to) {
        rc = block_parse(c, &f, &at, piece->to, block_bytes(c), err);
        if (rc == 0)
            rc = csv_rows_put(c, err);
    }
    if (rc == 0)
        rc = text_unchanged(&f, err);
    text_close(&f);
    return rc;
}

static int range_parse(struct csv_conversion *c, struct error *err)
{
    struct csv_piece piece = {0};
    int rc = 0;

    c->row = c->range.first;
    c->parsed = 0;
    c->stale = false;
    while (rc == 0 && csv_range_piece(&c->range, &piece))
        rc = piece_parse(c, &piece, err);
    return rc;
}

/* Look at the values of a few records. The pass reports errors. */
static void sample_parse(struct csv_conversion *c, const struct csv_piece *sample)
{
    struct text_file f = TEXT_FILE_INIT;
    size_t n = block_bytes(c) < SAMPLE_BYTES ? block_bytes(c) : SAMPLE_BYTES;
    bool record;
    uint64_t at;

    if (csv_files_open(&c->files, sample->file, &f, NULL) == 0 &&
        piece_begin(c, &f, sample, &at, &record, NULL) == 0 && at < sample->to)
        (void)block_parse(c, &f, &at, sample->to, n, NULL);
    text_close(&f);
}

/* COLLECTIVE: set the types from the values that all ranks have seen; *changed: the
 * sink knows others. */
static int types_agree(struct csv_conversion *c, bool *changed, struct error *err)
{
    size_t n = c->block.n_columns;
    int64_t *bits = calloc(n * CSV_SEEN_BITS + 1, sizeof *bits);
    unsigned *seen = calloc(n + 1, sizeof *seen);
    int rc =
        bits && seen ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for columns");

    *changed = false;
    rc = comm_agree(c->comm, rc, err);
    for (size_t i = 0; rc == 0 && i < n * CSV_SEEN_BITS; i++)
        bits[i] = c->block.columns[i / CSV_SEEN_BITS].seen >> i % CSV_SEEN_BITS & 1;
    if (rc == 0 && n > 0)
        rc = c->comm->ops->allreduce(c->comm, bits, n * CSV_SEEN_BITS, COMM_INT64,
                                     COMM_MAX, err);
    for (size_t i = 0; rc == 0 && i < n * CSV_SEEN_BITS; i++)
        seen[i / CSV_SEEN_BITS] |= (bits[i] != 0 ? 1u : 0) << i % CSV_SEEN_BITS;
    if (rc == 0)
        rc = csv_block_types(&c->block, seen, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        *changed |= c->types[i] != c->block.columns[i].type;
        c->types[i] = c->block.columns[i].type;
    }
    free(bits);
    free(seen);
    return comm_agree(c->comm, rc, err);
}

static int changed_meanwhile(struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "a file was written to while it was read; start again when it is "
                     "complete");
}

/* COLLECTIVE: check that all ranks together have parsed the rows that the scan
 * found. */
static int rows_check(struct csv_conversion *c, struct error *err)
{
    int64_t parsed = (int64_t)c->parsed;

    if (c->comm->ops->allreduce(c->comm, &parsed, 1, COMM_INT64, COMM_SUM, err) < 0)
        return -1;
    return (uint64_t)parsed == c->range.rows ? 0 : changed_meanwhile(err);
}

/* COLLECTIVE: put all rows into the sink. */
static int csv_pass(struct csv_conversion *c, struct error *err)
{
    int rc = csv_block_restart(&c->block, err);

    rc = comm_agree(c->comm, rc, err);
    if (rc == 0)
        rc = c->sink->begin(c->arg, &c->block.rows, c->range.rows, err);
    rc = comm_agree(c->comm, rc, err);
    if (rc == 0)
        rc = comm_agree(c->comm, range_parse(c, err), err);
    return rc == 0 ? rows_check(c, err) : rc;
}

static int csv_passes(struct csv_conversion *c, struct error *err)
{
    bool changed = true;

    for (size_t i = 0; i < c->range.n_samples; i++)
        sample_parse(c, &c->range.samples[i]);
    if (types_agree(c, &changed, err) < 0)
        return -1;
    for (int i = 0; i < PASSES; i++) {
        if (csv_pass(c, err) < 0 || types_agree(c, &changed, err) < 0)
            return -1;
        if (!changed)
            return 0;
    }
    return changed_meanwhile(err);
}

/* ---- Warnings ---- */

static void integers_note(const struct csv_conversion *c,
                          const struct csv_column *column)
{
    char text[QUOTE_TEXT_MAX + 256], name[QUOTE_TEXT_MAX];
    bool large = column->seen & CSV_SEEN_LARGE;

    snprintf(text, sizeof text,
             "column %s has %s: its values are words, so that they stay different; "
             "`types` can declare it as float64, which rounds them",
             quote(column->name, name),
             large ? "whole numbers of more than 64 bits"
                   : "missing values, and whole numbers that float64 does not hold");
    c->sink->warn(c->arg, text);
}

/* On rank 0, when the types are known. */
static void columns_note(const struct csv_conversion *c)
{
    for (size_t i = 0; c->sink->warn && i < c->block.n_columns; i++) {
        const struct csv_column *column = &c->block.columns[i];

        if (!column->declared && !column->skipped && csv_integer_words(column->seen))
            integers_note(c, column);
    }
}

/* ---- The end ---- */

/* COLLECTIVE: give the sink the words of all ranks. */
static int words_end(struct csv_conversion *c, struct error *err)
{
    struct frame *rows = &c->block.rows;
    size_t n = c->block.n_columns;
    struct dictionary **all = calloc(n + 1, sizeof(struct dictionary *));
    int32_t **codes = calloc(n + 1, sizeof(int32_t *));
    int rc =
        all && codes ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for words");

    rc = comm_agree(c->comm, rc, err);
    rows->rows = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (rows->columns[i].kind != FRAME_WORDS)
            continue;
        rc = csv_words_merge(c->comm, &c->block.columns[i].words, &all[i], &codes[i],
                             err);
        rows->columns[i].words = all[i];
    }
    if (rc == 0)
        rc = comm_agree(c->comm, c->sink->end(c->arg, rows, codes, err), err);
    for (size_t i = 0; all && codes && i < n; i++) {
        dictionary_destroy(all[i]);
        free(codes[i]);
    }
    free(all);
    free(codes);
    return rc;
}

static int csv_files_convert(struct csv_conversion *c,
                             const struct text_source sources[], size_t n,
                             struct error *err)
{
    const struct csv_options *o = c->options;

    if (csv_files_look(c->comm, &c->files, sources, n, o->delimiter, !o->without_header,
                       err) < 0 ||
        columns_make(c, err) < 0 ||
        csv_range_scan(c->comm, &c->range, &c->files, block_bytes(c), err) < 0 ||
        csv_passes(c, err) < 0)
        return -1;
    if (c->comm->rank == 0)
        columns_note(c);
    return words_end(c, err);
}

int csv_convert(struct comm *comm, const struct text_source sources[], size_t n,
                const struct csv_options *options, const struct row_sink *sink,
                void *arg, struct error *err)
{
    struct csv_conversion c = {.comm = comm,
                               .options = options,
                               .sink = sink,
                               .arg = arg,
                               .block = {.rows = FRAME_INIT}};
    int rc;

    if (options->delimiter && strchr("\"\r\n", options->delimiter))
        return error_set(err, RAYTRAIN_EINVAL,
                         "a quote, or an end of line, cannot be the delimiter");
    rc = csv_files_convert(&c, sources, n, err);
    csv_block_clear(&c.block);
    csv_files_clear(&c.files);
    free(c.types);
    free(c.bytes);
    return rc;
}
