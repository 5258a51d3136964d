/* frame_parse.c - checks and copies the rows that a client sends. */
#include "command/frame_parse.h"

#include <stdlib.h>
#include <string.h>

#include "util/api_names.h"

/* ---- Columns ---- */

static int numbers_parse(const json_t *said, struct frame_column *c, struct error *err)
{
    const char *dtype = json_string_value(json_object_get(said, "dtype"));
    const json_t *shape = json_object_get(said, "shape");
    uint64_t bytes;

    c->kind = FRAME_NUMBERS;
    c->row.dtype = dtype ? dtype_of_name(dtype) : 0;
    c->row.ndim = (int)json_array_size(shape);
    if (c->row.dtype == 0 || json_array_size(shape) > RAYTRAIN_MAX_DIMS)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "column \"%s\": a column cannot have this type, or its rows have "
            "more than %d dimensions",
            c->name, RAYTRAIN_MAX_DIMS);
    bytes = raytrain_dtype_size(c->row.dtype);
    for (int d = 0; d < c->row.ndim; d++) {
        json_int_t extent = json_integer_value(json_array_get(shape, (size_t)d));

        c->row.shape[d] = extent < 0 ? 0 : (uint64_t)extent;
        if (extent <= 0 || __builtin_mul_overflow(bytes, c->row.shape[d], &bytes))
            return error_set(err, RAYTRAIN_EINVAL, "column \"%s\" has no valid shape",
                             c->name);
    }
    return 0;
}

/* If a word occurs twice, more codes are set than the dictionary has words. */
static int words_unpack(struct dictionary *words, const unsigned char *bytes, size_t n,
                        const char *name, struct error *err)
{
    size_t room = n + sizeof(int32_t); /* a word takes four bytes at least */
    int32_t *codes = malloc(room);
    int rc;

    if (!codes)
        return error_no_memory(err);
    memset(codes, 0xff, room);
    rc = dictionary_unpack(words, bytes, n, codes, err);
    if (rc == 0 && codes[dictionary_count(words)] != -1)
        rc =
            error_set(err, RAYTRAIN_EINVAL, "column \"%s\": a word occurs twice", name);
    free(codes);
    return rc;
}

/* "words": [FIRST, BYTES], the place in the block; made by dictionary_pack(). */
static int words_parse(const json_t *place, const struct wire_block *block,
                       struct parsed_frame *f, struct frame_column *c,
                       struct error *err)
{
    const json_t *from = json_array_get(place, 0), *length = json_array_get(place, 1);
    json_int_t first = json_integer_value(from), bytes = json_integer_value(length);
    struct dictionary *words = dictionary_create();

    c->kind = FRAME_WORDS;
    if (!words)
        return error_no_memory(err);
    f->words[f->n_words++] = c->words = words;
    if (!json_is_integer(from) || !json_is_integer(length) || first < 0 || bytes < 0 ||
        (uint64_t)first > block->n || (uint64_t)bytes > block->n - (uint64_t)first)
        return error_set(err, RAYTRAIN_EINVAL,
                         "column \"%s\": its words are not in the block", c->name);
    return words_unpack(words, block->data + first, (size_t)bytes, c->name, err);
}

static int column_parse(const json_t *said, const struct wire_block *block,
                        struct parsed_frame *f, size_t *index, struct error *err)
{
    const char *name = json_string_value(json_object_get(said, "name"));
    const json_t *words = json_object_get(said, "words");
    struct frame_column c = {.kind = FRAME_NUMBERS};
    int rc;

    if (!name || !*name || strlen(name) > RAYTRAIN_NAME_MAX)
        return error_set(err, RAYTRAIN_EINVAL, "the name of a column has 1 to %d bytes",
                         RAYTRAIN_NAME_MAX);
    strcpy(c.name, name);
    rc = words ? words_parse(words, block, f, &c, err) : numbers_parse(said, &c, err);
    return rc == 0 ? frame_add(&f->frame, &c, index, err) : -1;
}

/* ---- Rows ---- */

static int codes_check(const struct frame_column *c, uint64_t rows, struct error *err)
{
    const int32_t *codes = (const int32_t *)(const void *)c->data;
    int64_t n = (int64_t)dictionary_count(c->words);

    for (uint64_t i = 0; i < rows; i++)
        if (codes[i] < -1 || codes[i] >= n)
            return error_set(err, RAYTRAIN_EINVAL,
                             "column \"%s\": %d is not the code of a word", c->name,
                             codes[i]);
    return 0;
}

static int rows_take(struct frame_column *c, const json_t *place, uint64_t rows,
                     const struct wire_block *block, struct error *err)
{
    const json_t *where = json_array_get(place, 0);
    json_int_t at = json_integer_value(where);
    uint64_t bytes;

    if (!json_is_integer(where) || at < 0 ||
        __builtin_mul_overflow(rows, frame_row_bytes(c), &bytes) ||
        (uint64_t)at > block->n || bytes > block->n - (uint64_t)at)
        return error_set(err, RAYTRAIN_EINVAL,
                         "column \"%s\": its rows are not in the block", c->name);
    if (frame_reserve(c, rows, 0, err) < 0)
        return -1;
    if (bytes > 0)
        memcpy(c->data, block->data + at, bytes);
    return c->kind == FRAME_WORDS ? codes_check(c, rows, err) : 0;
}

int frame_parse(const json_t *columns, const json_t *places, uint64_t rows,
                const struct wire_block *block, struct parsed_frame *out,
                struct error *err)
{
    size_t index;

    *out = (struct parsed_frame){.frame = FRAME_INIT};
    out->words = calloc(json_array_size(columns) + 1, sizeof(struct dictionary *));
    if (!out->words)
        return error_no_memory(err);
    if (rows > 0 && json_array_size(columns) == 0)
        return error_set(err, RAYTRAIN_EINVAL, "there are rows, but no columns");
    for (size_t i = 0; i < json_array_size(columns); i++)
        if (column_parse(json_array_get(columns, i), block, out, &index, err) < 0 ||
            rows_take(&out->frame.columns[index], json_array_get(places, i), rows,
                      block, err) < 0)
            return -1;
    out->frame.rows = rows;
    return 0;
}

void parsed_frame_clear(struct parsed_frame *f)
{
    frame_clear(&f->frame);
    for (size_t i = 0; i < f->n_words; i++)
        dictionary_destroy(f->words[i]);
    free(f->words);
    *f = (struct parsed_frame){.words = NULL};
}
