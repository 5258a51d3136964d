/*
 * api_names.c - the tables of names behind raytrain_status_name() and its like, and the
 * check of a metric's name.
 */
#include "util/api_names.h"

#include <string.h>

/* ---- Statuses ---- */

static const char *const words[] = {
    [RAYTRAIN_OK] = "success",
    [RAYTRAIN_EINVAL] = "invalid argument or value",
    [RAYTRAIN_ETYPE] = "wrong type or shape",
    [RAYTRAIN_ENOTFOUND] = "not found",
    [RAYTRAIN_ENOMEM] = "out of memory",
    [RAYTRAIN_EFIT] = "does not fit",
    [RAYTRAIN_ESTORAGE] = "storage error",
    [RAYTRAIN_ECORRUPT] = "damaged file",
    [RAYTRAIN_ECOMM] = "communication error",
    [RAYTRAIN_EFAILED] = "training failed",
    [RAYTRAIN_ESTOPPED] = "stopped on request",
    [RAYTRAIN_EUSAGE] = "usage error",
    [RAYTRAIN_ENOTSUP] = "not supported",
    [RAYTRAIN_END] = "end of epoch",
};

const char *raytrain_status_name(int status)
{
    if (status < 0 || (size_t)status >= sizeof words / sizeof words[0])
        return "unknown status";
    return words[status];
}

/* ---- Element types ---- */

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

/* A caller may pass a number from a file, so any value of the enum's type may
 * arrive. */
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

raytrain_dtype dtype_of_name(const char *name)
{
    for (size_t i = 1; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(name, dtypes[i].name) == 0)
            return (raytrain_dtype)i;
    return (raytrain_dtype)0;
}

/* ---- Metrics ---- */

bool metric_name_is_valid(const char *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    size_t n = strspn(name, letters), length = strlen(name);

    while (n && n < length && strchr("0123456789./@-", name[n])) {
        n++;
        n += strspn(name + n, letters);
    }
    return length > 0 && n == length && length <= RAYTRAIN_NAME_MAX;
}
