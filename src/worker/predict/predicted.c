/*
 * predicted.c - the columns of an output, and the table of formats. Each format has its
 * own file: predicted_hdf5.c, predicted_csv.c, predicted_npy.c.
 */
#include "predict/predicted.h"

#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

static const struct predicted_format *const formats[PREDICT_FORMATS] = {
    [PREDICT_HDF5] = &predicted_hdf5,
    [PREDICT_CSV] = &predicted_csv,
    [PREDICT_NPY] = &predicted_npy,
};

/* ---- Columns ---- */

void predicted_init(struct predicted *p, enum predict_format format)
{
    *p = (struct predicted){.format = formats[format]};
}

void predicted_clear(struct predicted *p)
{
    free(p->columns);
    p->columns = NULL;
    p->n = 0;
}

/* The name of a column must also be a name in an HDF5 file. */
static int predicted_name_check(const char *name, struct error *err)
{
    const char *wrong = NULL;
    char quoted[QUOTE_TEXT_MAX];

    if (!*name || strlen(name) > RAYTRAIN_NAME_MAX)
        wrong = "does not have 1 to 255 bytes";
    else if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        wrong = "is not a name";
    for (const char *c = name; *c && !wrong; c += printable_length(c))
        if (*c == '/' || printable_length(c) == 0)
            wrong = *c == '/' ? "has a '/'" : "has bytes that are not printable UTF-8";
    if (!wrong)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s cannot be a column of predictions: it %s", quote(name, quoted),
                     wrong);
}

/* Compute the bytes of a row; check the sizes, which come from the caller. */
static int row_measure(const char *name, const raytrain_tensor *row, size_t *bytes,
                       struct error *err)
{
    uint64_t n = raytrain_dtype_size(row->dtype);

    if (n == 0)
        return error_set(err, RAYTRAIN_ETYPE, "column \"%s\": an unknown element type",
                         name);
    if (row->ndim < 0 || row->ndim >= RAYTRAIN_MAX_DIMS)
        return error_set(err, RAYTRAIN_EINVAL,
                         "column \"%s\": a row has 0 to %d dimensions, not %d", name,
                         RAYTRAIN_MAX_DIMS - 1, row->ndim);
    for (int i = 0; i < row->ndim; i++)
        if (row->shape[i] == 0 || __builtin_mul_overflow(n, row->shape[i], &n) ||
            n > SIZE_MAX / 4)
            return error_set(err, RAYTRAIN_EINVAL,
                             "column \"%s\": a row with a dimension of %llu", name,
                             (unsigned long long)row->shape[i]);
    *bytes = (size_t)n;
    return 0;
}

struct predicted_column *predicted_find(const struct predicted *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->columns[i].name, name) == 0)
            return &p->columns[i];
    return NULL;
}

/* Add a column. `name` has been checked. */
static int predicted_column_add(struct predicted *p, const char *name,
                                const struct predicted_column *like, struct error *err)
{
    struct predicted_column *c = predicted_find(p, name), *columns;

    if (c)
        return error_set(err, RAYTRAIN_EINVAL, "there are two columns \"%s\"%s", name,
                         c->kept != like->kept
                             ? ", one of them of the input: leave that out of --columns"
                             : "");
    columns = reallocarray(p->columns, p->n + 1, sizeof *columns);
    if (!columns)
        return error_no_memory(err);
    p->columns = columns;
    columns[p->n] = *like;
    strcpy(columns[p->n++].name, name);
    return 0;
}

int predicted_add(struct predicted *p, const char *name, const raytrain_tensor *row,
                  bool kept, struct error *err)
{
    struct predicted_column c = {.row = *row, .kept = kept};

    if (predicted_name_check(name, err) < 0 ||
        row_measure(name, row, &c.row_bytes, err) < 0)
        return -1;
    c.row.data = NULL;
    return predicted_column_add(p, name, &c, err);
}

int predicted_add_strings(struct predicted *p, const char *name, uint64_t longest,
                          struct error *err)
{
    struct predicted_column c = {
        .row = {.dtype = RAYTRAIN_BYTES}, .is_string = true, .kept = true};

    if (predicted_name_check(name, err) < 0)
        return -1;
    if (longest > SIZE_MAX / 4)
        return error_no_memory(err);
    c.row_bytes = (size_t)longest + 1;
    return predicted_column_add(p, name, &c, err);
}

uint64_t predicted_elements(const struct predicted_column *c)
{
    uint64_t n = 1;

    for (int i = 0; i < c->row.ndim; i++)
        n *= c->row.shape[i];
    return n;
}

/* ---- Streams ---- */

size_t predicted_streams(const struct predicted *p)
{
    return p->format->is_joined ? 1 : p->n;
}

int predicted_stream_add(struct predicted_stream *s, const void *data, size_t n,
                         struct error *err)
{
    if (n > s->room - s->n) {
        size_t room = 2 * s->room > s->n + n ? 2 * s->room : s->n + n;
        unsigned char *grown = realloc(s->data, room);

        if (!grown)
            return error_no_memory(err);
        s->data = grown;
        s->room = room;
    }
    memcpy(s->data + s->n, data, n);
    s->n += n;
    return 0;
}

/* ---- Layouts ---- */

int predicted_layout_make(const struct predicted *p, uint64_t rows,
                          const uint64_t *bytes, struct predicted_layout *layout,
                          struct error *err)
{
    *layout = (struct predicted_layout){.length = 0};
    layout->places = calloc(predicted_streams(p), sizeof *layout->places);
    if (!layout->places)
        return error_no_memory(err);
    if (p->format->layout(p, rows, bytes, layout, err) == 0)
        return 0;
    predicted_layout_clear(layout);
    return -1;
}

int predicted_layout_add(struct predicted_layout *layout, uint64_t offset,
                         const void *data, size_t n, struct error *err)
{
    struct predicted_piece *pieces =
        reallocarray(layout->pieces, layout->n_pieces + 1, sizeof *pieces);
    unsigned char *copy;

    if (!pieces)
        return error_no_memory(err);
    layout->pieces = pieces;
    copy = malloc(n > 0 ? n : 1);
    if (!copy)
        return error_no_memory(err);
    memcpy(copy, data, n);
    pieces[layout->n_pieces++] =
        (struct predicted_piece){.offset = offset, .n = n, .data = copy};
    return 0;
}

void predicted_layout_clear(struct predicted_layout *layout)
{
    for (size_t i = 0; i < layout->n_pieces; i++)
        free(layout->pieces[i].data);
    free(layout->pieces);
    free(layout->places);
    *layout = (struct predicted_layout){.length = 0};
}
