/*
 * device_reducer.c - a training function for tests whose gradients are in memory of a CUDA
 * GPU, that of the stand-in (t/device), or of the host: the numbers are the same. Kernels
 * write the gradients of an iteration, a reducer averages them, and kernels move the
 * parameters by the means. Nothing is waited for on the host before a report.
 *
 * train_loop_config:
 *   iterations (5)
 *   device (true): the model is on GPU local_rank % devices; false: on the host
 *   devices (2): how many there are
 *   stream (false): the work is queued on a stream of its own, not on the default one
 *   capture (false): a graph is captured, on a stream that has no part in this, while gradients
 *          are averaged; it must not be spoiled
 *   types = "float32" | "float64" | "float16" | "bfloat16" | "all" (by turns)
 *   layout = "block": gradients are adjacent, in index order | "reverse": in reverse order |
 *          "scattered" | "touching": each is an allocation of its own, and begins where the one
 *          before it ends, if that is a multiple of 8 bytes | "own": in memory of the reducer |
 *          "mixed": scattered and own by turns
 *   bucket_bytes (1000), back (false): gradients are ready in reverse order
 *   sharded (false): each rank moves its part of the parameters
 *   same (false): all ranks have the same gradients, whose means are exact: so the numbers do
 *          not depend on the number of workers
 *   fail_at (0): at this iteration, rank fail_rank (0; -1: each one) ...
 *   fail = "kill": dies when half of the gradients are ready | a value of STANDIN_CUDA_FAIL, or
 *          VARIABLE=VALUE, from then on |
 *          something that is wrong with the reducer it creates: "host", "other", "id",
 *          "freed", "mixture", "elsewhere", "parameter"
 *   fail_once = PATH: fail only if PATH can be created
 */
#include <fcntl.h>
#include <math.h>
#include <raytrain.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin_calls.h"
#include "standin_fail.h"

/* ---- Numbers ---- */

/* bfloat16 and float16 as double, and back: towards zero, and 0 if it is very small. */
static double wide(uint16_t bits, bool brain)
{
    int fraction = brain ? 7 : 10, exponent = bits >> fraction & (brain ? 255 : 31);
    double m = ldexp(bits & ((1 << fraction) - 1), -fraction);

    m = exponent == 0 ? ldexp(m, brain ? -126 : -14)
                      : ldexp(1 + m, exponent - (brain ? 127 : 15));
    return bits >> 15 ? -m : m;
}

static uint16_t narrow(double x, bool brain)
{
    int fraction = brain ? 7 : 10, exponent;
    double m = frexp(fabs(x), &exponent);

    exponent += brain ? 126 : 14;
    if (m == 0 || exponent <= 0)
        return 0;
    return (uint16_t)((x < 0 ? 0x8000 : 0) | exponent << fraction |
                      (int)ldexp(2 * m - 1, fraction));
}

static void element_set(void *data, raytrain_dtype type, uint64_t j, double x)
{
    if (type == RAYTRAIN_FLOAT64)
        ((double *)data)[j] = x;
    else if (type == RAYTRAIN_FLOAT32)
        ((float *)data)[j] = (float)x;
    else
        ((uint16_t *)data)[j] = narrow(x, type == RAYTRAIN_BFLOAT16);
}

static double element(const void *data, raytrain_dtype type, uint64_t j)
{
    if (type == RAYTRAIN_FLOAT64)
        return ((const double *)data)[j];
    if (type == RAYTRAIN_FLOAT32)
        return ((const float *)data)[j];
    return wide(((const uint16_t *)data)[j], type == RAYTRAIN_BFLOAT16);
}

/* Of [-1, 1), anything. */
static double noise(uint64_t seed)
{
    for (int i = 0; i < 3; i++) {
        seed += 0x9e3779b97f4a7c15;
        seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
        seed ^= seed >> 27;
    }
    return ldexp((double)(int64_t)seed, -63);
}

/* ---- The model ---- */

#define TENSORS 9
/* Rows, and what they have. */
static const uint64_t shapes[TENSORS][2] = {{3, 40}, {7, 1},  {0, 5},  {50, 3}, {1, 1},
                                            {2, 9},  {33, 2}, {1, 64}, {5, 5}};

struct model {
    raytrain_context *ctx;
    bool device, sharded, same, back, capture;
    int id, devices;
    void *context, *stream;
    const char *layout;
    raytrain_tensor gradients[TENSORS], parameters[TENSORS];
    void *blocks[TENSORS + 1]; /* memory to be freed */
    int n_blocks;
    raytrain_tensor weight; /* all parameters, adjacent */
    raytrain_reducer *reducer;
};

static void *memory_exact(struct model *m, uint64_t bytes)
{
    uint64_t p;

    if (m->device) {
        must(cuda.cuMemAlloc_v2(&p, bytes));
        m->blocks[m->n_blocks] = (void *)(uintptr_t)p;
    } else {
        m->blocks[m->n_blocks] = calloc(1, bytes);
    }
    return m->blocks[m->n_blocks++];
}

static void *memory_new(struct model *m, uint64_t bytes)
{
    return memory_exact(m, bytes + 8);
}

static void memory_free(const struct model *m, void *p)
{
    if (m->device)
        must(cuda.cuMemFree_v2((uintptr_t)p));
    else
        free(p);
}

struct kernel {
    raytrain_tensor gradient, parameter;
    uint64_t first, n, seed;
    bool same;
};

static void kernel_gradient(const struct kernel *k)
{
    const double *w = k->parameter.data;

    for (uint64_t j = 0; j < k->n; j++) {
        double x = noise(k->seed * 1000 + j);

        x = k->same ? floor(x * 16) / 16 : x + 0.125 * w[j];
        element_set(k->gradient.data, k->gradient.dtype, j, x);
    }
}

static void kernel_step(const struct kernel *k)
{
    double *w = k->parameter.data;

    for (uint64_t j = k->first; j < k->first + k->n; j++)
        w[j] = 0.75 * w[j] + element(k->gradient.data, k->gradient.dtype, j);
}

static void kernel_zeros(const struct kernel *k)
{
    memset(k->parameter.data, 0, k->n * sizeof(double));
}

struct launched {
    void (*run)(const struct kernel *k);
    struct kernel k;
};

static void launched_run(void *arg)
{
    struct launched *l = arg;
    raytrain_tensor *const tensors[] = {&l->k.gradient, &l->k.parameter};

    for (int i = 0; i < 2; i++)
        if (tensors[i]->data)
            tensors[i]->data = cuda.standin_inside((uintptr_t)tensors[i]->data);
    l->run(&l->k);
    free(l);
}

static void launch(const struct model *m, void (*run)(const struct kernel *),
                   struct kernel k)
{
    struct launched *l;

    if (k.n == 0)
        return;
    if (!m->device) {
        run(&k);
        return;
    }
    l = malloc(sizeof *l);
    *l = (struct launched){run, k};
    must(cuda.standin_launch(m->stream, launched_run, l));
}

static uint64_t elements(int i)
{
    return shapes[i][0] * shapes[i][1];
}

static raytrain_dtype type_of(const char *types, int i)
{
    static const raytrain_dtype known[] = {RAYTRAIN_FLOAT32, RAYTRAIN_FLOAT64,
                                           RAYTRAIN_FLOAT16, RAYTRAIN_BFLOAT16};

    for (int k = 0; k < 4; k++)
        if (strcmp(types, raytrain_dtype_name(known[k])) == 0)
            return known[k];
    return known[i / 2 % 4];
}

static raytrain_tensor tensor_of(const struct model *m, int i, raytrain_dtype type)
{
    return (raytrain_tensor){.dtype = type,
                             .ndim = 2,
                             .shape = {shapes[i][0], shapes[i][1]},
                             .device = m->device ? RAYTRAIN_CUDA : RAYTRAIN_HOST,
                             .device_id = m->id};
}

/* Gradients have memory as the layout says. Those of other types than the one before are
 * adjacent, too: sizes are multiples of eight bytes then. */
static void gradients_place(struct model *m)
{
    bool reverse = strcmp(m->layout, "reverse") == 0;
    uint64_t bytes = 0;
    char *at = NULL;

    for (int i = 0; i < TENSORS; i++)
        bytes += (elements(i) * raytrain_dtype_size(m->gradients[i].dtype) + 8) / 8 * 8;
    if (reverse || strcmp(m->layout, "block") == 0)
        at = memory_new(m, bytes);
    for (int k = 0; k < TENSORS; k++) {
        int i = reverse ? TENSORS - 1 - k : k;
        uint64_t size = elements(i) * raytrain_dtype_size(m->gradients[i].dtype);
        int next = reverse ? i - 1 : i + 1;

        if (at) {
            m->gradients[i].data = at;
            at += size;
            if (next >= 0 && next < TENSORS &&
                m->gradients[next].dtype != m->gradients[i].dtype)
                at += 8 - (uintptr_t)at % 8;
        } else if (strcmp(m->layout, "scattered") == 0 ||
                   (strcmp(m->layout, "mixed") == 0 && i % 2 == 0)) {
            m->gradients[i].data = memory_new(m, size);
        } else if (strcmp(m->layout, "touching") == 0) {
            m->gradients[i].data = memory_exact(m, size > 0 ? size : 8);
        }
    }
}

static void device_open(struct model *m, bool stream)
{
    standin_open("libcuda.so.1");
    must(cuda.cuInit(0));
    m->id = raytrain_local_rank(m->ctx) % m->devices;
    must(cuda.cuDevicePrimaryCtxRetain(&m->context, m->id));
    must(cuda.cuCtxSetCurrent(m->context));
    if (!stream)
        return;
    must(cuda.cuStreamCreate(&m->stream, 1));
    must(raytrain_set_stream(m->ctx, RAYTRAIN_CUDA, m->id, m->stream));
}

static void model_place(struct model *m, const char *types)
{
    bool own = strcmp(m->layout, "own") == 0 && m->sharded;
    uint64_t total = 0;
    char *at;

    for (int i = 0; i < TENSORS; i++) {
        m->gradients[i] = tensor_of(m, i, type_of(types, i));
        m->parameters[i] = tensor_of(m, i, RAYTRAIN_FLOAT64);
        total += elements(i);
    }
    gradients_place(m);
    m->weight = tensor_of(m, 0, RAYTRAIN_FLOAT64);
    m->weight.ndim = 1;
    m->weight.shape[0] = total;
    if (own)
        return;
    m->weight.data = at = memory_new(m, total * sizeof(double));
    for (int i = 0; i < TENSORS; i++) {
        m->parameters[i].data = at;
        at += elements(i) * sizeof(double);
    }
}

/* All but the last gradient have parameters that are sharded. */
static int reducer_create(struct model *m, int64_t bucket_bytes)
{
    int rc = m->sharded
                 ? raytrain_reducer_create_sharded(m->ctx, m->gradients, TENSORS,
                                                   m->parameters, TENSORS - 1,
                                                   (size_t)bucket_bytes, &m->reducer)
                 : raytrain_reducer_create(m->ctx, m->gradients, TENSORS,
                                           (size_t)bucket_bytes, &m->reducer);

    for (size_t i = 0; rc == 0 && i < TENSORS; i++)
        m->gradients[i].data = raytrain_reducer_data(m->reducer, i);
    if (rc == 0 &&
        !m->weight.data) { /* adjacent, too; the last has memory of the model */
        for (size_t i = 0; i < TENSORS - 1; i++)
            m->parameters[i].data = raytrain_reducer_param(m->reducer, i);
        m->weight.data = m->parameters[0].data;
        m->weight.shape[0] -= elements(TENSORS - 1);
        m->parameters[TENSORS - 1].data =
            memory_new(m, elements(TENSORS - 1) * sizeof(double));
        launch(m, kernel_zeros,
               (struct kernel){.parameter = m->parameters[TENSORS - 1],
                               .n = elements(TENSORS - 1)});
    }
    return rc;
}

static int model_restore(struct model *m)
{
    raytrain_checkpoint *from = raytrain_get_checkpoint(m->ctx);

    if (from)
        return raytrain_checkpoint_get(from, "model/weight", &m->weight);
    launch(m, kernel_zeros,
           (struct kernel){.parameter = m->weight, .n = m->weight.shape[0]});
    return 0;
}

static void model_destroy(struct model *m)
{
    raytrain_reducer_destroy(m->reducer);
    for (int i = 0; i < m->n_blocks; i++)
        memory_free(m, m->blocks[i]);
    if (!m->device)
        return;
    if (m->stream) {
        must(raytrain_set_stream(m->ctx, RAYTRAIN_CUDA, m->id, NULL));
        must(cuda.cuStreamDestroy_v2(m->stream));
    }
    must(cuda.cuDevicePrimaryCtxRelease_v2(m->id));
}

/* ---- Failures ---- */

static bool is_failing(const struct model *m, int64_t iteration)
{
    const char *once;
    int64_t at, rank;
    int fd;

    if (raytrain_config_int(m->ctx, "fail_at", 0, &at) ||
        raytrain_config_int(m->ctx, "fail_rank", 0, &rank) ||
        raytrain_config_string(m->ctx, "fail_once", "", &once))
        abort();
    if (iteration != at || (rank >= 0 && raytrain_rank(m->ctx) != rank))
        return false;
    if (!*once)
        return true;
    fd = open(once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Make a list of gradients wrong. */
static void gradients_spoil(struct model *m, const char *how)
{
    static double host[8];
    raytrain_tensor *t = &m->gradients[1];

    if (strcmp(how, "host") == 0)
        t->data = host;
    if (strcmp(how, "other") == 0)
        for (int i = 0; i < TENSORS; i++)
            m->gradients[i].device_id = !m->id;
    if (strcmp(how, "id") == 0)
        for (int i = 0; i < TENSORS; i++)
            m->gradients[i].device_id = 5;
    if (strcmp(how, "freed") == 0) {
        t->data = memory_new(m, 64);
        memory_free(m, m->blocks[--m->n_blocks]);
    }
    if (strcmp(how, "mixture") == 0) {
        t->data = host;
        t->device = RAYTRAIN_HOST;
        t->device_id = 0;
    }
    if (strcmp(how, "parameter") == 0)
        m->parameters[3].data = host;
    for (int i = 0; strcmp(how, "elsewhere") == 0 && i < TENSORS; i++) {
        m->gradients[i].data = malloc(elements(i) * 8 + 8);
        m->gradients[i].device = RAYTRAIN_HOST;
        m->gradients[i].device_id = 0;
    }
}

static void fail_midway(const char *how)
{
    const char *equals = strchr(how, '=');
    char name[64];

    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (!equals && strchr(how, ':'))
        standin_fail("STANDIN_CUDA_FAIL", how);
    if (!equals)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(equals - how), how);
    standin_fail(name, equals + 1);
}

/* ---- Training ---- */

static int backward(struct model *m, const char *how)
{
    uint64_t step = (uint64_t)raytrain_training_iteration(m->ctx);
    uint64_t rank = m->same ? 0 : (uint64_t)raytrain_rank(m->ctx);
    int rc = 0;

    for (int k = 0; rc == 0 && k < TENSORS; k++) {
        int i = m->back ? TENSORS - 1 - k : k;

        if (k == TENSORS / 2 && is_failing(m, raytrain_training_iteration(m->ctx) + 1))
            fail_midway(how);
        launch(m, kernel_gradient,
               (struct kernel){.gradient = m->gradients[i],
                               .parameter = m->parameters[i],
                               .n = elements(i),
                               .seed = (step * 64 + rank) * TENSORS + (uint64_t)i,
                               .same = m->same});
        rc = raytrain_reducer_ready(m->reducer, (size_t)i);
    }
    return rc;
}

static int model_step(struct model *m, const char *how)
{
    int rc = backward(m, how);

    if (rc == 0)
        rc = raytrain_reducer_wait(m->reducer);
    for (int i = 0; rc == 0 && i < TENSORS; i++) {
        size_t first = 0, n = elements(i);

        if (m->sharded && i < TENSORS - 1)
            rc = raytrain_reducer_shard(m->reducer, (size_t)i, NULL, &first, &n);
        launch(m, kernel_step,
               (struct kernel){.gradient = m->gradients[i],
                               .parameter = m->parameters[i],
                               .first = first,
                               .n = n});
    }
    return rc == 0 && m->sharded ? raytrain_reducer_gather(m->reducer) : rc;
}

static int captured_step(struct model *m, const char *how)
{
    void *stream, *graph;
    int rc;

    must(cuda.cuStreamCreate(&stream, 1));
    must(cuda.cuStreamBeginCapture_v2(stream, 0));
    rc = model_step(m, how);
    must(cuda.cuStreamEndCapture(stream, &graph));
    must(cuda.cuStreamDestroy_v2(stream));
    return rc;
}

static int report(struct model *m)
{
    const raytrain_metric metrics[] = {{"loss", 1}};
    raytrain_checkpoint *ck = raytrain_checkpoint_create(m->ctx);
    int rc = raytrain_checkpoint_put(ck, "model/weight", &m->weight);

    if (rc == 0)
        return raytrain_report(m->ctx, metrics, 1, ck);
    raytrain_checkpoint_discard(ck);
    return rc;
}

static int train(struct model *m, int64_t iterations, int64_t bucket_bytes,
                 const char *how)
{
    int rc;

    if (is_failing(m, 0))
        gradients_spoil(m, how);
    rc = reducer_create(m, bucket_bytes);
    if (rc == 0)
        rc = model_restore(m);
    while (rc == 0 && raytrain_training_iteration(m->ctx) < iterations) {
        rc = m->device && m->capture ? captured_step(m, how) : model_step(m, how);
        if (rc == 0)
            rc = report(m);
    }
    return rc;
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    struct model m = {.ctx = ctx};
    int64_t iterations, bucket_bytes, devices;
    const char *types, *how;
    bool stream;
    int rc;

    standin_fail_prepare();
    if (raytrain_config_int(ctx, "iterations", 5, &iterations) ||
        raytrain_config_int(ctx, "bucket_bytes", 1000, &bucket_bytes) ||
        raytrain_config_int(ctx, "devices", 2, &devices) ||
        raytrain_config_bool(ctx, "device", true, &m.device) ||
        raytrain_config_bool(ctx, "stream", false, &stream) ||
        raytrain_config_bool(ctx, "capture", false, &m.capture) ||
        raytrain_config_bool(ctx, "sharded", false, &m.sharded) ||
        raytrain_config_bool(ctx, "same", false, &m.same) ||
        raytrain_config_bool(ctx, "back", false, &m.back) ||
        raytrain_config_string(ctx, "types", "float32", &types) ||
        raytrain_config_string(ctx, "layout", "block", &m.layout) ||
        raytrain_config_string(ctx, "fail", "", &how))
        return RAYTRAIN_EINVAL;
    m.devices = (int)devices;
    if (m.device)
        device_open(&m, stream);
    model_place(&m, types);
    rc = train(&m, iterations, bucket_bytes, how);
    if (rc == 0 || rc == RAYTRAIN_EFAILED)
        model_destroy(&m);
    return rc;
}
