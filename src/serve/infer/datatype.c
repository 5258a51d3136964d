/* datatype.c - the table of the protocol's element types, and which columns accept
 * them. */
#include "infer/datatype.h"

#include <string.h>

#define BYTES "BYTES"

static const char *const names[] = {
    [RAYTRAIN_FLOAT32] = "FP32",  [RAYTRAIN_FLOAT64] = "FP64",
    [RAYTRAIN_FLOAT16] = "FP16",  [RAYTRAIN_BFLOAT16] = "BF16",
    [RAYTRAIN_INT8] = "INT8",     [RAYTRAIN_INT16] = "INT16",
    [RAYTRAIN_INT32] = "INT32",   [RAYTRAIN_INT64] = "INT64",
    [RAYTRAIN_UINT8] = "UINT8",   [RAYTRAIN_UINT16] = "UINT16",
    [RAYTRAIN_UINT32] = "UINT32", [RAYTRAIN_UINT64] = "UINT64",
    [RAYTRAIN_BYTES] = "UINT8",
};

const char *datatype_name(const struct infer_column *c)
{
    size_t dtype = (size_t)c->row.dtype;

    if (c->kind == INFER_TEXT || dtype >= sizeof names / sizeof *names || !names[dtype])
        return BYTES;
    return names[dtype];
}

bool datatype_fits(const struct infer_column *c, const char *datatype,
                   raytrain_dtype *dtype)
{
    if (c->kind == INFER_TEXT)
        return strcmp(datatype, BYTES) == 0;
    *dtype = c->row.dtype;
    if (strcmp(datatype_name(c), datatype) == 0)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i] && strcmp(names[i], datatype) == 0) {
            *dtype = (raytrain_dtype)i;
            return true;
        }
    *dtype = RAYTRAIN_UINT8;
    return strcmp(datatype, "BOOL") == 0;
}

uint64_t infer_row_bytes(const struct infer_column *c)
{
    uint64_t bytes = c->kind == INFER_NUMBERS ? raytrain_dtype_size(c->row.dtype) : 0;

    for (int i = 0; i < c->row.ndim; i++)
        if (__builtin_mul_overflow(bytes, c->row.shape[i], &bytes))
            return 0;
    return bytes;
}
