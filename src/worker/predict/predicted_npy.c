/* predicted_npy.c - predictions as a file of NumPy, which is one array, so that there
 * is only one column. */
#include "predict/predicted.h"

#include <stdio.h>
#include <string.h>

#define HEAD_UNIT 64 /* as in NumPy, the data begin at a multiple of it */
#define HEAD_MAX  512

/* NumPy's names of element types. It has no bfloat16. */
static const char *const descriptions[] = {
    [RAYTRAIN_FLOAT32] = "<f4", [RAYTRAIN_FLOAT64] = "<f8", [RAYTRAIN_FLOAT16] = "<f2",
    [RAYTRAIN_INT8] = "|i1",    [RAYTRAIN_INT16] = "<i2",   [RAYTRAIN_INT32] = "<i4",
    [RAYTRAIN_INT64] = "<i8",   [RAYTRAIN_UINT8] = "|u1",   [RAYTRAIN_UINT16] = "<u2",
    [RAYTRAIN_UINT32] = "<u4",  [RAYTRAIN_UINT64] = "<u8",  [RAYTRAIN_BYTES] = "|u1",
};

static int npy_check(const struct predicted *p, struct error *err)
{
    if (p->n != 1)
        return error_set(err, RAYTRAIN_EINVAL,
                         "a .npy file is one array, but there are %zu columns; write "
                         ".h5 or .csv",
                         p->n);
    if (!descriptions[p->columns[0].row.dtype])
        return error_set(
            err, RAYTRAIN_ETYPE, "column \"%s\": NumPy has no %s; write .h5",
            p->columns[0].name, raytrain_dtype_name(p->columns[0].row.dtype));
    return 0;
}

static int npy_append(const struct predicted *p, struct predicted_stream *streams,
                      const struct predicted_rows *rows, uint64_t n, struct error *err)
{
    return predicted_stream_add(streams, rows[0].data, n * p->columns[0].row_bytes,
                                err);
}

/* The head: magic, version 1.0, the length of the rest, a Python dict, blanks,
 * newline. */
static int npy_layout(const struct predicted *p, uint64_t rows, const uint64_t *bytes,
                      struct predicted_layout *layout, struct error *err)
{
    const raytrain_tensor *row = &p->columns[0].row;
    char head[HEAD_MAX] = "\x93NUMPY\x01";
    size_t n = 10, end;

    n += (size_t)snprintf(head + n, sizeof head - n,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%llu,",
                          descriptions[row->dtype], (unsigned long long)rows);
    for (int i = 0; i < row->ndim; i++)
        n += (size_t)snprintf(head + n, sizeof head - n, " %llu,",
                              (unsigned long long)row->shape[i]);
    n += (size_t)snprintf(head + n, sizeof head - n, "), }");
    end = (n + HEAD_UNIT) / HEAD_UNIT * HEAD_UNIT; /* with room for the newline */
    memset(head + n, ' ', end - n);
    head[end - 1] = '\n';
    head[8] = (char)((end - 10) % 256);
    head[9] = (char)((end - 10) / 256);
    layout->places[0] = end;
    layout->length = end + bytes[0];
    return predicted_layout_add(layout, 0, head, end, err);
}

const struct predicted_format predicted_npy = {
    .check = npy_check,
    .append = npy_append,
    .layout = npy_layout,
};
