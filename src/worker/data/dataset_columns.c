/*
 * dataset_columns.c - describes the columns of a dataset, and gives those of the
 * current batch, which dataset.c reads.
 */
#include "data/dataset_impl.h"

#include "convert/odd_word.h"
#include "convert/row_place.h"
#include "frame/column_view.h"
#include "table/ragged_read.h"

const struct left_out *dataset_left_out(const raytrain_dataset *ds)
{
    return &ds->left_out;
}

const char *dataset_lacks_label(const raytrain_dataset *ds)
{
    return ds->lacks_label;
}

int64_t dataset_client_from(const raytrain_dataset *ds)
{
    return ds->client_from;
}

const struct frame *dataset_schema(const raytrain_dataset *ds)
{
    return ds->transform ? transform_schema(ds->transform) : &ds->columns;
}

const struct frame *dataset_columns(const raytrain_dataset *ds)
{
    return &ds->columns;
}

struct frame *dataset_batch(raytrain_dataset *ds)
{
    return ds->delivered ? &ds->batches[ds->current] : NULL;
}

void dataset_row_place(const raytrain_dataset *ds, const struct dataset_config *cfg,
                       uint64_t i, char *text, size_t size)
{
    row_place(cfg, &ds->table, i, text, size);
}

void dataset_odd_word(const raytrain_dataset *ds, const struct dataset_config *cfg,
                      const char *column, char *text, size_t size)
{
    odd_word_place(cfg, &ds->table, column, text, size);
}

/* Rows of a column as a tensor: numbers, or the codes of words. */
static int column_row(const raytrain_dataset *ds, const struct frame_column *c,
                      raytrain_tensor *row, struct error *err)
{
    if (column_view_row(c, row) < 0)
        return error_set(
            err, RAYTRAIN_ETYPE,
            "dataset \"%s\": the rows of column \"%s\" are not of one size: "
            "raytrain_dataset_ragged() gets them",
            ds->name, c->name);
    return 0;
}

size_t dataset_n_columns(const raytrain_dataset *ds)
{
    return dataset_schema(ds)->n_columns;
}

const char *dataset_column_at(const raytrain_dataset *ds, size_t i,
                              raytrain_tensor *row)
{
    const struct frame_column *c = &dataset_schema(ds)->columns[i];

    if (column_row(ds, c, row, NULL) < 0)
        *row = c->row;
    return c->name;
}

size_t dataset_row_bytes(const raytrain_dataset *ds, size_t i)
{
    return frame_row_bytes(&dataset_schema(ds)->columns[i]);
}

static const struct frame_column *shown_column_find(const raytrain_dataset *ds,
                                                    const char *name, struct error *err)
{
    const struct frame *schema = dataset_schema(ds);
    const struct frame_column *c = name ? frame_find(schema, name) : NULL;
    char names[512];

    if (!c) {
        frame_names(schema, names, sizeof names);
        error_set(err, name ? RAYTRAIN_ENOTFOUND : RAYTRAIN_EINVAL,
                  "dataset \"%s\": no column \"%s\"; the columns are: %s", ds->name,
                  name ? name : "(null)", names);
    }
    return c;
}

int dataset_column_info(raytrain_dataset *ds, const char *column, raytrain_tensor *row,
                        struct error *err)
{
    const struct frame_column *c = shown_column_find(ds, column, err);

    return c ? column_row(ds, c, row, err) : -1;
}

const struct dictionary *dataset_words(const raytrain_dataset *ds, const char *column,
                                       struct error *err)
{
    const struct frame_column *c = shown_column_find(ds, column, err);

    if (c && c->kind != FRAME_WORDS)
        error_set(err, RAYTRAIN_ETYPE,
                  "dataset \"%s\": column \"%s\" has no words; types = { %s = "
                  "\"words\"; } makes it one of words, if it is of text",
                  ds->name, column, column);
    return c && c->kind == FRAME_WORDS ? c->words : NULL;
}

static uint64_t word_longest(const struct dictionary *words)
{
    size_t longest = 0, n;

    for (size_t i = 0; i < dictionary_count(words); i++) {
        dictionary_word(words, i, &n);
        longest = n > longest ? n : longest;
    }
    return longest;
}

int dataset_longest(raytrain_dataset *ds, const char *column, uint64_t first,
                    uint64_t n, uint64_t *longest, struct error *err)
{
    const struct frame_column *c = shown_column_find(ds, column, err);
    const struct column *stored = table_column(&ds->table, column);

    if (!c)
        return -1;
    *longest = 0;
    if (c->kind == FRAME_WORDS) {
        *longest = word_longest(c->words);
        return 0;
    }
    if (c->kind != FRAME_TEXT || !stored || stored->kind != FRAME_TEXT)
        return error_set(err, RAYTRAIN_ETYPE,
                         "dataset \"%s\": column \"%s\" is not one of strings",
                         ds->name, column);
    return ragged_largest(&ds->table, stored, first, n, 1, longest, err);
}

int dataset_ragged_bytes(const raytrain_dataset *ds, uint64_t batch, uint64_t *bytes,
                         struct error *err)
{
    *bytes = 0;
    for (size_t i = 0; i < ds->table.n_columns; i++) {
        const struct column *c = &ds->table.columns[i];
        bool sparse = c->kind == FRAME_SPARSE;
        size_t width =
            sparse ? raytrain_dtype_size(c->row.dtype) + sizeof(uint32_t) : 1;
        uint64_t n;

        if (!column_ragged(c))
            continue;
        if (ragged_largest(&ds->table, c, 0, ds->table.rows, batch, &n, err) < 0)
            return -1;
        *bytes += n * width;
    }
    return 0;
}

const struct frame_column *dataset_frame_column(raytrain_dataset *ds,
                                                const char *column, struct error *err)
{
    if (!shown_column_find(ds, column, err))
        return NULL;
    if (!ds->delivered) {
        error_set(err, RAYTRAIN_EINVAL,
                  "dataset \"%s\": there is no current batch: ask for the next one "
                  "first",
                  ds->name);
        return NULL;
    }
    return frame_find(&ds->batches[ds->current], column);
}

int dataset_column(raytrain_dataset *ds, const char *column, raytrain_tensor *tensor,
                   struct error *err)
{
    const struct frame_column *c = dataset_frame_column(ds, column, err);
    const struct frame *schema = dataset_schema(ds);
    raytrain_tensor row;

    if (!c || column_row(ds, c, &row, err) < 0)
        return -1;
    column_view_tensor(c, ds->batches[ds->current].rows, tensor);
    if (ds->has_place)
        ds->place.show(ds->place.arg, ds->current,
                       (size_t)(frame_find(schema, column) - schema->columns), tensor);
    return 0;
}

int dataset_ragged(raytrain_dataset *ds, const char *column, raytrain_ragged *out,
                   struct error *err)
{
    const struct frame_column *c = dataset_frame_column(ds, column, err);

    if (!c)
        return -1;
    if (column_view_ragged(c, ds->batches[ds->current].rows, out) == 0)
        return 0;
    return error_set(err, RAYTRAIN_ETYPE,
                     "dataset \"%s\": column \"%s\" is an array: ask for it with "
                     "raytrain_dataset_column()",
                     ds->name, column);
}
