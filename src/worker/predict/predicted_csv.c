/*
 * predicted_csv.c - predictions as text: a line of names, then a line for each row
 * (RFC 4180). A column of vectors has a field for each element: name_0, name_1 and so
 * on, in row-major order.
 *
 * Floating-point numbers have the digits that are needed to read the same bits back.
 * Strings are in quotes if they have separators or quotes, or begin or end with a
 * blank.
 */
#include "predict/predicted.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/half.h"
#include "util/number_text.h"

#define FIELD_MAX NUMBER_TEXT

/* ---- Numbers ---- */

#define AS(type, from)                                                                 \
    ({                                                                                 \
        type value_;                                                                   \
        memcpy(&value_, from, sizeof value_);                                          \
        value_;                                                                        \
    })

static int half_print(char *text, const unsigned char *from,
                      void (*widen)(float *restrict, const uint16_t *restrict, size_t))
{
    uint16_t half = AS(uint16_t, from);
    float value;

    widen(&value, &half, 1);
    return isnan(value) ? snprintf(text, FIELD_MAX, "nan")
                        : snprintf(text, FIELD_MAX, "%.5g", (double)value);
}

static int element_print(char *text, raytrain_dtype dtype, const unsigned char *from)
{
    switch (dtype) {
    case RAYTRAIN_FLOAT32:
        return (int)number_text_float(text, AS(float, from));
    case RAYTRAIN_FLOAT64:
        return (int)number_text(text, AS(double, from));
    case RAYTRAIN_FLOAT16:
        return half_print(text, from, float16_widen);
    case RAYTRAIN_BFLOAT16:
        return half_print(text, from, bfloat16_widen);
    case RAYTRAIN_INT8:
        return snprintf(text, FIELD_MAX, "%d", AS(int8_t, from));
    case RAYTRAIN_INT16:
        return snprintf(text, FIELD_MAX, "%d", AS(int16_t, from));
    case RAYTRAIN_INT32:
        return snprintf(text, FIELD_MAX, "%" PRId32, AS(int32_t, from));
    case RAYTRAIN_INT64:
        return snprintf(text, FIELD_MAX, "%" PRId64, AS(int64_t, from));
    case RAYTRAIN_UINT8:
    case RAYTRAIN_BYTES:
        return snprintf(text, FIELD_MAX, "%u", AS(uint8_t, from));
    case RAYTRAIN_UINT16:
        return snprintf(text, FIELD_MAX, "%u", AS(uint16_t, from));
    case RAYTRAIN_UINT32:
        return snprintf(text, FIELD_MAX, "%" PRIu32, AS(uint32_t, from));
    case RAYTRAIN_UINT64:
        return snprintf(text, FIELD_MAX, "%" PRIu64, AS(uint64_t, from));
    }
    return 0;
}

/* ---- Texts ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Blanks at the ends need quotes, because other readers remove them. */
static bool needs_quotes(const char *text, size_t n)
{
    if (n > 0 && (is_blank(text[0]) || is_blank(text[n - 1])))
        return true;
    for (size_t i = 0; i < n; i++)
        if (text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r')
            return true;
    return false;
}

/* Append a text in quotes; quotes in it are doubled. */
static int text_append(const char *text, size_t n, struct predicted_stream *to,
                       struct error *err)
{
    if (!needs_quotes(text, n))
        return predicted_stream_add(to, text, n, err);
    if (predicted_stream_add(to, "\"", 1, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        bool is_quote = text[i] == '"';

        if (predicted_stream_add(to, is_quote ? "\"\"" : text + i, is_quote ? 2 : 1,
                                 err) < 0)
            return -1;
    }
    return predicted_stream_add(to, "\"", 1, err);
}

/* ---- Rows ---- */

/* Append the elements of a column in one row, with a separator after each. */
static int fields_append(const struct predicted_column *c, const unsigned char *from,
                         char last, struct predicted_stream *to, struct error *err)
{
    uint64_t n = predicted_elements(c);
    size_t bytes = raytrain_dtype_size(c->row.dtype);
    char text[FIELD_MAX + 1];

    for (uint64_t k = 0; k < n; k++) {
        int length = element_print(text, c->row.dtype, from + k * bytes);

        text[length++] = k + 1 < n ? ',' : last;
        if (predicted_stream_add(to, text, (size_t)length, err) < 0)
            return -1;
    }
    return 0;
}

/* Append a string, with a separator after it. */
static int string_append(const struct predicted_rows *rows, uint64_t row, char last,
                         struct predicted_stream *to, struct error *err)
{
    uint64_t from = rows->offsets[row], n = rows->offsets[row + 1] - from;

    if (text_append((const char *)rows->data + from, n, to, err) < 0)
        return -1;
    return predicted_stream_add(to, &last, 1, err);
}

static int csv_append(const struct predicted *p, struct predicted_stream *streams,
                      const struct predicted_rows *rows, uint64_t n, struct error *err)
{
    int rc = 0;

    for (uint64_t row = 0; row < n && rc == 0; row++)
        for (size_t i = 0; i < p->n && rc == 0; i++) {
            const struct predicted_column *c = &p->columns[i];
            char last = i + 1 < p->n ? ',' : '\n';

            rc = c->is_string ? string_append(&rows[i], row, last, streams, err)
                              : fields_append(c, rows[i].data + row * c->row_bytes,
                                              last, streams, err);
        }
    return rc;
}

/* ---- The line of names ---- */

static int names_append(const struct predicted_column *c, char last,
                        struct predicted_stream *to, struct error *err)
{
    uint64_t n = predicted_elements(c);
    char name[RAYTRAIN_NAME_MAX + 24];

    for (uint64_t k = 0; k < n; k++) {
        if (c->row.ndim == 0)
            strcpy(name, c->name);
        else
            snprintf(name, sizeof name, "%s_%" PRIu64, c->name, k);
        if (text_append(name, strlen(name), to, err) < 0 ||
            predicted_stream_add(to, k + 1 < n ? "," : &last, 1, err) < 0)
            return -1;
    }
    return 0;
}

static int csv_layout(const struct predicted *p, uint64_t rows, const uint64_t *bytes,
                      struct predicted_layout *layout, struct error *err)
{
    struct predicted_stream head = {.data = NULL};
    int rc = 0;

    (void)rows;
    for (size_t i = 0; i < p->n && rc == 0; i++)
        rc = names_append(&p->columns[i], i + 1 < p->n ? ',' : '\n', &head, err);
    if (rc == 0)
        rc = predicted_layout_add(layout, 0, head.data, head.n, err);
    layout->places[0] = head.n;
    layout->length = head.n + bytes[0];
    free(head.data);
    return rc;
}

static int csv_check(const struct predicted *p, struct error *err)
{
    (void)p;
    (void)err;
    return 0;
}

const struct predicted_format predicted_csv = {
    .is_joined = true,
    .check = csv_check,
    .append = csv_append,
    .layout = csv_layout,
};
