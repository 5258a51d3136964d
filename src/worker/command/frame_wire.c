/* frame_wire.c - describes the columns of a frame as JSON, and copies its rows. */
#include "command/frame_wire.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNED 64

static const char *const kind_names[] = {[FRAME_NUMBERS] = "numbers",
                                         [FRAME_WORDS] = "words",
                                         [FRAME_TEXT] = "text",
                                         [FRAME_WORD_LISTS] = "word_lists",
                                         [FRAME_SPARSE] = "sparse"};

/* ---- Columns ---- */

static json_t *shape_json(const raytrain_tensor *row)
{
    json_t *shape = json_array();

    for (int i = 0; shape && i < row->ndim; i++)
        json_array_append_new(shape, json_integer((json_int_t)row->shape[i]));
    return shape;
}

static int words_add(const struct dictionary *words, struct wire_bytes *all,
                     json_t *column, struct error *err)
{
    unsigned char *packed = NULL, *grown;
    size_t n;

    if (dictionary_pack(words, &packed, &n, err) < 0)
        return -1;
    grown = realloc(all->data, all->n + n + 1);
    if (!grown) {
        free(packed);
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for the words of a column");
    }
    memcpy(grown + all->n, packed, n);
    json_object_set_new(column, "words",
                        json_pack("[I, I]", (json_int_t)all->n, (json_int_t)n));
    *all = (struct wire_bytes){.data = grown, .n = all->n + n};
    free(packed);
    return 0;
}

static int column_json(const struct frame_column *c, json_t *columns,
                       struct wire_bytes *words, struct error *err)
{
    json_t *out = json_pack("{s:s, s:s}", "name", c->name, "kind", kind_names[c->kind]);
    int rc = out ? 0 : error_no_memory(err);

    if (rc == 0 && (c->kind == FRAME_NUMBERS || c->kind == FRAME_SPARSE)) {
        json_object_set_new(out, "dtype",
                            json_string(raytrain_dtype_name(c->row.dtype)));
        json_object_set_new(out, "shape", shape_json(&c->row));
    }
    if (rc == 0 && c->words)
        rc = words_add(c->words, words, out, err);
    if (rc == 0)
        json_array_append(columns, out);
    json_decref(out);
    return rc;
}

int frame_columns_json(const struct frame *schema, json_t **columns,
                       struct wire_bytes *words, struct error *err)
{
    json_t *all = json_array();

    if (!all)
        return error_no_memory(err);
    for (size_t i = 0; i < schema->n_columns; i++)
        if (column_json(&schema->columns[i], all, words, err) < 0) {
            json_decref(all);
            return -1;
        }
    *columns = all;
    return 0;
}

/* ---- Rows ---- */

static bool has_offsets(const struct frame_column *c)
{
    return c->kind != FRAME_NUMBERS && c->kind != FRAME_WORDS;
}

static uint64_t row_elements(const struct frame_column *c)
{
    size_t element = frame_element_bytes(c);

    return element > 0 ? frame_row_bytes(c) / element : 0;
}

static bool block_add(size_t *bytes, size_t *place, uint64_t n, size_t size)
{
    size_t array;

    *place = *bytes;
    return !__builtin_mul_overflow(n, size, &array) &&
           !__builtin_add_overflow(*bytes, array, bytes) && *bytes < SIZE_MAX / 4 &&
           (*bytes = (*bytes + ALIGNED - 1) / ALIGNED * ALIGNED, true);
}

/* The place of a column with this number of elements, after *bytes of the block. */
static int place_make(const struct frame_column *c, uint64_t rows, uint64_t elements,
                      struct frame_place *p, size_t *bytes, struct error *err)
{
    bool ok = true;

    *p = (struct frame_place){.elements = elements};
    if (has_offsets(c))
        ok = block_add(bytes, &p->offsets, rows + 1, sizeof *c->offsets);
    else
        ok = !__builtin_mul_overflow(rows, row_elements(c), &p->elements);
    ok = ok && block_add(bytes, &p->data, p->elements, frame_element_bytes(c));
    if (ok && c->kind == FRAME_SPARSE)
        ok = block_add(bytes, &p->indices, p->elements, sizeof *c->indices);
    if (!ok)
        error_set(err, RAYTRAIN_ENOMEM,
                  "no memory can hold %llu of these rows: ask for smaller batches",
                  (unsigned long long)rows);
    return ok ? 0 : -1;
}

int frame_places(const struct frame *f, uint64_t rows, struct frame_place *places,
                 size_t *bytes, struct error *err)
{
    *bytes = 0;
    for (size_t i = 0; i < f->n_columns; i++) {
        const struct frame_column *c = &f->columns[i];

        if (place_make(c, rows, has_offsets(c) ? c->offsets[rows] : 0, &places[i],
                       bytes, err) < 0)
            return -1;
    }
    return 0;
}

int frame_room(const struct frame *schema, uint64_t rows, size_t *bytes,
               struct error *err)
{
    struct frame_place place;

    *bytes = 0;
    for (size_t i = 0; i < schema->n_columns; i++)
        if (place_make(&schema->columns[i], rows, 0, &place, bytes, err) < 0)
            return -1;
    return 0;
}

json_t *frame_places_json(const struct frame_place *places, size_t n)
{
    json_t *all = json_array();

    for (size_t i = 0; all && i < n; i++)
        json_array_append_new(all, json_pack("[I, I, I, I]", (json_int_t)places[i].data,
                                             (json_int_t)places[i].elements,
                                             (json_int_t)places[i].offsets,
                                             (json_int_t)places[i].indices));
    return all;
}

void frame_copy(const struct frame *f, uint64_t rows, const struct frame_place *places,
                unsigned char *block)
{
    for (size_t i = 0; i < f->n_columns; i++) {
        const struct frame_column *c = &f->columns[i];
        const struct frame_place *p = &places[i];

        if (has_offsets(c))
            memcpy(block + p->offsets, c->offsets, (rows + 1) * sizeof *c->offsets);
        if (p->elements == 0)
            continue;
        memcpy(block + p->data, c->data, p->elements * frame_element_bytes(c));
        if (c->kind == FRAME_SPARSE)
            memcpy(block + p->indices, c->indices, p->elements * sizeof *c->indices);
    }
}
