/*
 * row_place.c - names the file and line of a row. decompress.c decompresses files;
 * text/row_line.c counts lines.
 */
#include "convert/row_place.h"

#include <stdio.h>
#include <stdlib.h>

#include "convert/conversion_key.h"
#include "convert/decompress.h"
#include "convert/text_formats.h"

/* The text of the key's files, decompressed. */
static int row_line_look_up(const struct dataset_config *cfg, const char *format,
                            struct text_source sources[], size_t n, uint64_t row,
                            struct row_line *at)
{
    struct comm *self = comm_self_create(NULL);
    struct decompressed plain = {.n = 0};
    int rc = self ? sources_decompress(self, NULL, sources, n, &plain, NULL) : -1;

    if (rc == 0)
        rc = text_format_line(cfg, format, sources, n, row, at, NULL);
    for (size_t i = 0; i < n; i++)
        if (sources[i].name) /* it was compressed */
            sources[i].path = sources[i].name;
    decompressed_clear(&plain);
    comm_free(self);
    return rc;
}

/* False: the dataset is not text, and *text is unchanged. */
static bool text_place(const struct dataset_config *cfg, uint64_t row, char *text,
                       size_t size)
{
    struct text_source *sources = NULL;
    struct row_line at;
    json_t *key = NULL;
    size_t n = 0;
    bool is_text = conversion_key_make(cfg, &key, NULL) < 0 || key;

    if (key)
        sources = conversion_key_sources(key, &n);
    if (sources &&
        row_line_look_up(cfg, conversion_key_format(key), sources, n, row, &at) == 0)
        snprintf(text, size, "%s:%llu", sources[at.source].path,
                 (unsigned long long)at.line);
    free(sources);
    json_decref(key);
    return is_text;
}

/* The place in a file whose rows are not converted. The extents of a file follow each
 * other, so its first one has row 0. */
static void file_place(const struct table *t, uint64_t row, char *text, size_t size)
{
    const struct column *c = &t->columns[0];
    const struct extent *first = t->extents + c->extent;
    const struct extent *e = table_extent(t, c, row);

    while (e > first && e[-1].source == e->source)
        e--;
    snprintf(text, size, "row %llu of %s (the first one is 0)",
             (unsigned long long)(row - e->first), t->sources[e->source].path);
}

void row_place(const struct dataset_config *cfg, const struct table *t, uint64_t row,
               char *text, size_t size)
{
    uint64_t in_files = table_row(t, row);

    snprintf(text, size, "row %llu (the first one is 0)", (unsigned long long)row);
    if (!text_place(cfg, in_files, text, size) && t->n_columns > 0)
        file_place(t, in_files, text, size);
}
