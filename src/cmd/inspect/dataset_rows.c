/* dataset_rows.c - rows as JSON, element by element; and as a table whose cells are cut
 * to a fixed width. dataset_view.c reads the rows. */
#include "inspect/dataset_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/element_value.h"
#include "inspect/output.h"
#include "util/quote.h"

#define CELL_MAX     40 /* characters of a cell that are printed */
#define NUMBERS_MAX  4  /* of a vector */
#define COLUMN_SPACE 2

/* ---- The object ---- */

static bool is_integer(raytrain_dtype dtype)
{
    switch (dtype) {
    case RAYTRAIN_FLOAT32:
    case RAYTRAIN_FLOAT64:
    case RAYTRAIN_FLOAT16:
    case RAYTRAIN_BFLOAT16:
        return false;
    default:
        return true;
    }
}

json_t *element_json(raytrain_dtype dtype, long double value, bool as_text)
{
    if (as_text && isinf((double)value))
        return json_string(value > 0 ? "inf" : "-inf");
    if (is_integer(dtype) && value <= INT64_MAX)
        return json_integer((json_int_t)value);
    return isfinite((double)value) ? json_real((double)value) : json_null();
}

/* Dimensions d and above of a row; *at is moved past them. */
static json_t *nested_json(const raytrain_tensor *row, int d, const unsigned char **at,
                           bool as_text)
{
    json_t *list;

    if (d == row->ndim) {
        json_t *number =
            element_json(row->dtype, element_value(row->dtype, *at), as_text);

        *at += raytrain_dtype_size(row->dtype);
        return number;
    }
    list = json_array();
    for (uint64_t i = 0; list && i < row->shape[d]; i++)
        json_array_append_new(list, nested_json(row, d + 1, at, as_text));
    return list;
}

/* The bytes need not be UTF-8. */
static json_t *bytes_json(const char *bytes, size_t n)
{
    char *text = strndup(bytes, n);
    json_t *json = text ? json_text(text) : NULL;

    free(text);
    return json;
}

static json_t *word_json(const struct frame_column *c, uint64_t i)
{
    int32_t code = ((const int32_t *)(const void *)c->data)[i];
    const char *word;
    size_t n;

    if (code < 0)
        return json_null();
    word = dictionary_word(c->words, (size_t)code, &n);
    return bytes_json(word, n);
}

static json_t *words_json(const struct frame_column *c, uint64_t row)
{
    json_t *list = json_array();

    for (uint64_t k = c->offsets[row]; list && k < c->offsets[row + 1]; k++)
        json_array_append_new(list, word_json(c, k));
    return list;
}

static json_t *sparse_json(const struct frame_column *c, uint64_t row, bool as_text)
{
    json_t *object = json_object();
    size_t size = raytrain_dtype_size(c->row.dtype);
    char index[16];

    for (uint64_t k = c->offsets[row]; object && k < c->offsets[row + 1]; k++) {
        snprintf(index, sizeof index, "%u", c->indices[k]);
        json_object_set_new(
            object, index,
            element_json(c->row.dtype, element_value(c->row.dtype, c->data + k * size),
                         as_text));
    }
    return object;
}

static json_t *cell_json(const struct frame_column *c, uint64_t row, bool as_text)
{
    const unsigned char *at;

    switch (c->kind) {
    case FRAME_NUMBERS:
        at = c->data + row * frame_row_bytes(c);
        return nested_json(&c->row, 0, &at, as_text);
    case FRAME_WORDS:
        return word_json(c, row);
    case FRAME_TEXT:
        return bytes_json((const char *)c->data + c->offsets[row],
                          (size_t)(c->offsets[row + 1] - c->offsets[row]));
    case FRAME_WORD_LISTS:
        return words_json(c, row);
    case FRAME_SPARSE:
        return sparse_json(c, row, as_text);
    }
    return NULL;
}

/* Names that are not UTF-8 become keys as in column_json(). */
static int cell_add(json_t *object, const struct frame_column *c, uint64_t row,
                    bool as_text)
{
    json_t *name = json_text(c->name);
    int rc = name ? json_object_set_new(object, json_string_value(name),
                                        cell_json(c, row, as_text))
                  : -1;

    json_decref(name);
    return rc;
}

int dataset_rows_add(json_t *rows, const struct frame *f, bool as_text)
{
    for (uint64_t row = 0; row < f->rows; row++) {
        json_t *object = json_object();

        for (size_t i = 0; object && i < f->n_columns; i++)
            if (cell_add(object, &f->columns[i], row, as_text) < 0)
                return -1;
        if (json_array_append_new(rows, object) < 0)
            return -1;
    }
    return 0;
}

/* ---- The table ---- */

static size_t count_numbers(const json_t *value)
{
    size_t n = 0, i;
    json_t *item;

    if (!json_is_array(value))
        return 1;
    json_array_foreach((json_t *)value, i, item) n += count_numbers(item);
    return n;
}

static void scalar_print(FILE *out, const json_t *value)
{
    if (json_is_integer(value))
        fprintf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, "%.6g", json_real_value(value));
    else if (json_is_string(value))
        output_text(out, json_string_value(value));
    else
        fputc('-', out);
}

/* The first NUMBERS_MAX of a vector or matrix. */
static void list_print(FILE *out, const json_t *value, size_t *printed)
{
    json_t *item;
    size_t i;

    if (!json_is_array(value)) {
        if (*printed < NUMBERS_MAX) {
            fputs(*printed ? ", " : "", out);
            scalar_print(out, value);
        }
        ++*printed;
        return;
    }
    json_array_foreach((json_t *)value, i, item) list_print(out, item, printed);
}

static void sparse_print(FILE *out, const json_t *value)
{
    const char *index, *comma = "";
    size_t printed = 0;
    json_t *number;

    json_object_foreach((json_t *)value, index, number)
    {
        if (printed++ == NUMBERS_MAX)
            break;
        fprintf(out, "%s%s:", comma, index);
        scalar_print(out, number);
        comma = " ";
    }
    if (json_object_size(value) > NUMBERS_MAX)
        fprintf(out, " ... (%zu)", json_object_size(value));
}

/* malloc'ed; NULL without memory. */
static char *cell_text(const json_t *value)
{
    char *text = NULL;
    size_t n, printed = 0;
    FILE *out = open_memstream(&text, &n);

    if (!out)
        return NULL;
    if (json_is_array(value)) {
        size_t count = count_numbers(value);

        fputc('[', out);
        list_print(out, value, &printed);
        if (count > NUMBERS_MAX)
            fprintf(out, ", ... (%zu)", count);
        fputc(']', out);
    } else if (json_is_object(value)) {
        sparse_print(out, value);
    } else {
        scalar_print(out, value);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Characters, not bytes. */
static size_t text_width(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* Its first CELL_MAX characters, and spaces up to `width`; numbers stand on the right. */
static void cell_print(FILE *out, const char *text, size_t width, bool right)
{
    size_t n = text_width(text), left = CELL_MAX;

    for (size_t i = n; right && i < width; i++)
        fputc(' ', out);
    if (n <= CELL_MAX) {
        fputs(text, out);
    } else {
        for (left -= 3; left > 0 || ((unsigned char)*text & 0xc0) == 0x80; text++) {
            left -= left > 0 && ((unsigned char)text[1] & 0xc0) != 0x80;
            fputc(*text, out);
        }
        fputs("...", out);
        n = CELL_MAX;
    }
    for (size_t i = n; !right && i < width; i++)
        fputc(' ', out);
}

static size_t column_width(const json_t *rows, const char *name)
{
    size_t widest = text_width(name), i;
    json_t *row;

    json_array_foreach((json_t *)rows, i, row)
    {
        char *text = cell_text(json_object_get(row, name));
        size_t n = text ? text_width(text) : 0;

        widest = n > widest ? n : widest;
        free(text);
    }
    return widest < CELL_MAX ? widest : CELL_MAX;
}

static void row_line_print(FILE *out, const json_t *columns, const size_t *widths,
                           const json_t *row)
{
    json_t *c;
    size_t i;

    json_array_foreach((json_t *)columns, i, c)
    {
        const char *name = string_of(c, "name");
        const json_t *value = row ? json_object_get(row, name) : NULL;
        char *text = row ? cell_text(value) : printable_text(name);
        bool right = strcmp(string_of(c, "kind"), "numbers") == 0;

        if (i > 0)
            fprintf(out, "%*s", COLUMN_SPACE, "");
        if (i + 1 == json_array_size(columns) && !right && text &&
            text_width(text) < widths[i])
            fputs(text, out); /* without spaces at the end of the line */
        else
            cell_print(out, text ? text : "?", widths[i], right);
        free(text);
    }
    fputc('\n', out);
}

void dataset_rows_print(FILE *out, const json_t *columns, const json_t *rows)
{
    size_t n = json_array_size(columns), i;
    size_t *widths = calloc(n > 0 ? n : 1, sizeof *widths);
    json_t *item;

    if (!widths)
        return;
    json_array_foreach((json_t *)columns, i, item) widths[i] =
        column_width(rows, string_of(item, "name"));
    fputc('\n', out);
    row_line_print(out, columns, widths, NULL);
    json_array_foreach((json_t *)rows, i, item)
        row_line_print(out, columns, widths, item);
    free(widths);
}
