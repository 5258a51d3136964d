/* repeat_rows.c - fills up batches of numbers and of texts by repeating rows. */
#include "serve/repeat_rows.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the texts of a column, repeated. */
static uint64_t text_bytes(const uint64_t offsets[], uint64_t rows, uint64_t wanted)
{
    return offsets[rows] * (wanted / rows) + offsets[wanted % rows];
}

static void numbers_repeat(const struct service_rows *from, uint64_t row_bytes,
                           uint64_t rows, uint64_t wanted, unsigned char *to)
{
    for (uint64_t at = 0; at < wanted; at += rows) {
        uint64_t n = wanted - at < rows ? wanted - at : rows;

        memcpy(to + at * row_bytes, from->data, n * row_bytes);
    }
}

static void texts_repeat(const struct service_rows *from, uint64_t rows,
                         uint64_t wanted, unsigned char *to)
{
    uint64_t *offsets = (uint64_t *)(void *)to, end = 0;
    unsigned char *bytes = to + (wanted + 1) * sizeof *offsets;

    offsets[0] = 0;
    for (uint64_t i = 0; i < wanted; i++) {
        uint64_t row = i % rows, n = from->offsets[row + 1] - from->offsets[row];

        memcpy(bytes + end, from->data + from->offsets[row], n);
        end += n;
        offsets[i + 1] = end;
    }
}

static void column_repeat(const struct service_column *c, uint64_t rows,
                          uint64_t wanted, unsigned char *to, struct service_rows *of)
{
    if (c->kind == SERVICE_NUMBERS) {
        numbers_repeat(of, service_row_bytes(c), rows, wanted, to);
        of->data = to;
        return;
    }
    texts_repeat(of, rows, wanted, to);
    of->offsets = (const uint64_t *)(const void *)to;
    of->data = to + (wanted + 1) * sizeof *of->offsets;
}

int repeat_rows(const struct service_column columns[], size_t n, uint64_t rows,
                uint64_t wanted, struct service_rows rows_of[], void **memory,
                struct error *err)
{
    uint64_t *text_sizes = calloc(2 * n + 1, sizeof *text_sizes),
             *places = text_sizes + n, bytes;
    unsigned char *to = NULL;
    int rc = -1;

    for (size_t i = 0; text_sizes && i < n; i++)
        if (columns[i].kind == SERVICE_TEXT)
            text_sizes[i] = text_bytes(rows_of[i].offsets, rows, wanted);
    if (text_sizes)
        rc = service_layout(columns, n, wanted, text_sizes, places, &bytes, err);
    if (rc == 0)
        to = malloc(bytes + 1);
    for (size_t i = 0; to && i < n; i++)
        column_repeat(&columns[i], rows, wanted, to + places[i], &rows_of[i]);
    *memory = to;
    free(text_sizes);
    if (rc < 0 && text_sizes)
        return -1;
    return to ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for a batch");
}
