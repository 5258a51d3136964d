/*
 * csv_block.c - see csv_block.h. A number is parsed in place, before the end of its
 * field is known. Only if it does not end where a field may end, the field is parsed as
 * text.
 */
#include "text/csv_block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/csv_scan.h"
#include "util/number.h"
#include "util/quote.h"

#define FEW_BYTES ((size_t)1 << 20) /* in a larger text lines are counted first */

/* ---- Columns ---- */

/* The column of b->rows that has the values of a column. */
static struct frame_column frame_column_of(const struct csv_column *c)
{
    struct frame_column f = {.kind = FRAME_NUMBERS, .words = c->words};

    memcpy(f.name, c->name, sizeof f.name);
    switch (c->type) {
    case CSV_BOOL:
        f.row.dtype = RAYTRAIN_UINT8;
        break;
    case CSV_INT64:
        f.row.dtype = RAYTRAIN_INT64;
        break;
    case CSV_FLOAT32:
        f.row.dtype = RAYTRAIN_FLOAT32;
        break;
    case CSV_WORDS:
        f.kind = FRAME_WORDS;
        break;
    case CSV_TEXT:
        f.kind = FRAME_TEXT;
        break;
    default:
        f.row.dtype = RAYTRAIN_FLOAT64;
    }
    return f;
}

/* Make the columns of b->rows for the present types. */
static int frame_make(struct csv_block *b, struct error *err)
{
    frame_clear(&b->rows);
    for (size_t i = 0; i < b->n_columns; i++) {
        struct frame_column f = frame_column_of(&b->columns[i]);
        size_t index;

        if (frame_append(&b->rows, &f, &index, err) < 0)
            return -1;
    }
    return 0;
}

/* Set the types from the values seen so far; true if that changes one. */
static bool types_take(struct csv_block *b)
{
    bool changed = false;

    for (size_t i = 0; i < b->n_columns; i++) {
        struct csv_column *c = &b->columns[i];
        enum csv_type type = c->declared ? c->declared : csv_type_of(c->seen);

        if (c->skipped)
            type = CSV_BOOL;
        changed |= type != c->type;
        c->type = type;
    }
    return changed;
}

static int words_forget(struct csv_column *c, struct error *err)
{
    dictionary_destroy(c->words);
    c->words = dictionary_create();
    return c->words ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for words");
}

static bool numbers_among(const struct missing_texts *missing)
{
    const struct missing_texts usual = {NULL, 0};
    unsigned seen = 0;
    struct csv_value v;

    for (size_t i = 0; i < missing->n; i++)
        seen |= csv_value(&usual, missing->texts[i], strlen(missing->texts[i]), &v);
    return seen & (CSV_SEEN_INT64 | CSV_SEEN_FLOAT64 | CSV_SEEN_LARGE);
}

int csv_block_init(struct csv_block *b, char delimiter,
                   const struct missing_texts *missing, const struct csv_column *like,
                   size_t n, struct error *err)
{
    *b = (struct csv_block){
        .delimiter = delimiter, .missing = *missing, .rows = FRAME_INIT};
    b->columns = calloc(n + 1, sizeof *b->columns);
    if (!b->columns)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for %zu columns", n);
    b->n_columns = n;
    b->missing_numbers = numbers_among(missing);
    for (size_t i = 0; i < n; i++) {
        memcpy(b->columns[i].name, like[i].name, sizeof like[i].name);
        b->columns[i].declared = like[i].declared;
        b->columns[i].skipped = like[i].skipped;
        if (words_forget(&b->columns[i], err) < 0)
            return -1;
    }
    types_take(b);
    return frame_make(b, err);
}

void csv_block_clear(struct csv_block *b)
{
    frame_clear(&b->rows);
    for (size_t i = 0; i < b->n_columns; i++) {
        dictionary_destroy(b->columns[i].words);
        free(b->columns[i].pending);
    }
    free(b->columns);
    csv_cursor_clear(&b->cursor);
    *b = (struct csv_block){.rows = FRAME_INIT};
}

int csv_block_types(struct csv_block *b, const unsigned seen[], struct error *err)
{
    for (size_t i = 0; i < b->n_columns; i++)
        b->columns[i].seen |= seen[i];
    return types_take(b) ? frame_make(b, err) : 0;
}

int csv_block_restart(struct csv_block *b, struct error *err)
{
    for (size_t i = 0; i < b->n_columns; i++) {
        if (words_forget(&b->columns[i], err) < 0)
            return -1;
    }
    return frame_make(b, err);
}

/* ---- Values ---- */

static int misfit(const struct csv_block *b, const struct csv_column *c,
                  const char *text, size_t n, struct error *err)
{
    char value[QUOTE_TEXT_MAX], name[QUOTE_TEXT_MAX], copy[QUOTE_TEXT_MAX];
    size_t kept = n < sizeof copy - 1 ? n : sizeof copy - 1;

    memcpy(copy, text, kept);
    copy[kept] = '\0';
    if (missing_texts_have(&b->missing, text, n))
        return error_set(err, RAYTRAIN_EINVAL,
                         "column %s has a missing value, but is declared as %s",
                         quote(c->name, name), csv_type_name(c->declared));
    return error_set(
        err, RAYTRAIN_EINVAL, "column %s has the value %s, but is declared as %s",
        quote(c->name, name), quote(copy, value), csv_type_name(c->declared));
}

/* Put a value, given as text, into a column of numbers. One that does not fit the type
 * is only noted: the type changes, and the block is parsed again. */
static int number_put(const struct csv_block *b, struct csv_column *c,
                      struct frame_column *to, uint64_t row, const char *text, size_t n,
                      struct error *err)
{
    struct csv_value v = {0, NAN};
    unsigned what = csv_value(&b->missing, text, n, &v);
    unsigned may = CSV_SEEN_FLOAT64 | CSV_SEEN_INT64 | CSV_SEEN_FINE | CSV_SEEN_LARGE |
                   CSV_SEEN_MISSING;

    if (c->type == CSV_BOOL)
        may = CSV_SEEN_BOOL;
    else if (c->type == CSV_INT64)
        may = CSV_SEEN_INT64 | CSV_SEEN_FINE;
    if (c->declared && !(what & may))
        return misfit(b, c, text, n, err);
    c->seen |= what;
    if (c->type == CSV_UNKNOWN || !(what & may))
        return 0;
    if (c->type == CSV_BOOL)
        to->data[row] = (unsigned char)v.integer;
    else if (c->type == CSV_INT64)
        ((int64_t *)(void *)to->data)[row] = v.integer;
    else if (c->type == CSV_FLOAT32)
        ((float *)(void *)to->data)[row] = (float)v.number;
    else
        ((double *)(void *)to->data)[row] = v.number;
    return 0;
}

/* Note integers among words: they need words unless there is a fraction too, or there
 * are words anyway. */
static void word_look(const struct csv_block *b, struct csv_column *c, const char *text,
                      size_t n)
{
    struct csv_value v;

    if (!c->declared && csv_integer_words(c->seen))
        c->seen |= csv_value(&b->missing, text, n, &v);
}

/* Give pending words their codes. */
static int words_put(struct csv_column *c, struct frame_column *to, struct error *err)
{
    struct csv_pending *p = c->pending;
    int32_t *data = (int32_t *)(void *)to->data, codes[DICTIONARY_AHEAD];
    size_t n = p->n;

    p->n = 0;
    if (dictionary_add_some(c->words, p->texts, n, codes, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        data[p->rows[i]] = codes[i];
    return 0;
}

/* Put a text that is not missing. `stays`: it stays in place while the block is
 * parsed. */
static int word_put(struct csv_column *c, struct frame_column *to, uint64_t row,
                    const char *text, size_t n, bool stays, struct error *err)
{
    int32_t *code = (int32_t *)(void *)to->data + row;
    struct csv_pending *p = c->pending;

    if (!stays) { /* after pending ones, so that codes do not depend on blocks */
        if (p && words_put(c, to, err) < 0)
            return -1;
        return dictionary_add(c->words, text, n, code, err);
    }
    if (!p)
        p = c->pending = calloc(1, sizeof *p);
    if (!p)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for words");
    p->texts[p->n] = (struct dictionary_text){text, n};
    p->rows[p->n++] = row;
    return p->n == DICTIONARY_AHEAD ? words_put(c, to, err) : 0;
}

static int csv_text_put(struct frame_column *to, uint64_t row, const char *text,
                        size_t n)
{
    if (n > 0)
        memcpy(to->data + to->offsets[row], text, n);
    to->offsets[row + 1] = to->n_data = to->offsets[row] + n;
    return 0;
}

/* Put a missing word, or an empty text. */
static int missing_put(struct frame_column *to, uint64_t row)
{
    if (to->kind == FRAME_TEXT)
        return csv_text_put(to, row, NULL, 0);
    ((int32_t *)(void *)to->data)[row] = -1;
    return 0;
}

/* ---- Fields ---- */

/* An outcome in addition to those of enum csv_end: an error, which is in *err. */
#define FAILED (-1)

static int field_as_text(struct csv_block *b, size_t i, uint64_t row, struct error *err)
{
    struct csv_column *c = &b->columns[i];
    struct frame_column *to = &b->rows.columns[i];
    const char *text;
    size_t n;
    enum csv_end end = csv_field_read(&b->cursor, &text, &n);
    int rc;

    if (end > CSV_AT_LINE_END || c->skipped)
        return end;
    if (to->kind == FRAME_WORDS)
        word_look(b, c, text, n);
    if (to->kind == FRAME_NUMBERS)
        rc = number_put(b, c, to, row, text, n, err);
    else if (missing_texts_have(&b->missing, text, n))
        rc = missing_put(to, row);
    else if (to->kind == FRAME_WORDS)
        rc = word_put(c, to, row, text, n, text != b->cursor.unquoted, err);
    else
        rc = csv_text_put(to, row, text, n);
    return rc < 0 ? FAILED : (int)end;
}

/* The end of an integer at the cursor that is a whole field; NULL if there is none. */
static inline const char *integer_read(const struct csv_cursor *at,
                                       struct csv_column *c, int64_t *x)
{
    const char *end = number_int64(at->at, at->end, x);

    if (end == at->at || !csv_ends_field(at, end))
        return NULL;
    if (!csv_integer_is_real(*x))
        c->seen |= CSV_SEEN_FINE;
    return end;
}

/* The same for any number. In a column without fractions so far, numbers are integers,
 * or are parsed as text. */
static inline const char *real_read(const struct csv_cursor *at, struct csv_column *c,
                                    double *x)
{
    const char *end;
    int64_t integer;

    if (!c->declared && !(c->seen & CSV_SEEN_FLOAT64)) {
        end = integer_read(at, c, &integer);
        *x = (double)integer;
        return end;
    }
    end = number_float64(at->at, at->end, x);
    /* Not every spelling of nan is a number. */
    return end == at->at || !csv_ends_field(at, end) || isnan(*x) ? NULL : end;
}

/* Make the field at the cursor the value of a column. Returns an enum csv_end, or
 * FAILED. */
static inline int field_put(struct csv_block *b, size_t i, uint64_t row,
                            struct error *err)
{
    struct csv_cursor *at = &b->cursor;
    struct csv_column *c = &b->columns[i];
    unsigned char *data = b->rows.columns[i].data;
    const char *end;
    double number;

    switch (b->missing_numbers ? CSV_UNKNOWN : c->type) {
    case CSV_INT64:
        end = integer_read(at, c, (int64_t *)(void *)data + row);
        if (!end)
            return field_as_text(b, i, row, err);
        break;
    case CSV_FLOAT32:
    case CSV_FLOAT64:
        end = real_read(at, c, &number);
        if (!end)
            return field_as_text(b, i, row, err);
        if (c->type == CSV_FLOAT64)
            ((double *)(void *)data)[row] = number;
        else
            ((float *)(void *)data)[row] = (float)number;
        break;
    default:
        return field_as_text(b, i, row, err);
    }
    at->at = end;
    return csv_field_end(at);
}

/* ---- Records ---- */

/* Count the fields of a record that has more of them than there are columns. */
static int too_many(struct csv_block *b, struct error *err)
{
    size_t n = b->n_columns, length;
    const char *text;
    enum csv_end end;

    do {
        end = csv_field_read(&b->cursor, &text, &length);
        n++;
    } while (end == CSV_AT_DELIMITER);
    if (end == CSV_AT_CUT)
        return CSV_AT_CUT;
    return error_set(
        err, RAYTRAIN_EINVAL,
        "the record has %zu fields instead of %zu; is text with a delimiter "
        "not in quotes?",
        n, b->n_columns);
}

static int record_put(struct csv_block *b, uint64_t row, struct error *err)
{
    int end = CSV_AT_DELIMITER;
    size_t n = 0;

    while (n < b->n_columns && end == CSV_AT_DELIMITER)
        end = field_put(b, n++, row, err);
    switch (end) {
    case CSV_AT_DELIMITER:
        return too_many(b, err);
    case CSV_AT_LINE_END:
        if (n == b->n_columns)
            return end;
        return error_set(err, RAYTRAIN_EINVAL,
                         "the record has %zu field%s instead of %zu", n,
                         n == 1 ? "" : "s", b->n_columns);
    case CSV_AT_QUOTE:
        return error_set(err, RAYTRAIN_EINVAL, "the file ends in a quoted field");
    case CSV_AT_NO_MEMORY:
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a field");
    default:
        return end;
    }
}

/* The most rows that n bytes can have, if they are few: a field needs at least a byte,
 * with what ends it, and a record two. */
static uint64_t rows_most(const struct csv_block *b, const char *bytes, size_t n)
{
    return 1 + (n > FEW_BYTES ? csv_scan_lines(bytes, n)
                              : n / (b->n_columns > 2 ? b->n_columns : 2));
}

/* Reserve memory for the rows of the text. */
static int csv_rows_reserve(struct csv_block *b, const char *bytes, size_t n,
                            struct error *err)
{
    uint64_t most = rows_most(b, bytes, n);

    for (size_t i = 0; i < b->n_columns; i++) {
        struct frame_column *to = &b->rows.columns[i];

        if (frame_reserve(to, most, n, err) < 0)
            return -1;
        if (to->offsets)
            to->offsets[0] = to->n_data = 0;
        if (b->columns[i].pending)
            b->columns[i].pending->n = 0;
    }
    return 0;
}

/* Parse all records of the cursor that begin before `stop`, with the present types. */
static int records_parse(struct csv_block *b, const struct csv_text *text,
                         struct error *err)
{
    const char *stop = text->bytes + (text->limit < text->n ? text->limit : text->n);

    b->rows.rows = 0;
    while (csv_record_find(&b->cursor, stop)) {
        const char *begin = b->cursor.at;
        int rc = record_put(b, b->rows.rows, err);

        if (rc == CSV_AT_LINE_END) {
            b->rows.rows++;
            continue;
        }
        b->cursor.at = begin;
        b->fault = (size_t)(begin - text->bytes);
        if (rc == FAILED)
            return -1;
        break;
    }
    for (size_t i = 0; i < b->n_columns; i++) {
        if (b->columns[i].pending && b->columns[i].pending->n > 0 &&
            words_put(&b->columns[i], &b->rows.columns[i], err) < 0)
            return -1;
    }
    return 0;
}

/* The same; parse them again if types change. */
static int records_parse_typed(struct csv_block *b, const struct csv_text *text,
                               struct error *err)
{
    b->widened = false;
    for (;;) {
        b->cursor.at = text->bytes;
        b->cursor.end = text->bytes + text->n;
        b->cursor.last = text->last;
        b->cursor.delimiter = b->delimiter;
        if (csv_rows_reserve(b, text->bytes, text->n, err) < 0 ||
            records_parse(b, text, err) < 0)
            return -1;
        if (!types_take(b))
            return 0;
        b->widened = true;
        if (frame_make(b, err) < 0)
            return -1;
    }
}

int csv_block_parse(struct csv_block *b, const struct csv_text *text, size_t *used,
                    struct error *err)
{
    const char *nul = memchr(text->bytes, '\0', text->n);
    struct csv_text before = *text;

    if (nul) {
        before.n = (size_t)(nul - text->bytes);
        before.last = false;
    }
    if (records_parse_typed(b, &before, err) < 0)
        return -1;
    *used = (size_t)(b->cursor.at - text->bytes);
    /* Do not report a NUL in a record of another block. */
    if (!nul || *used >= text->limit)
        return 0;
    b->fault = *used;
    return error_set(err, RAYTRAIN_EINVAL,
                     "the record has a NUL byte; is this text, in UTF-8?");
}
