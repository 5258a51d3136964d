/* npy_header.c - a parser of the few Python literals in the header of an .npy file. */
#include "table/npy_header.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "util/fs.h"

#define PREFACE_MAX     12 /* magic, version, and the length of the text */
#define TEXT_MAX        (1u << 20)
#define FIELDS_MAX      65536
#define HOST_BIG_ENDIAN (__BYTE_ORDER == __BIG_ENDIAN)

static const char MAGIC[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* What was parsed from the text, and its remaining part. */
struct parser {
    const char *at, *end;
    const char *what;
    struct error *err;
    struct npy_header *h;
    bool records, fortran;
    bool has_type, has_shape, has_order;
    int ndim;
    uint64_t shape[RAYTRAIN_MAX_DIMS];
    uint64_t item; /* bytes of an element of the array */
};

bool npy_probe(const unsigned char *head, size_t n)
{
    return n >= sizeof MAGIC && memcmp(head, MAGIC, sizeof MAGIC) == 0;
}

void npy_header_clear(struct npy_header *h)
{
    free(h->fields);
    *h = (struct npy_header){0};
}

/* ---- Words ---- */

static int npy_header_damaged(const struct parser *p)
{
    return error_set(p->err, RAYTRAIN_ECORRUPT,
                     "%s: its header is not that of an .npy file: it is damaged",
                     p->what);
}

static int npy_header_refused(const struct parser *p, const char *why)
{
    return error_set(p->err, RAYTRAIN_ENOTSUP, "%s: %s", p->what, why);
}

/* Skip blanks, and take the next character if it is this one. */
static bool npy_header_take(struct parser *p, char c)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n'))
        p->at++;
    if (p->at == p->end || *p->at != c)
        return false;
    p->at++;
    return true;
}

static bool npy_header_peek(struct parser *p, char c)
{
    bool found = npy_header_take(p, c);

    p->at -= found;
    return found;
}

static bool take_word(struct parser *p, const char *word)
{
    size_t n = strlen(word);

    npy_header_take(p, '\0'); /* only the blanks: the text has no NUL */
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

/* 'text' or "text", without escapes. */
static bool take_string(struct parser *p, char *out, size_t size)
{
    char quote = npy_header_take(p, '\'') ? '\'' : '"';
    size_t n = 0;

    if (quote == '"' && !npy_header_take(p, '"'))
        return false;
    for (; p->at < p->end && *p->at != quote; p->at++) {
        if ((unsigned char)*p->at < ' ' || *p->at == '\\' || n + 1 == size)
            return false;
        out[n++] = *p->at;
    }
    out[n] = '\0';
    return npy_header_take(p, quote);
}

/* Python 2 wrote 3L. */
static bool take_number(struct parser *p, uint64_t *n)
{
    const char *first;

    npy_header_take(p, '\0');
    *n = 0;
    for (first = p->at; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (__builtin_mul_overflow(*n, 10u, n) ||
            __builtin_add_overflow(*n, (uint64_t)(*p->at - '0'), n))
            return false;
    if (p->at == first)
        return false;
    npy_header_take(p, 'L');
    return true;
}

/* (), (3,), (3, 4). */
static int take_shape(struct parser *p, uint64_t shape[RAYTRAIN_MAX_DIMS], int *ndim)
{
    uint64_t n;

    *ndim = 0;
    if (!npy_header_take(p, '('))
        return npy_header_damaged(p);
    while (!npy_header_take(p, ')')) {
        if (!take_number(p, &n))
            return npy_header_damaged(p);
        if (*ndim == RAYTRAIN_MAX_DIMS)
            return npy_header_refused(p, "it has too many dimensions");
        shape[(*ndim)++] = n;
        if (!npy_header_take(p, ',') && !npy_header_peek(p, ')'))
            return npy_header_damaged(p);
    }
    return 0;
}

/* ---- Types ---- */

/* Says for a type that is not supported what its elements are. */
static const char *npy_type_describe(char type)
{
    switch (type) {
    case 'S':
    case 'U':
    case 'a':
        return "holds texts, not numbers";
    case 'c':
        return "holds complex numbers";
    case 'M':
    case 'm':
        return "holds times";
    case 'V':
        return "holds raw bytes";
    default:
        return "does not hold numbers of at most 64 bits";
    }
}

/* "<f4": the dtype, 0 if it is not supported, and the bytes of an element. */
static int type_parse(const struct parser *p, const char *text, struct npy_field *f,
                      uint64_t *bytes)
{
    static const struct {
        char type[3];
        raytrain_dtype dtype;
    } T[] = {
        {"f2", RAYTRAIN_FLOAT16}, {"f4", RAYTRAIN_FLOAT32}, {"f8", RAYTRAIN_FLOAT64},
        {"i1", RAYTRAIN_INT8},    {"i2", RAYTRAIN_INT16},   {"i4", RAYTRAIN_INT32},
        {"i8", RAYTRAIN_INT64},   {"u1", RAYTRAIN_UINT8},   {"u2", RAYTRAIN_UINT16},
        {"u4", RAYTRAIN_UINT32},  {"u8", RAYTRAIN_UINT64},  {"b1", RAYTRAIN_UINT8},
    };
    char order = strchr("<>=|", text[0]) ? *text : '\0';
    const char *type = text + (order != '\0'), *digit = type + 1;

    if (type[0] == 'O')
        return npy_header_refused(
            p, "it holds Python objects, which are not read; save numbers");
    *bytes = 0;
    for (; type[0] && *digit >= '0' && *digit <= '9' && *bytes < TEXT_MAX; digit++)
        *bytes = 10 * *bytes + (uint64_t)(*digit - '0');
    if (!order || !type[0] || digit == type + 1 || (*digit && *digit != '['))
        return npy_header_damaged(p);
    if (type[0] == 'U')
        *bytes *= 4;
    f->row.dtype = 0;
    f->why = npy_type_describe(type[0]);
    for (size_t i = 0; i < sizeof T / sizeof *T; i++)
        if (strcmp(type, T[i].type) == 0)
            f->row.dtype = T[i].dtype;
    f->swapped = *bytes > 1 &&
                 (order == '<' ? HOST_BIG_ENDIAN : order == '>' && !HOST_BIG_ENDIAN);
    return 0;
}

static struct npy_field *npy_field_add(struct parser *p)
{
    struct npy_header *h = p->h;
    struct npy_field *fields = reallocarray(h->fields, h->n_fields + 1, sizeof *fields);

    if (!fields) {
        error_no_memory(p->err);
        return NULL;
    }
    h->fields = fields;
    fields[h->n_fields] = (struct npy_field){0};
    return &fields[h->n_fields++];
}

/* Add bytes times all dimensions of the field to the record. */
static int record_grow(struct parser *p, const struct npy_field *f, uint64_t bytes)
{
    for (int i = 0; i < f->row.ndim; i++)
        if (__builtin_mul_overflow(bytes, f->row.shape[i], &bytes))
            return npy_header_damaged(p);
    return __builtin_add_overflow(p->item, bytes, &p->item) ? npy_header_damaged(p) : 0;
}

/* ('name', '<f4') or ('name', '<f4', (3,)); padding has no name. */
static int take_field(struct parser *p)
{
    struct npy_field *f = npy_field_add(p);
    uint64_t bytes;
    char type[64];

    if (!f)
        return -1;
    if (!npy_header_take(p, '('))
        return npy_header_damaged(p);
    if (npy_header_peek(p, '('))
        return npy_header_refused(p, "its fields have titles, which are not read");
    if (!take_string(p, f->name, sizeof f->name) || !npy_header_take(p, ','))
        return npy_header_damaged(p);
    if (npy_header_peek(p, '['))
        return npy_header_refused(p, "its records hold records, which are not read");
    if (!take_string(p, type, sizeof type))
        return npy_header_damaged(p);
    f->offset = p->item;
    if (type_parse(p, type, f, &bytes) < 0)
        return -1;
    if (npy_header_take(p, ',') && !npy_header_peek(p, ')') &&
        take_shape(p, f->row.shape, &f->row.ndim) < 0)
        return -1;
    if (!npy_header_take(p, ')'))
        return npy_header_damaged(p);
    if (record_grow(p, f, bytes) < 0)
        return -1;
    p->h->n_fields -= f->name[0] == '\0';
    return 0;
}

static int take_type(struct parser *p)
{
    struct npy_field *f;
    char type[64];

    p->records = npy_header_take(p, '[');
    if (!p->records) {
        if (!take_string(p, type, sizeof type))
            return npy_header_damaged(p);
        f = npy_field_add(p);
        return f ? type_parse(p, type, f, &p->item) : -1;
    }
    while (!npy_header_take(p, ']')) {
        if (p->h->n_fields == FIELDS_MAX)
            return npy_header_refused(p, "it has too many fields");
        if (take_field(p) < 0)
            return -1;
        if (!npy_header_take(p, ',') && !npy_header_peek(p, ']'))
            return npy_header_damaged(p);
    }
    return 0;
}

/* ---- The text: { 'descr': ..., 'fortran_order': ..., 'shape': ... } ---- */

static int take_entry(struct parser *p)
{
    char key[32];

    if (!take_string(p, key, sizeof key) || !npy_header_take(p, ':'))
        return npy_header_damaged(p);
    if (strcmp(key, "descr") == 0 && !p->has_type) {
        p->has_type = true;
        return take_type(p);
    }
    if (strcmp(key, "shape") == 0 && !p->has_shape) {
        p->has_shape = true;
        return take_shape(p, p->shape, &p->ndim);
    }
    if (strcmp(key, "fortran_order") != 0 || p->has_order)
        return npy_header_damaged(p);
    p->has_order = true;
    p->fortran = take_word(p, "True");
    return p->fortran || take_word(p, "False") ? 0 : npy_header_damaged(p);
}

static int text_parse(struct parser *p)
{
    if (!npy_header_take(p, '{'))
        return npy_header_damaged(p);
    while (!npy_header_take(p, '}')) {
        if (take_entry(p) < 0)
            return -1;
        if (!npy_header_take(p, ',') && !npy_header_peek(p, '}'))
            return npy_header_damaged(p);
    }
    npy_header_take(p, '\0');
    return p->at == p->end && p->has_type && p->has_shape && p->has_order
               ? 0
               : npy_header_damaged(p);
}

/* ---- Rows ---- */

/* With one dimension, or one beside others of length 1, both orders are the same. */
static bool order_matters(const struct parser *p)
{
    int longer = 0;

    for (int i = 0; i < p->ndim; i++)
        longer += p->shape[i] > 1;
    return longer > 1;
}

static int rows_describe(struct parser *p, uint64_t size)
{
    struct npy_header *h = p->h;
    uint64_t total;

    if (p->ndim == 0)
        return npy_header_refused(p, "it has no rows: it is a scalar");
    if (p->records && p->ndim > 1)
        return npy_header_refused(
            p, "it has records in more than one dimension, which are not "
               "read");
    h->rows = p->shape[0];
    h->fortran = p->fortran && order_matters(p);
    h->stride = p->item;
    for (int i = 1; i < p->ndim; i++)
        if (__builtin_mul_overflow(h->stride, p->shape[i], &h->stride))
            return npy_header_damaged(p);
    if (__builtin_mul_overflow(h->rows, h->stride, &total) ||
        __builtin_add_overflow(total, h->bytes, &total) || total > size)
        return error_set(
            p->err, RAYTRAIN_ECORRUPT,
            "%s: its header claims more elements than it has bytes for: it "
            "is truncated or damaged",
            p->what);
    if (total < size)
        return error_set(p->err, RAYTRAIN_ECORRUPT,
                         "%s: %llu bytes follow the elements that its header claims",
                         p->what, (unsigned long long)(size - total));
    if (!p->records) {
        h->fields[0].row.ndim = p->ndim - 1;
        memcpy(h->fields[0].row.shape, p->shape + 1,
               (size_t)(p->ndim - 1) * sizeof *p->shape);
    }
    return 0;
}

/* ---- The header ---- */

/* Where the text begins, and how long it is. */
static int preface_parse(const struct parser *p, const unsigned char *head, size_t n,
                         uint64_t *begin, uint64_t *bytes)
{
    uint16_t le16;
    uint32_t le32;

    if (n < PREFACE_MAX || !npy_probe(head, n))
        return npy_header_damaged(p);
    if (head[6] < 1 || head[6] > 3)
        return npy_header_refused(p, "its version of the .npy format is not known");
    memcpy(&le16, head + 8, sizeof le16);
    memcpy(&le32, head + 8, sizeof le32);
    *begin = head[6] == 1 ? 10 : 12;
    *bytes = head[6] == 1 ? le16toh(le16) : le32toh(le32);
    return 0;
}

static int npy_header_parse(struct parser *p, const struct source *s, uint64_t at,
                            uint64_t size)
{
    unsigned char head[PREFACE_MAX];
    size_t n = size < sizeof head ? (size_t)size : sizeof head;
    uint64_t begin = 0, bytes = 0;
    char *text;
    int rc;

    if (fs_pread_full(s->fd, head, n, at) < 0)
        return fs_error(p->err, "read", s->path);
    if (preface_parse(p, head, n, &begin, &bytes) < 0)
        return -1;
    if (bytes > TEXT_MAX || bytes > size - begin)
        return npy_header_damaged(p);
    text = malloc(bytes + 1);
    if (!text)
        return error_no_memory(p->err);
    p->h->bytes = begin + bytes;
    p->at = text;
    p->end = text + bytes;
    if (fs_pread_full(s->fd, text, bytes, at + begin) < 0)
        rc = fs_error(p->err, "read", s->path);
    else if (memchr(text, '\0', bytes))
        rc = npy_header_damaged(p);
    else
        rc = text_parse(p);
    free(text);
    return rc < 0 ? rc : rows_describe(p, size);
}

int npy_header_read(const struct source *s, uint64_t at, uint64_t size,
                    const char *what, struct npy_header *h, struct error *err)
{
    struct parser p = {.what = what, .err = err, .h = h};
    int rc;

    *h = (struct npy_header){0};
    rc = npy_header_parse(&p, s, at, size);
    if (rc < 0)
        npy_header_clear(h);
    return rc;
}
