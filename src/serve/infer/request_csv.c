/* request_csv.c - convert rows of CSV, with a header, to rows of the model's inputs. */
#include "infer/request_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "infer/datatype.h"
#include "infer/element.h"
#include "infer/refusal.h"
#include "util/csv_field.h"
#include "util/missing_text.h"
#include "util/number.h"
#include "util/quote.h"

/* The use of a field of a record. */
struct target {
    size_t input; /* input of the model; n_inputs: none */
    uint64_t element;
};

struct csv_rows {
    struct request_parse *p;
    struct csv_cursor cursor;
    const char *body; /* start of the records, and end of the text */
    size_t n_body;
    struct target *targets; /* for each field of a record */
    size_t n_targets;
    /* for each input: the number of its fields, then the bytes of texts */
    uint64_t *counts;
    uint64_t rows;
};

#define TARGETS_MAX 200000

static uint64_t elements_of(const struct infer_column *c)
{
    uint64_t n = 1;

    for (int d = 0; c->kind == INFER_NUMBERS && d < c->row.ndim; d++)
        n *= c->row.shape[d];
    return n;
}

/* ---- The header ---- */

/* Does a field of this name belong to the column? NAME, or NAME_I if there are several
 * elements. */
static bool name_fits(const struct infer_column *c, const char *text, size_t n,
                      uint64_t *element)
{
    size_t length = strlen(c->name);
    int64_t i;

    *element = 0;
    if (n < length || memcmp(text, c->name, length) != 0)
        return false;
    if (c->kind == INFER_TEXT || c->row.ndim == 0)
        return n == length;
    if (n < length + 2 || text[length] != '_' || text[length + 1] < '0' ||
        text[length + 1] > '9' ||
        number_int64(text + length + 1, text + n, &i) != text + n)
        return false;
    *element = (uint64_t)i;
    return *element < elements_of(c);
}

/* Columns are often in the model's order: look first after the last one. */
static struct target target_find(const struct infer_model *m, const char *text,
                                 size_t n, size_t near)
{
    struct target t;

    for (size_t k = 0; k < m->n_inputs; k++) {
        t.input = (near + k) % m->n_inputs;
        if (name_fits(&m->inputs[t.input], text, n, &t.element))
            return t;
    }
    return (struct target){.input = m->n_inputs};
}

static int target_add(struct csv_rows *r, struct target t)
{
    struct target *grown;

    if (r->n_targets == TARGETS_MAX)
        return refuse(r->p->why, 400, "the header of the CSV has more than %d columns",
                      TARGETS_MAX);
    if ((r->n_targets & (r->n_targets - 1)) == 0) {
        size_t room = r->n_targets > 0 ? 2 * r->n_targets : 1;

        grown = realloc(r->targets, room * sizeof *grown);
        if (!grown)
            return request_no_memory(r->p);
        r->targets = grown;
    }
    r->targets[r->n_targets++] = t;
    if (t.input < r->p->model->n_inputs)
        r->counts[t.input]++;
    return 0;
}

static int field_refuse(struct csv_rows *r, enum csv_end end)
{
    return end == CSV_AT_NO_MEMORY
               ? request_no_memory(r->p)
               : refuse(r->p->why, 400, "the CSV ends inside quotes");
}

static int header_read(struct csv_rows *r)
{
    enum csv_end end = CSV_AT_DELIMITER;
    size_t n, near = 0;
    const char *text;

    if (!csv_record_find(&r->cursor, r->cursor.end))
        return refuse(r->p->why, 400,
                      "the CSV has no header: its first line has the "
                      "names of columns");
    while (end == CSV_AT_DELIMITER) {
        struct target t;

        end = csv_field_read(&r->cursor, &text, &n);
        if (end == CSV_AT_QUOTE || end == CSV_AT_NO_MEMORY)
            return field_refuse(r, end);
        t = target_find(r->p->model, text, n, near);
        near = t.input < r->p->model->n_inputs ? t.input : near;
        if (target_add(r, t) < 0)
            return -1;
    }
    return 0;
}

/* ---- Are all columns there? ---- */

static int column_missing(struct csv_rows *r, const struct infer_column *c,
                          uint64_t fields)
{
    uint64_t elements = elements_of(c);
    char name[QUOTE_TEXT_MAX];

    if (c->kind == INFER_TEXT || c->row.ndim == 0)
        return refuse(r->p->why, 400,
                      "the CSV has no column %s, which the model takes: its first line "
                      "has the names of columns",
                      quote(c->name, name));
    return refuse(r->p->why, 400,
                  "the CSV has %llu of the %llu columns of input %s: they are %s_0 to "
                  "%s_%llu",
                  (unsigned long long)fields, (unsigned long long)elements,
                  quote(c->name, name), c->name, c->name,
                  (unsigned long long)(elements - 1));
}

/* The input has as many fields as elements: does each element have one? */
static int column_check(struct csv_rows *r, size_t input)
{
    const struct infer_column *c = &r->p->model->inputs[input];
    uint64_t elements = elements_of(c);
    unsigned char *seen = calloc(1, elements);
    char name[QUOTE_TEXT_MAX];
    int rc = 0;

    if (!seen)
        return request_no_memory(r->p);
    for (size_t i = 0; rc == 0 && i < r->n_targets; i++) {
        if (r->targets[i].input != input)
            continue;
        if (seen[r->targets[i].element]++)
            rc = refuse(r->p->why, 400, "the CSV has a column of input %s twice",
                        quote(c->name, name));
    }
    free(seen);
    return rc;
}

static int csv_columns_check(struct csv_rows *r)
{
    const struct infer_model *m = r->p->model;
    char name[QUOTE_TEXT_MAX];

    for (size_t i = 0; i < m->n_inputs; i++) {
        uint64_t elements = elements_of(&m->inputs[i]);

        if (r->counts[i] < elements)
            return column_missing(r, &m->inputs[i], r->counts[i]);
        if (r->counts[i] > elements)
            return refuse(r->p->why, 400, "the CSV has a column of input %s twice",
                          quote(m->inputs[i].name, name));
        if (elements > 1 && column_check(r, i) < 0)
            return -1;
        r->counts[i] = 0;
    }
    return 0;
}

/* ---- Records ---- */

/* Store a field of row r->rows. */
typedef int (*field_func)(struct csv_rows *r, const struct target *t, const char *text,
                          size_t n);

static int record_each(struct csv_rows *r, field_func use)
{
    enum csv_end end = CSV_AT_DELIMITER;
    const char *text;
    size_t n, i;

    for (i = 0; end == CSV_AT_DELIMITER; i++) {
        end = csv_field_read(&r->cursor, &text, &n);
        if (end == CSV_AT_QUOTE || end == CSV_AT_NO_MEMORY)
            return field_refuse(r, end);
        if (i < r->n_targets && r->targets[i].input < r->p->model->n_inputs &&
            use(r, &r->targets[i], text, n) < 0)
            return -1;
    }
    if (i == r->n_targets)
        return 0;
    return refuse(r->p->why, 400,
                  "row %llu of the CSV has %zu fields, and its header %zu",
                  (unsigned long long)r->rows, i, r->n_targets);
}

static int rows_each(struct csv_rows *r, field_func use)
{
    r->cursor.at = r->body;
    for (r->rows = 0; csv_record_find(&r->cursor, r->cursor.end); r->rows++)
        if (record_each(r, use) < 0)
            return -1;
    return 0;
}

static int text_count(struct csv_rows *r, const struct target *t, const char *text,
                      size_t n)
{
    (void)text;
    r->counts[t->input] += n;
    return 0;
}

/* ---- Values ---- */

static int refuse_field(struct csv_rows *r, const struct infer_column *c,
                        const char *text, size_t n, const char *problem)
{
    char name[QUOTE_TEXT_MAX], value[QUOTE_TEXT_MAX], copy[64];

    snprintf(copy, sizeof copy, "%.*s", (int)(n < 63 ? n : 63), text);
    return refuse(r->p->why, 400, "row %llu of the CSV has %s in input %s, which %s %s",
                  (unsigned long long)r->rows, quote(copy, value), quote(c->name, name),
                  datatype_name(c), problem);
}

static bool text_is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && strncasecmp(text, word, n) == 0;
}

/* The value of a field that is not a number; NULL: it does not stand for one. */
static const char *number_of_word(const struct missing_texts *missing, const char *text,
                                  size_t n)
{
    if (n == 0 || missing_texts_have(missing, text, n))
        return "nan";
    if (text_is_word(text, n, "true"))
        return "1";
    return text_is_word(text, n, "false") ? "0" : NULL;
}

static int number_take(struct csv_rows *r, const struct infer_column *c,
                       const char *text, size_t n, void *to)
{
    const char *at = text, *end = text + n, *word, *problem;
    double x;

    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    while (at < end && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    word = number_of_word(&r->p->model->missing, at, (size_t)(end - at));
    if (word) {
        at = word;
        end = word + strlen(word);
    }
    if (number_float64(at, end, &x) != end)
        return refuse_field(r, c, text, n, "cannot hold: it has numbers");
    problem = element_store(c->row.dtype, at, end, x, to);
    return problem ? refuse_field(r, c, text, n, problem) : 0;
}

static int field_take(struct csv_rows *r, const struct target *t, const char *text,
                      size_t n)
{
    const struct infer_column *c = &r->p->model->inputs[t->input];
    struct infer_data *d = &r->p->q->inputs[t->input];
    uint64_t *offsets = d->owned;
    size_t size = raytrain_dtype_size(c->row.dtype);

    if (c->kind == INFER_NUMBERS)
        return number_take(r, c, text, n,
                           (char *)d->owned + r->rows * infer_row_bytes(c) +
                               t->element * size);
    if (n > 0)
        memcpy((char *)(offsets + r->p->q->rows + 1) + offsets[r->rows], text, n);
    offsets[r->rows + 1] = offsets[r->rows] + n;
    return 0;
}

/* ---- All ---- */

static int column_room(struct csv_rows *r, size_t i)
{
    struct request_parse *p = r->p;
    const struct infer_column *c = &p->model->inputs[i];
    struct infer_data *d = &p->q->inputs[i];
    uint64_t n, *offsets;
    char *bytes;

    if (request_rows(p, c->name, r->rows) < 0)
        return -1;
    if (c->kind == INFER_TEXT) {
        n = r->counts[i] + (r->rows + 1) * sizeof *offsets;
        return request_bytes(p, c->name, n) < 0
                   ? -1
                   : text_room(p, r->rows, r->counts[i], d, &offsets, &bytes);
    }
    n = r->rows *
        infer_row_bytes(c); /* each element takes at least one byte of the text */
    if (request_bytes(p, c->name, n) < 0)
        return -1;
    d->n_bytes = (size_t)n;
    d->bytes = d->owned = malloc(d->n_bytes + 1);
    return d->owned ? 0 : request_no_memory(p);
}

static int csv_take(struct csv_rows *r)
{
    if (header_read(r) < 0 || csv_columns_check(r) < 0)
        return -1;
    r->body = r->cursor.at;
    if (rows_each(r, text_count) < 0)
        return -1;
    for (size_t i = 0; i < r->p->model->n_inputs; i++)
        if (column_room(r, i) < 0)
            return -1;
    return rows_each(r, field_take);
}

int request_csv(struct request_parse *p, const char *text, size_t n)
{
    size_t mark = n >= 3 && memcmp(text, "\357\273\277", 3) == 0 ? 3 : 0;
    struct csv_rows r = {
        .p = p,
        .cursor = {.at = text + mark, .end = text + n, .delimiter = ',', .last = true},
        .counts = calloc(p->model->n_inputs + 1, sizeof *r.counts)};
    int rc = r.counts ? csv_take(&r) : request_no_memory(p);

    csv_cursor_clear(&r.cursor);
    free(r.targets);
    free(r.counts);
    return rc;
}
