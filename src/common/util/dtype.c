/* dtype.c - the element types of raytrain.h: sizes and names, in one table. */
#include "raytrain.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [RAYTRAIN_FLOAT32] = {"float32", 4}, [RAYTRAIN_FLOAT64] = {"float64", 8},
    [RAYTRAIN_FLOAT16] = {"float16", 2}, [RAYTRAIN_BFLOAT16] = {"bfloat16", 2},
    [RAYTRAIN_INT8] = {"int8", 1},       [RAYTRAIN_INT16] = {"int16", 2},
    [RAYTRAIN_INT32] = {"int32", 4},     [RAYTRAIN_INT64] = {"int64", 8},
    [RAYTRAIN_UINT8] = {"uint8", 1},     [RAYTRAIN_UINT16] = {"uint16", 2},
    [RAYTRAIN_UINT32] = {"uint32", 4},   [RAYTRAIN_UINT64] = {"uint64", 8},
    [RAYTRAIN_BYTES] = {"bytes", 1},
};

/* Callers pass numbers from files too: any value of the enum's type may arrive. */
static bool dtype_known(raytrain_dtype dtype)
{
    return (int)dtype > 0 && (size_t)dtype < sizeof dtypes / sizeof dtypes[0];
}

size_t raytrain_dtype_size(raytrain_dtype dtype)
{
    return dtype_known(dtype) ? dtypes[dtype].size : 0;
}

const char *raytrain_dtype_name(raytrain_dtype dtype)
{
    return dtype_known(dtype) ? dtypes[dtype].name : "unknown";
}
