/* column_view.c - describes columns as tensors, without copying them. */
#include "frame/column_view.h"

#include <string.h>

int column_view_row(const struct frame_column *c, raytrain_tensor *row)
{
    if (c->kind == FRAME_NUMBERS)
        *row = c->row;
    else if (c->kind == FRAME_WORDS)
        *row = (raytrain_tensor){.dtype = RAYTRAIN_INT32};
    else
        return -1;
    return 0;
}

int column_view_tensor(const struct frame_column *c, uint64_t rows,
                       raytrain_tensor *tensor)
{
    raytrain_tensor row;

    if (column_view_row(c, &row) < 0)
        return -1;
    *tensor =
        (raytrain_tensor){.data = c->data, .dtype = row.dtype, .ndim = row.ndim + 1};
    tensor->shape[0] = rows;
    memcpy(tensor->shape + 1, row.shape, (size_t)row.ndim * sizeof *row.shape);
    return 0;
}

int column_view_ragged(const struct frame_column *c, uint64_t rows,
                       raytrain_ragged *ragged)
{
    static const uint64_t no_rows[1] = {0};
    bool sparse = c->kind == FRAME_SPARSE;

    if (c->kind != FRAME_TEXT && !sparse)
        return -1;
    *ragged = (raytrain_ragged){.rows = rows,
                                .offsets = c->offsets ? c->offsets : no_rows,
                                .values = c->data,
                                .dtype = c->row.dtype,
                                .indices = c->indices,
                                .length = sparse ? c->row.shape[0] : 0};
    return 0;
}
