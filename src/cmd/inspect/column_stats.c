/* column_stats.c - the statistics of a column, block by block: in doubles for most
 * types, in long doubles for integers of 64 bits. */
#include "inspect/column_stats.h"

#include <math.h>

#include "inspect/element_value.h"

/* Sums over this many elements are of type `double`, and are added up as long
 * doubles. */
#define BLOCK 4096

/* The statistics of the elements of a block. */
struct span {
    uint64_t missing;
    double least, largest, sum; /* if not all are missing */
};

static void span_add(struct column_stats *s, const struct span *block, uint64_t n)
{
    if (block->missing < n) {
        if (!s->has_numbers || block->least < s->least)
            s->least = block->least;
        if (!s->has_numbers || block->largest > s->largest)
            s->largest = block->largest;
        s->has_numbers = true;
    }
    s->elements += n - block->missing;
    s->missing += block->missing;
    s->sum += block->sum;
}

/* Elements whose values all fit a double. */
#define SPAN(name, type)                                                               \
    static struct span span_##name(const void *data, uint64_t n)                       \
    {                                                                                  \
        struct span s = {.least = INFINITY, .largest = -INFINITY};                     \
        const type *x = data;                                                          \
                                                                                       \
        for (uint64_t i = 0; i < n; i++) {                                             \
            double value = (double)x[i];                                               \
            bool is_there = value == value;                                            \
                                                                                       \
            s.missing += !is_there;                                                    \
            s.sum += is_there ? value : 0;                                             \
            s.least = value < s.least ? value : s.least;                               \
            s.largest = value > s.largest ? value : s.largest;                         \
        }                                                                              \
        return s;                                                                      \
    }
SPAN(float32, float)
SPAN(float64, double)
SPAN(int32, int32_t)
SPAN(uint8, uint8_t)
SPAN(offsets, uint64_t)

/* Elements of any type, one after the other. */
static void elements_add(struct column_stats *s, raytrain_dtype dtype,
                         const unsigned char *data, uint64_t n)
{
    size_t size = raytrain_dtype_size(dtype);

    for (uint64_t i = 0; i < n; i++) {
        long double value = element_value(dtype, data + i * size);

        if (isnan(value)) {
            s->missing++;
            continue;
        }
        if (!s->has_numbers || value < s->least)
            s->least = value;
        if (!s->has_numbers || value > s->largest)
            s->largest = value;
        s->has_numbers = true;
        s->elements++;
        s->sum += value;
    }
}

static void numbers_add(struct column_stats *s, raytrain_dtype dtype,
                        const unsigned char *data, uint64_t n)
{
    struct span (*span)(const void *data, uint64_t n) = NULL;
    size_t size = raytrain_dtype_size(dtype);

    switch (dtype) {
    case RAYTRAIN_FLOAT32:
        span = span_float32;
        break;
    case RAYTRAIN_FLOAT64:
        span = span_float64;
        break;
    case RAYTRAIN_INT32:
        span = span_int32;
        break;
    case RAYTRAIN_UINT8:
        span = span_uint8;
        break;
    default:
        elements_add(s, dtype, data, n);
        return;
    }
    for (uint64_t at = 0, k; at < n; at += k) {
        struct span block;

        k = n - at < BLOCK ? n - at : BLOCK;
        block = span(data + at * size, k);
        span_add(s, &block, k);
    }
}

static void lengths_add(struct column_stats *s, const uint64_t *offsets, uint64_t rows)
{
    uint64_t lengths[BLOCK];

    for (uint64_t at = 0, k; at < rows; at += k) {
        struct span block;

        k = rows - at < BLOCK ? rows - at : BLOCK;
        for (uint64_t i = 0; i < k; i++)
            lengths[i] = offsets[at + i + 1] - offsets[at + i];
        block = span_offsets(lengths, k);
        span_add(s, &block, k);
    }
}

static void codes_add(struct column_stats *s, const unsigned char *data, uint64_t n)
{
    const int32_t *codes = (const int32_t *)(const void *)data;

    uint64_t missing = 0;

    for (uint64_t i = 0; i < n; i++)
        missing += codes[i] < 0;
    s->missing += missing;
    s->elements += n - missing;
}

/* Numbers of a row of fixed shape. */
static uint64_t row_elements(const raytrain_tensor *row)
{
    uint64_t n = 1;

    for (int d = 0; d < row->ndim; d++)
        n *= row->shape[d];
    return n;
}

void column_stats_add(struct column_stats *s, const struct frame_column *c,
                      uint64_t rows)
{
    switch (c->kind) {
    case FRAME_NUMBERS:
        numbers_add(s, c->row.dtype, c->data, rows * row_elements(&c->row));
        break;
    case FRAME_SPARSE:
        numbers_add(s, c->row.dtype, c->data, c->offsets[rows]);
        break;
    case FRAME_TEXT:
        lengths_add(s, c->offsets, rows);
        break;
    case FRAME_WORDS:
        codes_add(s, c->data, rows);
        break;
    case FRAME_WORD_LISTS:
        codes_add(s, c->data, c->offsets[rows]);
        break;
    }
}
