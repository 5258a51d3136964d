/* rows_binary.c - binary data after the JSON of a request: numbers are little-endian,
 * a text has its length (4 bytes) before its bytes. */
#include "infer/request_parse.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "infer/datatype.h"
#include "infer/element.h"
#include "infer/refusal.h"
#include "util/quote.h"

#define LENGTH_BYTES 4

static int refuse_size(struct request_parse *p, const struct infer_column *c,
                       uint64_t expected, int64_t given)
{
    char name[QUOTE_TEXT_MAX], shape[SHAPE_TEXT_MAX];

    return refuse(
        p->why, 400,
        "input %s has a binary_data_size of %lld, and its shape %s takes %llu "
        "bytes",
        quote(c->name, name), (long long)given,
        shape_text((int64_t)p->q->rows, c, shape), (unsigned long long)expected);
}

/* UINT8 stands for two element types: numbers and bytes. */
static bool tensor_type_fits(const struct infer_column *c,
                             const struct request_tensor *t)
{
    return t->dtype == c->row.dtype ||
           (t->dtype == RAYTRAIN_UINT8 && c->row.dtype == RAYTRAIN_BYTES);
}

/* Convert `count` numbers to the column's type. */
static int numbers_convert(struct request_parse *p, const struct infer_column *c,
                           const struct request_tensor *t, const char *bytes,
                           uint64_t count, struct infer_data *d)
{
    size_t from = raytrain_dtype_size(t->dtype), to = raytrain_dtype_size(c->row.dtype);
    char name[QUOTE_TEXT_MAX], *out;

    if (request_bytes(p, c->name, count * to) < 0)
        return -1;
    d->n_bytes = (size_t)(count * to);
    d->bytes = d->owned = out = malloc(d->n_bytes + 1);
    if (!out)
        return request_no_memory(p);
    for (uint64_t i = 0; i < count; i++)
        if (!element_convert(t->dtype, bytes + i * from, c->row.dtype, out + i * to))
            return refuse(p->why, 400,
                          "element %llu of input %s has no exact number in %s, which "
                          "the model takes: send %s",
                          (unsigned long long)i, quote(c->name, name), datatype_name(c),
                          datatype_name(c));
    return 0;
}

/* Numbers are not copied, unless they have another type. */
static int numbers_take(struct request_parse *p, const struct infer_column *c,
                        const struct request_tensor *t, const char *bytes, uint64_t n,
                        struct infer_data *d)
{
    size_t size = raytrain_dtype_size(c->row.dtype);
    uint64_t count, expected;

    if (__builtin_mul_overflow(infer_row_bytes(c) / size, p->q->rows, &count) ||
        __builtin_mul_overflow(raytrain_dtype_size(t->dtype), count, &expected))
        expected = UINT64_MAX;
    if (expected != n)
        return refuse_size(p, c, expected, (int64_t)n);
    if (!tensor_type_fits(c, t))
        return numbers_convert(p, c, t, bytes, count, d);
    *d = (struct infer_data){.bytes = bytes, .n_bytes = (size_t)n};
    return request_bytes(p, c->name, n);
}

/* Read the length of the text at *at, and advance *at. False: the data end before. */
static bool length_take(const char **at, const char *end, uint32_t *length)
{
    if (end - *at < LENGTH_BYTES)
        return false;
    memcpy(length, *at, LENGTH_BYTES);
    *length = le32toh(*length);
    *at += LENGTH_BYTES;
    return *length <= (size_t)(end - *at);
}

static int texts_take(struct request_parse *p, const struct infer_column *c,
                      const char *bytes, uint64_t n, struct infer_data *d)
{
    uint64_t rows = p->q->rows, at = 0, *offsets;
    const char *end = bytes + n;
    char *to, name[QUOTE_TEXT_MAX];
    uint32_t length = 0;

    if (rows > n / LENGTH_BYTES)
        return refuse(p->why, 400,
                      "input %s has %llu texts, for which a binary_data_size of %llu "
                      "is too small: each has its length before it, 4 bytes",
                      quote(c->name, name), (unsigned long long)rows,
                      (unsigned long long)n);
    if (request_bytes(p, c->name, n + (rows + 1) * sizeof *offsets) < 0 ||
        text_room(p, rows, n - rows * LENGTH_BYTES, d, &offsets, &to) < 0)
        return -1;
    for (uint64_t i = 0; i < rows; i++, bytes += length) {
        if (!length_take(&bytes, end, &length) || at + length > d->n_bytes)
            return refuse(p->why, 400,
                          "text %llu of input %s goes beyond its binary_data_size of "
                          "%llu",
                          (unsigned long long)i, quote(c->name, name),
                          (unsigned long long)n);
        memcpy(to + at, bytes, length);
        at += length;
        offsets[i + 1] = at;
    }
    if (bytes != end)
        return refuse(p->why, 400,
                      "input %s has %zu bytes of binary data after its last text",
                      quote(c->name, name), (size_t)(end - bytes));
    return 0;
}

int rows_from_binary(struct request_parse *p, const struct infer_column *c,
                     const struct request_tensor *t, struct infer_data *d)
{
    const char *bytes = p->binary;
    uint64_t n = (uint64_t)t->binary_bytes, left;
    char name[QUOTE_TEXT_MAX];

    if (!p->has_binary)
        return refuse(p->why, 400,
                      "input %s has a binary_data_size, and the request no header "
                      "Inference-Header-Content-Length, which says how long the JSON "
                      "before the binary data is",
                      quote(c->name, name));
    left = (uint64_t)(p->binary_end - p->binary);
    if (n > left)
        return refuse(p->why, 400,
                      "input %s has a binary_data_size of %llu, and the body has %llu "
                      "bytes left for it",
                      quote(c->name, name), (unsigned long long)n,
                      (unsigned long long)left);
    p->binary += n;
    return c->kind == INFER_TEXT ? texts_take(p, c, bytes, n, d)
                                 : numbers_take(p, c, t, bytes, n, d);
}
