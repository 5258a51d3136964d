/* table_concatenate.c - makes one table of the rows of many files. */
#include "table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "float32[28, 28]", for messages. */
static void row_describe(const struct column *c, char text[256])
{
    const raytrain_tensor *row = &c->row;
    const char *type =
        c->kind == FRAME_WORDS ? "of strings" : raytrain_dtype_name(row->dtype);
    size_t used = (size_t)snprintf(text, 256, "%s", type);

    for (int i = 0; i < row->ndim; i++)
        used += (size_t)snprintf(text + used, 256 - used, "%s%llu", i ? ", " : "[",
                                 (unsigned long long)row->shape[i]);
    if (row->ndim)
        snprintf(text + used, 256 - used, "]");
}

static bool words_alike(const struct dictionary *a, const struct dictionary *b)
{
    size_t n = a && b ? dictionary_count(a) : 0, n_a, n_b;

    if (!a || !b || n != dictionary_count(b))
        return a == b;
    for (size_t i = 0; i < n; i++) {
        const char *word_a = dictionary_word(a, i, &n_a);
        const char *word_b = dictionary_word(b, i, &n_b);

        if (n_a != n_b || memcmp(word_a, word_b, n_a) != 0)
            return false;
    }
    return true;
}

static bool rows_alike(const struct column *c, const struct column *other)
{
    const raytrain_tensor *a = &c->row, *b = &other->row;

    return c->kind == other->kind && words_alike(c->words, other->words) &&
           a->dtype == b->dtype && a->ndim == b->ndim &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

/* Every column of a must be in b. */
static int columns_compare(const struct table *a, const char *file_a,
                           const struct table *b, const char *file_b, struct error *err)
{
    char type_a[256], type_b[256];

    for (size_t i = 0; i < a->n_columns; i++) {
        const struct column *c = &a->columns[i], *other = table_column(b, c->name);

        if (!other)
            return error_set(
                err, RAYTRAIN_ETYPE,
                "the files of a dataset must have the same columns: %s has "
                "a column \"%s\", %s has none; name those that are in all "
                "files (the option `columns`)",
                file_a, c->name, file_b);
        if (rows_alike(c, other))
            continue;
        row_describe(c, type_a);
        row_describe(other, type_b);
        return error_set(err, RAYTRAIN_ETYPE,
                         "the files of a dataset must have the same columns: \"%s\" is "
                         "%s in %s, but %s in %s",
                         c->name, type_a, file_a, type_b, file_b);
    }
    return 0;
}

/* Move the sources and packings of a part to the end of those of t; its extents follow.
 */
static void sources_move(struct table *t, struct table *part)
{
    for (size_t i = 0; i < part->n_extents; i++) {
        part->extents[i].source += t->n_sources;
        part->extents[i].packing += part->extents[i].packing ? t->n_packings : 0;
    }
    for (size_t i = 0; i < part->n_packings; i++) {
        t->packings[t->n_packings] = part->packings[i];
        t->packings[t->n_packings++].first += t->n_chunks;
    }
    if (part->n_chunks)
        memcpy(t->chunks + t->n_chunks, part->chunks,
               part->n_chunks * sizeof *t->chunks);
    t->n_chunks += part->n_chunks;
    for (size_t i = 0; i < part->n_sources; i++)
        t->sources[t->n_sources++] = part->sources[i];
    part->n_sources = 0;
}

static size_t column_extents(const struct table parts[], size_t n, const char *name,
                             struct extent *out)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const struct column *c = table_column(&parts[i], name);

        if (c->n_extents)
            memcpy(out + used, parts[i].extents + c->extent,
                   c->n_extents * sizeof *out);
        used += c->n_extents;
    }
    return used;
}

/* Join the columns of all parts; all use the words of the first part. */
static int columns_join(struct table parts[], size_t n, struct table *out,
                        struct extent *extents, struct error *err)
{
    for (size_t k = 0; k < parts[0].n_columns; k++) {
        struct column *c = &parts[0].columns[k];

        if (table_add_column(out, c, extents,
                             column_extents(parts, n, c->name, extents), err) < 0)
            return -1;
        c->words = NULL;
    }
    return 0;
}

static int parts_join(struct table parts[], size_t n, struct table *out,
                      struct error *err)
{
    struct extent *extents;
    size_t n_extents = 0, n_sources = 0, n_packings = 0, n_chunks = 0;
    int rc;

    for (size_t i = 0; i < n; i++) {
        n_extents += parts[i].n_extents;
        n_sources += parts[i].n_sources;
        n_packings += parts[i].n_packings;
        n_chunks += parts[i].n_chunks;
    }
    extents = calloc(n_extents + 1, sizeof *extents);
    out->sources = calloc(n_sources + 1, sizeof *out->sources);
    out->packings = calloc(n_packings + 1, sizeof *out->packings);
    out->chunks = calloc(n_chunks + 1, sizeof *out->chunks);
    if (!extents || !out->sources || !out->packings || !out->chunks) {
        free(extents);
        return error_no_memory(err);
    }
    for (size_t i = 0; i < n; i++)
        sources_move(out, &parts[i]);
    rc = columns_join(parts, n, out, extents, err);
    free(extents);
    return rc;
}

int table_concatenate(struct table parts[], const char *const files[], size_t n,
                      struct table *out, struct error *err)
{
    int rc = 0;

    *out = (struct table){0};
    for (size_t i = 1; i < n && rc == 0; i++) {
        rc = columns_compare(&parts[0], files[0], &parts[i], files[i], err);
        if (rc == 0)
            rc = columns_compare(&parts[i], files[i], &parts[0], files[0], err);
    }
    if (rc == 0)
        rc = parts_join(parts, n, out, err);
    if (rc < 0)
        table_clear(out);
    for (size_t i = 0; i < n; i++)
        table_clear(&parts[i]);
    return rc;
}
