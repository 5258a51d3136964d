/* libsvm_block.c - parses lines of LIBSVM text. */
#include "text/libsvm_block.h"

#include <string.h>

#include "util/number.h"
#include "util/quote.h"

/* ---- Columns ---- */

int libsvm_block_init(struct libsvm_block *b, struct error *err)
{
    *b = (struct libsvm_block){.rows = FRAME_INIT, .seen = {.last = -1}};
    return libsvm_block_columns(b, err);
}

void libsvm_block_clear(struct libsvm_block *b)
{
    frame_clear(&b->rows);
}

static int libsvm_column_add(struct frame *f, const char *name, enum frame_kind kind,
                             raytrain_dtype dtype, struct error *err)
{
    struct frame_column c = {.kind = kind};
    size_t index;

    strcpy(c.name, name);
    c.row.dtype = dtype;
    c.row.ndim = kind == FRAME_SPARSE;
    return frame_add(f, &c, &index, err);
}

int libsvm_block_columns(struct libsvm_block *b, struct error *err)
{
    frame_clear(&b->rows);
    if (libsvm_column_add(&b->rows, "label", FRAME_NUMBERS, RAYTRAIN_FLOAT32, err) < 0)
        return -1;
    if (b->weight &&
        libsvm_column_add(&b->rows, "weight", FRAME_NUMBERS, RAYTRAIN_FLOAT32, err) < 0)
        return -1;
    if (b->query &&
        libsvm_column_add(&b->rows, "qid", FRAME_NUMBERS, RAYTRAIN_INT64, err) < 0)
        return -1;
    return libsvm_column_add(&b->rows, "features", FRAME_SPARSE, RAYTRAIN_FLOAT32, err);
}

/* ---- Lines ---- */

static bool is_libsvm_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* True at the end of a line, and at its comment. */
static bool at_end(const char *at, const char *end)
{
    return at == end || *at == '\n' || *at == '#';
}

static const char *libsvm_blanks_skip(const char *at, const char *end)
{
    while (at < end && is_libsvm_blank(*at))
        at++;
    return at;
}

/* The beginning of the next line. */
static const char *line_skip(const char *at, const char *end)
{
    const char *last = memchr(at, '\n', (size_t)(end - at));

    return last ? last + 1 : end;
}

uint64_t libsvm_rows(const char *bytes, size_t n)
{
    const char *end = bytes + n;
    uint64_t rows = 0;

    for (const char *at = bytes; at < end; at = line_skip(at, end)) {
        at = libsvm_blanks_skip(at, end);
        rows += !at_end(at, end);
    }
    return rows;
}

/* ---- Words ---- */

/* The memory for the values of rows. */
struct row_memory {
    float *label, *weight, *values;
    int64_t *query;
    uint64_t *offsets;
    uint32_t *indices;
};

struct line {
    const char *at, *end; /* of the text */
    const char *word;     /* the word that is parsed, for messages */
};

static int bad_word(const struct line *l, const char *what, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX], text[QUOTE_TEXT_MAX];
    size_t n = 0;

    while (n < sizeof text - 1 && !at_end(l->word + n, l->end) &&
           !is_libsvm_blank(l->word[n])) {
        text[n] = l->word[n];
        n++;
    }
    text[n] = '\0';
    return error_set(err, RAYTRAIN_EINVAL, "%s: %s", quote(text, quoted), what);
}

static bool word_ends(const struct line *l, const char *at)
{
    return at_end(at, l->end) || is_libsvm_blank(*at);
}

static int float_read(struct line *l, float *value, const char *what, struct error *err)
{
    double number;
    const char *end = number_float64(l->at, l->end, &number);

    if (end == l->at)
        return bad_word(l, what, err);
    *value = (float)number;
    l->at = end;
    return 0;
}

/* LABEL[:WEIGHT] */
static int label_read(struct line *l, struct libsvm_block *b, float *label,
                      float *weight, struct error *err)
{
    l->word = l->at;
    *weight = 1;
    if (float_read(l, label, "a line begins with the label, which is a number", err) <
        0)
        return -1;
    if (l->at < l->end && *l->at == ':') {
        l->at++;
        b->seen.weight = true;
        if (float_read(l, weight, "the weight after the label is not a number", err) <
            0)
            return -1;
    }
    if (!word_ends(l, l->at))
        return bad_word(l, "the label is not one number", err);
    return 0;
}

/* [qid:QUERY] */
static int query_read(struct line *l, struct libsvm_block *b, int64_t *query,
                      bool *there, struct error *err)
{
    const char *end;

    *query = 0;
    l->word = l->at = libsvm_blanks_skip(l->at, l->end);
    *there = l->end - l->at >= 4 && memcmp(l->at, "qid:", 4) == 0;
    if (!*there)
        return 0;
    b->seen.query = true;
    end = number_int64(l->at + 4, l->end, query);
    if (end == l->at + 4 || !word_ends(l, end))
        return bad_word(l, "the query after qid: is not an integer", err);
    l->at = end;
    return 0;
}

static int bad_feature(const struct line *l, struct error *err)
{
    int64_t index;
    const char *end = number_int64(l->word, l->end, &index);

    if (end == l->word)
        return bad_word(l, "the index of a feature is not an integer of 64 bits", err);
    if (end == l->end || *end != ':')
        return bad_word(l, "a feature is INDEX:VALUE", err);
    return bad_word(l, "the value of a feature is not a number", err);
}

static int bad_index(const struct line *l, int64_t index, int64_t before,
                     struct error *err)
{
    char why[128];

    if (index < 0)
        return bad_word(l, "the index of a feature is negative", err);
    if (index > UINT32_MAX)
        return bad_word(l, "the index of a feature is beyond 4294967295", err);
    if (index <= before) {
        snprintf(why, sizeof why,
                 "the index follows %lld; the indices of a line must rise",
                 (long long)before);
        return bad_word(l, why, err);
    }
    return bad_word(l,
                    "there is no index 0 where indices begin with 1; the option "
                    "first_index says how files count",
                    err);
}

/* INDEX:VALUE ..., stored from element `n` on. Returns the element after them, or
 * -1. */
static int64_t features_read(struct line *l, struct libsvm_block *b, bool strict,
                             const struct row_memory *to, uint64_t n, struct error *err)
{
    const int64_t least = strict ? b->first : 0;
    int64_t index, before = -1;
    const char *end;
    double value;

    for (;; n++) {
        l->at = libsvm_blanks_skip(l->at, l->end);
        if (at_end(l->at, l->end))
            break;
        l->word = l->at;
        end = number_int64(l->at, l->end, &index);
        if (end == l->at || end == l->end || *end != ':')
            return bad_feature(l, err);
        l->at = number_float64(end + 1, l->end, &value);
        if (l->at == end + 1 || !word_ends(l, l->at))
            return bad_feature(l, err);
        if (index <= before || index < least || index > UINT32_MAX)
            return bad_index(l, index, before, err);
        b->seen.zero |= index == 0;
        before = index;
        to->indices[n] = (uint32_t)index - b->first;
        to->values[n] = (float)value;
    }
    if (before > b->seen.last)
        b->seen.last = before;
    return (int64_t)n;
}

/* ---- Blocks ---- */

/* Reserve memory for the rows and features of n bytes: a row has at least two bytes, a
 * feature four. */
static int libsvm_rows_reserve(struct libsvm_block *b, size_t n, struct row_memory *to,
                               struct error *err)
{
    struct frame_column *c = b->rows.columns;

    for (size_t i = 0; i < b->rows.n_columns; i++) {
        if (frame_reserve(&c[i], n / 2 + 1, n / 4 + 1, err) < 0)
            return -1;
    }
    to->label = (float *)(void *)c++->data;
    to->weight = b->weight ? (float *)(void *)c++->data : NULL;
    to->query = b->query ? (int64_t *)(void *)c++->data : NULL;
    to->values = (float *)(void *)c->data;
    to->indices = c->indices;
    to->offsets = c->offsets;
    to->offsets[0] = 0;
    return 0;
}

/* Parse the row that begins at l->at. */
static int row_read(struct line *l, struct libsvm_block *b, bool strict,
                    const struct row_memory *to, struct error *err)
{
    uint64_t row = b->rows.rows;
    float weight;
    int64_t query, n;
    bool there;

    if (label_read(l, b, &to->label[row], &weight, err) < 0 ||
        query_read(l, b, &query, &there, err) < 0)
        return -1;
    n = features_read(l, b, strict, to, to->offsets[row], err);
    if (n < 0)
        return -1;
    if (to->weight)
        to->weight[row] = weight;
    if (to->query)
        to->query[row] = query;
    if (!there && !b->some_without) {
        b->some_without = true;
        b->no_query = b->fault;
    }
    to->offsets[row + 1] = (uint64_t)n;
    b->rows.rows++;
    return 0;
}

int libsvm_block_parse(struct libsvm_block *b, const char *bytes, size_t n, bool strict,
                       struct error *err)
{
    struct line l = {.at = bytes, .end = bytes + n};
    struct row_memory to;

    b->rows.rows = 0;
    b->some_without = false;
    if (libsvm_rows_reserve(b, n, &to, err) < 0)
        return -1;
    for (; l.at < l.end; l.at = line_skip(l.at, l.end)) {
        b->fault = (size_t)(l.at - bytes);
        l.at = libsvm_blanks_skip(l.at, l.end);
        if (!at_end(l.at, l.end) && row_read(&l, b, strict, &to, err) < 0)
            return -1;
    }
    b->rows.columns[b->rows.n_columns - 1].n_data = to.offsets[b->rows.rows];
    return 0;
}
