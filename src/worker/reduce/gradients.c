/*
 * gradients.c - checks of the list of gradients, and its comparison between ranks.
 */
#include "reduce/gradients.h"

#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#include "device/device.h"
#include "session/collectives.h"
#include "session/reducible.h"
#include "util/tensor.h"

/* Leaves room for alignment. */
#define BYTES_MAX (SIZE_MAX / 4)

size_t gradient_elements(const raytrain_tensor *t)
{
    size_t n = 1;

    for (int i = 0; i < t->ndim; i++)
        n *= (size_t)t->shape[i];
    return n;
}

size_t gradient_bytes(const raytrain_tensor *t)
{
    return gradient_elements(t) * raytrain_dtype_size(t->dtype);
}

/* ---- Is the list valid? ---- */

/* `what` is "gradient" or "parameter". */
static int gradient_place_check(const struct gradients *g, const raytrain_tensor *t,
                                const char *what, size_t i, struct error *err)
{
    const raytrain_tensor *first = &g->list[0];
    char here[TENSOR_PLACE_MAX], there[TENSOR_PLACE_MAX];

    if (tensor_check(t, err) < 0)
        return error_prefix(err, "%s: %s %zu", g->call, what, i);
    if (t->device == first->device && t->device_id == first->device_id)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "%s: %s %zu is %s, and gradient 0 %s: a reducer needs all tensors "
                     "in host memory, or all on one GPU",
                     g->call, what, i, tensor_place(t, here),
                     tensor_place(first, there));
}

/* Is the tensor in memory of its GPU? It has been checked otherwise. */
static int memory_check(const struct gradients *g, const raytrain_tensor *t,
                        const char *what, size_t i, struct error *err)
{
    uint64_t bytes = gradient_bytes(t);

    if (t->device == RAYTRAIN_HOST || !t->data || bytes == 0 ||
        device_check(t->device, t->device_id, t->data, bytes, err) == 0)
        return 0;
    return error_prefix(err, "%s: %s %zu", g->call, what, i);
}

/* *total: the bytes of the gradients so far, as they are reduced. */
static int gradient_check(const struct gradients *g, size_t i, uint64_t *total,
                          struct error *err)
{
    const raytrain_tensor *t = &g->list[i];
    const struct reducible *type = reducible_find(t->dtype);
    uint64_t bytes;

    if (gradient_place_check(g, t, "gradient", i, err) < 0)
        return -1;
    if (!type || !type->has_mean)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: gradient %zu is %s; only float32, "
                         "float64, float16 and bfloat16 are averaged",
                         g->call, i, raytrain_dtype_name(t->dtype));
    if (t->ndim < 0 || t->ndim > RAYTRAIN_MAX_DIMS)
        return error_set(err, RAYTRAIN_EINVAL, "%s: gradient %zu has %d dimensions",
                         g->call, i, t->ndim);
    bytes = comm_type_size(type->type);
    for (int d = 0; d < t->ndim && bytes <= BYTES_MAX; d++)
        if (__builtin_mul_overflow(bytes, t->shape[d], &bytes))
            bytes = UINT64_MAX;
    if (bytes > BYTES_MAX || (*total += bytes) > BYTES_MAX)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: gradient %zu, with those before it, "
                         "is larger than any memory",
                         g->call, i);
    return memory_check(g, t, "gradient", i, err);
}

static int param_check(const struct gradients *g, size_t i, uint64_t *total,
                       struct error *err)
{
    const raytrain_tensor *t = &g->params[i], *gradient = &g->list[i];
    size_t width = raytrain_dtype_size(t->dtype);
    uint64_t bytes = (uint64_t)gradient_elements(gradient);
    bool same = t->ndim == gradient->ndim;

    if (gradient_place_check(g, t, "parameter", i, err) < 0)
        return -1;
    for (int d = 0; same && d < t->ndim; d++)
        same = t->shape[d] == gradient->shape[d];
    if (!same || width == 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: parameter %zu has %s than its gradient", g->call, i,
                         same ? "another element type" : "another shape");
    if (__builtin_mul_overflow(bytes, width, &bytes) || bytes > BYTES_MAX ||
        (*total += bytes) > BYTES_MAX)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: parameter %zu, with those before it, is larger than any "
                         "memory",
                         g->call, i);
    return memory_check(g, t, "parameter", i, err);
}

int gradients_check(const struct gradients *g, struct error *err)
{
    uint64_t total = 0;

    for (size_t i = 0; i < g->n; i++)
        if (gradient_check(g, i, &total, err) < 0)
            return -1;
    if (g->n_params > g->n)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: there are %zu parameters, but only %zu gradients",
                         g->call, g->n_params, g->n);
    for (size_t i = 0; i < g->n_params; i++)
        if (param_check(g, i, &total, err) < 0)
            return -1;
    return 0;
}

/* ---- Is the list, which has not been checked, the same on every rank? ---- */

/* " [2,3]"; returns its length. */
static size_t shape_say(const raytrain_tensor *t, char *text, size_t room)
{
    size_t used = 0;

    for (int d = 0; d < t->ndim && d < RAYTRAIN_MAX_DIMS && used < room; d++)
        used += (size_t)snprintf(text + used, room - used, "%s%" PRIu64,
                                 d > 0 ? "," : " [", (uint64_t)t->shape[d]);
    if (used < room)
        used += (size_t)snprintf(text + used, room - used, used > 0 ? "]" : " []");
    return used;
}

/* " float32 [4] [8] float64 [3]": the type where it changes. */
static void gradients_say(const void *arg, char text[CALL_TEXT_MAX])
{
    const struct gradients *g = arg;
    bool on_device = g->n > 0 && g->list[0].device != RAYTRAIN_HOST;
    size_t used =
        (size_t)snprintf(text, CALL_TEXT_MAX,
                         "called %s() of %zu gradients in buckets of %zu "
                         "bytes%s:",
                         g->call, g->n, g->bucket_bytes, on_device ? ", on a GPU" : "");

    for (size_t i = 0; i < g->n && used < CALL_TEXT_MAX; i++) {
        const raytrain_tensor *t = &g->list[i];

        if (i == 0 || t->dtype != t[-1].dtype)
            used += (size_t)snprintf(text + used, CALL_TEXT_MAX - used, " %s",
                                     raytrain_dtype_name(t->dtype));
        if (used < CALL_TEXT_MAX)
            used += shape_say(t, text + used, CALL_TEXT_MAX - used);
    }
}

static uint64_t tensor_hash(const raytrain_tensor *t, uint64_t seed)
{
    int ndim = t->ndim < RAYTRAIN_MAX_DIMS ? t->ndim : RAYTRAIN_MAX_DIMS;
    int64_t face[RAYTRAIN_MAX_DIMS + 4] = {t->ndim, t->dtype, t->data == NULL,
                                           t->device};

    for (int d = 0; d < ndim; d++)
        face[d + 4] = (int64_t)t->shape[d];
    return XXH3_64bits_withSeed(face, sizeof face, seed);
}

/* A hash of everything that must be the same: types, shapes and kinds of memory in
 * their order, which tensors get the reducer's memory, how many have parameters, and
 * the size of buckets. */
static uint64_t gradients_hash(const struct gradients *g)
{
    uint64_t numbers[] = {g->bucket_bytes, g->n_params, g->params != NULL};
    uint64_t hash = XXH3_64bits(numbers, sizeof numbers);

    for (size_t i = 0; i < g->n; i++)
        hash = tensor_hash(&g->list[i], hash);
    for (size_t i = 0; i < g->n_params; i++)
        hash = tensor_hash(&g->params[i], hash);
    return hash;
}

int gradients_match(raytrain_context *ctx, const struct gradients *g, struct error *err)
{
    const struct session_call call = {CALL_REDUCER, gradients_say, g};

    return session_match_arguments(ctx, &call, gradients_hash(g), err);
}
