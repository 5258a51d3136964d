/* rows_json.c - the "data" of a tensor in JSON, nested according to its shape, or
 * flat. */
#include "infer/request_parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/datatype.h"
#include "infer/element.h"
#include "infer/refusal.h"
#include "util/quote.h"

/* The elements of a tensor, one after the other. */
struct elements {
    struct request_parse *p;
    const struct infer_column *c;
    struct json_scan *scan;
    uint64_t n, expected; /* elements so far, and expected */
    uint64_t extents[RAYTRAIN_MAX_DIMS + 1];
    int ndim;
    bool flags;        /* also accept true and false for 1 and 0 */
    unsigned char *to; /* the next number */
    size_t size;       /* bytes of one */
    uint64_t *offsets; /* offsets of texts */
    uint64_t at, room; /* bytes of texts */
};

#define TOKEN_MAX 40

/* ---- One element ---- */

static bool refuse_kind(struct elements *e)
{
    char name[QUOTE_TEXT_MAX], first = json_scan_peek(e->scan);
    const char *kind = json_kind(first == '-' ? 'I' : first), *more = "";

    if (e->scan->wrong[0])
        return false;
    if (first == '[')
        kind = "a list, deeper than its shape";
    if (first == 'N' || first == 'I' || first == '-')
        more =
            "; JSON has no NaN and no infinities, but binary data may have them, and "
            "null is a missing value";
    refuse(e->p->why, 400, "element %llu of input %s is %s: %s takes %s%s",
           (unsigned long long)e->n, quote(e->c->name, name), kind,
           e->flags ? "BOOL" : datatype_name(e->c),
           e->c->kind == INFER_TEXT ? "strings"
           : e->flags               ? "true and false"
                                    : "numbers",
           more);
    return false;
}

static bool refuse_value(struct elements *e, const char *at, const char *problem)
{
    char name[QUOTE_TEXT_MAX], token[TOKEN_MAX];
    size_t n = (size_t)(e->scan->at - at);

    snprintf(token, sizeof token, "%.*s%s",
             (int)(n < TOKEN_MAX - 8 ? n : TOKEN_MAX - 8), at,
             n < TOKEN_MAX - 8 ? "" : "...");
    refuse(e->p->why, 400, "element %llu of input %s is %s, which %s %s",
           (unsigned long long)e->n, quote(e->c->name, name), token,
           e->flags ? "BOOL" : datatype_name(e->c), problem);
    return false;
}

/* Is the next value a number in the grammar of JSON? */
static inline const char *number_next(struct elements *e, double *x)
{
    char first = json_scan_peek(e->scan);
    const char *at = e->scan->at;

    if (first != '-' && (first < '0' || first > '9')) {
        refuse_kind(e);
        return NULL;
    }
    if (first == '-' && at + 1 < e->scan->end && (at[1] | 0x20) == 'i') {
        refuse_kind(e);
        return NULL;
    }
    return json_scan_number(e->scan, x);
}

/* Store NaN, as for an empty field of CSV. */
static bool missing_read(struct elements *e)
{
    static const char nan[] = "nan";
    const char *at = e->scan->at;

    if (!json_scan_skip(e->scan))
        return false;
    if (e->flags || element_store(e->c->row.dtype, nan, nan + 3, (double)NAN, e->to))
        return refuse_value(e, at, "cannot hold: it has no missing values");
    e->to += e->size;
    return true;
}

static bool json_number_read(struct elements *e)
{
    const char *at, *problem;
    double x;

    if (json_scan_peek(e->scan) == 'n')
        return missing_read(e);
    at = number_next(e, &x);
    if (!at)
        return false;
    if (isinf(x))
        return refuse_value(e, at, "does not reach");
    problem = element_store(e->c->row.dtype, at, e->scan->at, x, e->to);
    if (problem)
        return refuse_value(e, at, problem);
    if (e->flags && x != 0 && x != 1)
        return refuse_value(e, at, "cannot hold: it has true and false");
    e->to += e->size;
    return true;
}

static bool flag_read(struct elements *e)
{
    char first = json_scan_peek(e->scan);
    const char *digit = first == 't' ? "1" : "0";
    bool value;

    if (first != 't' && first != 'f')
        return json_number_read(e);
    if (!json_scan_bool(e->scan, &value))
        return false;
    (void)element_store(e->c->row.dtype, digit, digit + 1, value, e->to);
    e->to += e->size;
    return true;
}

static bool text_read(struct elements *e)
{
    size_t n;

    if (json_scan_peek(e->scan) == 'n') { /* a missing text is stored as an empty one */
        if (!json_scan_skip(e->scan))
            return false;
        n = 0;
    } else if (json_scan_peek(e->scan) != '"') {
        return refuse_kind(e);
    } else if (!json_scan_string(e->scan, (char *)e->to + e->at, e->room - e->at, &n)) {
        return false;
    }
    e->at += n;
    e->offsets[e->n + 1] = e->at;
    return true;
}

static inline bool element_read(struct elements *e)
{
    if (e->c->kind == INFER_TEXT)
        return text_read(e);
    return e->flags ? flag_read(e) : json_number_read(e);
}

/* ---- Lists ---- */

static bool refuse_count(struct elements *e, bool more)
{
    char name[QUOTE_TEXT_MAX], shape[SHAPE_TEXT_MAX];

    refuse(e->p->why, 400, "the data of input %s has %s elements than its shape %s",
           quote(e->c->name, name), more ? "more" : "fewer",
           shape_text((int64_t)e->p->q->rows, e->c, shape));
    return false;
}

static bool refuse_length(struct elements *e, int level, uint64_t n)
{
    char name[QUOTE_TEXT_MAX], shape[SHAPE_TEXT_MAX];

    refuse(
        e->p->why, 400,
        "the data of input %s is not nested as its shape %s is: before element %llu, "
        "a list of dimension %d has %s than %llu",
        quote(e->c->name, name), shape_text((int64_t)e->p->q->rows, e->c, shape),
        (unsigned long long)e->n, level, n < e->extents[level] ? "fewer" : "more",
        (unsigned long long)e->extents[level]);
    return false;
}

/* Read a list of `expected` elements. */
static bool flat_read(struct elements *e)
{
    bool first = true;

    while (json_scan_more(e->scan, ']', &first)) {
        if (e->n == e->expected)
            return refuse_count(e, true);
        if (!element_read(e))
            return false;
        e->n++;
    }
    return !e->scan->wrong[0] && (e->n == e->expected || refuse_count(e, false));
}

static bool level_read(struct elements *e, int level)
{
    bool first = true;
    uint64_t n = 0;

    while (json_scan_more(e->scan, ']', &first)) {
        if (n == e->extents[level])
            return refuse_length(e, level, n + 1);
        if (level + 1 == e->ndim) {
            if (!element_read(e))
                return false;
            e->n++;
        } else if (json_scan_peek(e->scan) != '[') {
            return e->scan->wrong[0] ? false : refuse_length(e, level + 1, 0);
        } else if (!json_scan_open(e->scan, '[') || !level_read(e, level + 1)) {
            return false;
        }
        n++;
    }
    if (e->scan->wrong[0])
        return false;
    return n == e->extents[level] || refuse_length(e, level, n);
}

static bool list_read(struct elements *e)
{
    if (!json_scan_open(e->scan, '['))
        return false;
    return e->ndim > 1 && json_scan_peek(e->scan) == '[' ? level_read(e, 0)
                                                         : flat_read(e);
}

/* ---- A tensor ---- */

/* Check the expected number of elements before allocating: each takes at least two
 * bytes of the list, with its comma or bracket. */
static int elements_expect(struct elements *e, const struct request_tensor *t)
{
    e->expected = 1;
    for (int d = 0; d < t->ndim; d++) {
        e->extents[e->ndim++] = (uint64_t)t->shape[d];
        if (__builtin_mul_overflow(e->expected, (uint64_t)t->shape[d], &e->expected))
            e->expected = UINT64_MAX;
    }
    if (e->expected <= t->n_data / 2)
        return 0;
    refuse_count(e, false);
    return -1;
}

static int elements_room(struct elements *e, size_t n_data, struct infer_data *d)
{
    uint64_t rows = e->p->q->rows;
    char *bytes;

    if (e->c->kind == INFER_TEXT) {
        e->room = n_data;
        if (request_bytes(e->p, e->c->name, n_data + (rows + 1) * sizeof rows) < 0 ||
            text_room(e->p, rows, n_data, d, &e->offsets, &bytes) < 0)
            return -1;
        e->to = (unsigned char *)bytes;
        return 0;
    }
    d->n_bytes = e->expected * e->size;
    if (request_bytes(e->p, e->c->name, d->n_bytes) < 0)
        return -1;
    d->bytes = d->owned = e->to = malloc(d->n_bytes + 1);
    return d->owned ? 0 : request_no_memory(e->p);
}

int rows_from_json(struct request_parse *p, const struct infer_column *c,
                   const struct request_tensor *t, struct infer_data *d)
{
    struct json_scan back = p->scan;
    struct elements e = {.p = p,
                         .c = c,
                         .scan = &p->scan,
                         .flags = strcmp(t->datatype, "BOOL") == 0,
                         .size = raytrain_dtype_size(c->row.dtype)};
    char name[QUOTE_TEXT_MAX];

    if (c->kind == INFER_NUMBERS && c->row.dtype == RAYTRAIN_BFLOAT16)
        return refuse(p->why, 400,
                      "input %s is BF16, which JSON has no notation for: send it as "
                      "binary data",
                      quote(c->name, name));
    if (elements_expect(&e, t) < 0 || elements_room(&e, t->n_data, d) < 0)
        return -1;
    p->scan.at = t->data;
    if (!list_read(&e))
        return -1;
    if (c->kind == INFER_TEXT)
        d->n_bytes = e.at;
    p->scan = back;
    return 0;
}
