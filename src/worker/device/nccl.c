/*
 * nccl.c - opens the library, and translates its errors, types and operations.
 */
#include "config.h"

#include "device/nccl.h"

#include <dlfcn.h>
#include <string.h>

#define OLDEST      21000
#define NONBLOCKING 21400

/* ---- The library ---- */

static int nccl_symbols_find(void *object, struct nccl *nccl, struct error *err)
{
    static const char *const names[] = {
#define NAME(result, name, arguments) #name,
        NCCL_FUNCTIONS(NAME)};
    void *const places[] = {
#define PLACE(result, name, arguments) &nccl->name,
        NCCL_FUNCTIONS(PLACE)};
    void *symbol;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        symbol = dlsym(object, names[i]);
        if (!symbol)
            return error_set(err, RAYTRAIN_ENOTSUP,
                             "%s has no %s(): update it to NCCL 2.10 or later",
                             nccl->file, names[i]);
        memcpy(places[i], &symbol, sizeof symbol);
    }
    symbol = dlsym(object, "ncclGetLastError");
    memcpy(&nccl->ncclGetLastError, &symbol, sizeof symbol);
    symbol = dlsym(object, "ncclCommInitRankConfig");
    memcpy(&nccl->ncclCommInitRankConfig, &symbol, sizeof symbol);
    return 0;
}

static int nccl_version_check(struct nccl *nccl, struct error *err)
{
    int rc = nccl->ncclGetVersion(&nccl->version), v = nccl->version;

    if (rc != NCCL_SUCCESS) {
        nccl_fail(nccl, rc, "ncclGetVersion", err);
        return error_set(err, RAYTRAIN_ENOTSUP, "%s", err ? err->text : "");
    }
    if (v >= OLDEST)
        return 0;
    /* Up to 2.8 the number was 1000 x major + 100 x minor + patch. */
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "%s is NCCL %d.%d: update it to 2.10 or later", nccl->file,
                     v >= 10000 ? v / 10000 : v / 1000,
                     v >= 10000 ? v / 100 % 100 : v / 100 % 10);
}

static int nccl_library_load(const char *file, struct nccl *nccl, struct error *err)
{
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    if (!object)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "the library for collectives of GPUs is missing: %s",
                         dlerror());
    nccl->file = file;
    if (nccl_symbols_find(object, nccl, err) == 0 &&
        nccl_version_check(nccl, err) == 0) {
        if (nccl->version < NONBLOCKING)
            nccl->ncclCommInitRankConfig = NULL;
        return 0;
    }
    dlclose(object);
    return -1;
}

int nccl_open(const char *file, const struct nccl **out, struct error *err)
{
    static struct nccl loaded;

    *out = &loaded;
    if (loaded.file && strcmp(loaded.file, file) == 0)
        return 0;
    if (loaded.file)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "this process uses %s, and cannot use %s beside it",
                         loaded.file, file);
    if (nccl_library_load(file, &loaded, err) == 0)
        return 0;
    loaded.file = NULL;
    return -1;
}

/* The likely cause of an ncclResult_t. */
static const char *hint(int result)
{
    switch (result) {
    case 1: /* ncclUnhandledCudaError */
        return "; the driver may be too old for this NCCL: nvidia-smi prints the "
               "version "
               "of CUDA that it is made for";
    case 2: /* ncclSystemError */
        return "; /dev/shm may be too small, or NCCL_SOCKET_IFNAME name the wrong "
               "network";
    default:
        return "";
    }
}

int nccl_fail(const struct nccl *nccl, int result, const char *function,
              struct error *err)
{
    const char *text = nccl->ncclGetErrorString(result);
    const char *last = nccl->ncclGetLastError ? nccl->ncclGetLastError(NULL) : NULL;

    if (function)
        error_set(err, RAYTRAIN_ECOMM, "%s of %s returned %d, %s", function, nccl->file,
                  result, text ? text : "no text");
    else
        error_set(err, RAYTRAIN_ECOMM, "an asynchronous error of %s: %d, %s",
                  nccl->file, result, text ? text : "no text");
    if (err && last && *last)
        error_set(err, RAYTRAIN_ECOMM, "%s; its last message: %s", err->text, last);
    if (err)
        error_set(err, RAYTRAIN_ECOMM, "%s%s", err->text, hint(result));
    return -1;
}

/* ---- Numbers ---- */

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
    raytrain_dtype dtype;
    int number;
} types[] = {
    {RAYTRAIN_FLOAT32, NCCL_FLOAT32}, {RAYTRAIN_FLOAT64, NCCL_FLOAT64},
    {RAYTRAIN_FLOAT16, NCCL_FLOAT16}, {RAYTRAIN_BFLOAT16, NCCL_BFLOAT16},
    {RAYTRAIN_INT64, NCCL_INT64},
};

static const struct {
    raytrain_op op;
    int number;
} ops[] = {
    {RAYTRAIN_SUM, NCCL_SUM},
    {RAYTRAIN_MEAN, NCCL_AVG},
    {RAYTRAIN_MAX, NCCL_MAX},
    {RAYTRAIN_MIN, NCCL_MIN},
};

int nccl_reduction(raytrain_dtype dtype, raytrain_op op, int *type, int *combine,
                   struct error *err)
{
    size_t t = 0, o = 0;

    while (t < COUNT(types) && types[t].dtype != dtype)
        t++;
    while (o < COUNT(ops) && ops[o].op != op)
        o++;
    if (t == COUNT(types) || o == COUNT(ops) ||
        (dtype == RAYTRAIN_INT64 && op == RAYTRAIN_MEAN))
        return error_set(err, RAYTRAIN_EINVAL,
                         "elements of type %s cannot be combined by operation %d",
                         raytrain_dtype_name(dtype), (int)op);
    *type = types[t].number;
    *combine = ops[o].number;
    return 0;
}
