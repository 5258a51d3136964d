/*
 * device_model.c - a training function for tests whose model is in memory of a CUDA GPU,
 * that of the stand-in (t/device), or of the host: the numbers are the same. An iteration
 * moves a vector by random numbers, which are the same on any number of workers. Each rank
 * has a copy of the vector, and its rows of another one, which has the same numbers.
 *
 * Work on a GPU is queued on the default stream, and never waited for before a report.
 *
 * train_loop_config:
 *   iterations (5), size (1000)
 *   device (true): the model is on GPU local_rank % devices (2); false: on the host
 *   mixed (false): that of odd ranks is on the host
 *   hip (false): GPUs are those of AMD; the stand-in for its library has the functions of
 *     the other one, too
 *   collect (false): the vector is moved by the mean of random numbers of the ranks' own, and
 *          begins with the one of the last rank; its first numbers are moved by those of each
 *          rank, too. The rows are not like it then
 *   give (false): the checkpoint gets copies of the vectors, by raytrain_checkpoint_give()
 *   scribble (false): given memory is written to as soon as it is given back
 *   overlap = "none" (the default) | "fence": reports only start to copy, and each step begins
 *          with a fence | "unfenced": it does not, which is wrong
 *   early = FIFO: after the first checkpoint, make reports without one until its given memory
 *          is back, then open and close the FIFO
 *   ahead = FILE: the first checkpoint is filled before the first step, which begins when the
 *          stand-in has written to FILE (STANDIN_CUDA_CALLS) that another thread pins memory;
 *          with `capture` a graph is captured meanwhile
 *   dropped (false): that checkpoint is discarded, and the report has another one
 *   capture (false): a graph is captured on a stream that has no part in this, while each report
 *          is made and its checkpoint is written; it must not be spoiled
 *   reset (false): the GPU is reset after the last report, and the function returns
 *   late (false): what other threads wait for on a GPU runs after the next step
 *   fail_at (0): at this iteration, rank fail_rank (0; -1: each one) ...
 *   fail = "kill" | "host": puts host memory as a GPU's | "other": the wrong GPU's |
 *          "id": that of a GPU that is not there | "freed": freed memory | "late": memory
 *          that the last rank frees before the report | "mean": combines host memory as a
 *          GPU's | "read": reads the restored model into host memory as a GPU's |
 *          "fault": a kernel fails before the report | "unseen": one fails, which is waited for,
 *          but not looked at, and the report has no checkpoint | a value of STANDIN_CUDA_FAIL;
 *          with `collect` before it is: "inside": is killed when its GPU comes to the
 *          collectives, and writes the time to the file "died" | "break": its next collective
 *          breaks | "apart": combines fewer numbers
 *   fail_once = PATH: fail only if PATH can be created
 */
#include <fcntl.h>
#include <raytrain.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "standin_calls.h"
#include "standin_fail.h"

static int device_kind = RAYTRAIN_CUDA;

/* ---- The model ---- */

struct model {
    raytrain_context *ctx;
    bool device, scribble, late, overlap, fence, capture, reset;
    int id;
    void *context;
    uint64_t n, first, rows; /* this rank's rows */
    double *weight, *moving; /* on the GPU, or the host */
    double *delta;           /* host memory; on a GPU, pinned */
    double *moved;           /* delta on the GPU */
    int n_released;          /* of given memory */
    raytrain_checkpoint *ck; /* filled ahead; NULL: none is */
};

static double *numbers_new(const struct model *m, uint64_t n)
{
    uint64_t p;

    if (!m->device)
        return calloc(n + 1, sizeof(double));
    must(cuda.cuMemAlloc_v2(&p, (n + 1) * sizeof(double)));
    return (double *)(uintptr_t)p;
}

static void numbers_free(void *p, void *arg)
{
    const struct model *m = arg;

    if (m->device)
        must(cuda.cuMemFree_v2((uintptr_t)p));
    else
        free(p);
}

static void hold(const struct model *m, bool held)
{
    if (m->device && m->late)
        must(cuda.standin_hold(held));
}

/* Kernels. */

struct kernel {
    double *to;
    const double *by; /* NULL: zeros */
    uint64_t n;
    double keep;
};

static void kernel_step(const struct kernel *k)
{
    for (uint64_t i = 0; i < k->n; i++)
        k->to[i] = k->keep * k->to[i] + (k->by ? k->by[i] : 0);
}

static void kernel_run(void *arg)
{
    struct kernel *k = arg, inside = *k;

    inside.to = cuda.standin_inside((uintptr_t)k->to);
    if (k->by)
        inside.by = cuda.standin_inside((uintptr_t)k->by);
    if (k->keep == 0)
        memset(inside.to, 0, k->n * sizeof *k->to);
    kernel_step(&inside);
    free(k);
}

static void launch(const struct model *m, struct kernel k)
{
    struct kernel *copy = malloc(sizeof k);

    if (!m->device) {
        kernel_step(&k);
        free(copy);
        return;
    }
    *copy = k;
    must(cuda.standin_launch(NULL, kernel_run, copy));
}

static void settings_get(struct model *m)
{
    const char *overlap;

    if (raytrain_config_bool(m->ctx, "scribble", false, &m->scribble) ||
        raytrain_config_bool(m->ctx, "late", false, &m->late) ||
        raytrain_config_bool(m->ctx, "capture", false, &m->capture) ||
        raytrain_config_bool(m->ctx, "reset", false, &m->reset) ||
        raytrain_config_string(m->ctx, "overlap", "none", &overlap))
        abort();
    m->overlap = strcmp(overlap, "none") != 0;
    m->fence = strcmp(overlap, "fence") == 0;
}

static void model_create(struct model *m, raytrain_context *ctx, bool device,
                         int n_devices, uint64_t n)
{
    uint64_t rank = (uint64_t)raytrain_rank(ctx);
    uint64_t size = (uint64_t)raytrain_world_size(ctx);

    *m = (struct model){.ctx = ctx, .device = device, .n = n, .first = n * rank / size};
    settings_get(m);
    m->rows = n * (rank + 1) / size - m->first;
    m->id = device ? raytrain_local_rank(ctx) % n_devices : 0;
    if (device) {
        standin_open(device_kind == RAYTRAIN_HIP ? "libamdhip64.so.6" : "libcuda.so.1");
        must(cuda.cuInit(0));
        must(cuda.cuDevicePrimaryCtxRetain(&m->context, m->id));
        must(cuda.cuCtxSetCurrent(m->context));
        must(cuda.cuMemHostAlloc((void **)&m->delta, n * sizeof(double), 0));
    } else {
        m->delta = calloc(n, sizeof(double));
    }
    m->weight = numbers_new(m, n);
    m->moving = numbers_new(m, m->rows);
    m->moved = numbers_new(m, n);
    launch(m, (struct kernel){m->weight, NULL, n, 0});
    launch(m, (struct kernel){m->moving, NULL, m->rows, 0});
}

static void model_destroy(struct model *m)
{
    numbers_free(m->weight, m);
    numbers_free(m->moving, m);
    numbers_free(m->moved, m);
    if (!m->device) {
        free(m->delta);
        return;
    }
    must(cuda.cuMemFreeHost(m->delta));
    must(cuda.cuDevicePrimaryCtxRelease_v2(m->id));
}

static raytrain_tensor numbers_of(const struct model *m, double *data, uint64_t n)
{
    return (raytrain_tensor){.data = data,
                             .dtype = RAYTRAIN_FLOAT64,
                             .ndim = 1,
                             .shape = {n},
                             .device = m->device ? device_kind : RAYTRAIN_HOST,
                             .device_id = m->id};
}

/* The model of the last rank, of different ones. */
static int model_share(struct model *m)
{
    raytrain_tensor t = numbers_of(m, m->weight, m->n);

    for (int i = 0; i <= raytrain_rank(m->ctx); i++) {
        launch(m, (struct kernel){m->moved, m->weight, m->n, 0});
        launch(m, (struct kernel){m->weight, m->moved, m->n, 1.5});
    }
    return raytrain_broadcast_tensor(m->ctx, &t, raytrain_world_size(m->ctx) - 1);
}

/* ---- Failing ---- */

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

/* What fails before the collectives, or "". */
static const char *step_failure(const struct model *m)
{
    const char *how;

    if (raytrain_config_string(m->ctx, "fail", "", &how))
        abort();
    if (strcmp(how, "inside") != 0 && strcmp(how, "break") != 0 &&
        strcmp(how, "apart") != 0)
        return "";
    return is_failing(m, raytrain_training_iteration(m->ctx) + 1) ? how : "";
}

static void die_run(void *arg)
{
    FILE *f = fopen("died", "w");
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    fprintf(f, "%.3f\n", (double)now.tv_sec + (double)now.tv_nsec * 1e-9);
    fclose(f);
    kill(getpid(), SIGKILL);
    free(arg);
}

/* ---- Collectives ---- */

#define FEW 4 /* numbers that are gathered */

static int moves_collect(struct model *m)
{
    uint64_t size = (uint64_t)raytrain_world_size(m->ctx);
    double *all = numbers_new(m, size * FEW);
    raytrain_tensor move = numbers_of(m, m->moved, m->n);
    raytrain_tensor few = numbers_of(m, m->moved, FEW);
    raytrain_tensor gathered = numbers_of(m, all, size * FEW);
    const char *how = step_failure(m);
    int rc;

    if (strcmp(how, "inside") == 0)
        must(cuda.standin_launch(NULL, die_run, NULL));
    if (strcmp(how, "break") == 0)
        standin_fail("STANDIN_NCCL_BREAK", "1");
    if (strcmp(how, "apart") == 0)
        move.shape[0]--;
    rc = raytrain_allgather_tensor(m->ctx, &few, &gathered);

    for (uint64_t r = 0; rc == 0 && r < size; r++)
        launch(m, (struct kernel){m->weight, all + r * FEW, FEW, 1});
    if (rc == 0)
        rc = raytrain_allreduce_tensor(m->ctx, &move, RAYTRAIN_MEAN);
    numbers_free(all, m);
    return rc;
}

static int model_step(struct model *m, bool collect)
{
    raytrain_stream stream = collect ? RAYTRAIN_STREAM_RANK : RAYTRAIN_STREAM_SHARED;
    int rc = 0;

    if (m->device)
        must(cuda.cuStreamSynchronize(NULL)); /* delta is in use until then */
    for (uint64_t i = 0; i < m->n; i++)
        m->delta[i] = raytrain_random_normal(m->ctx, stream);
    if (m->device)
        must(cuda.cuMemcpyHtoDAsync_v2((uintptr_t)m->moved, m->delta,
                                       m->n * sizeof(double), NULL));
    else
        memcpy(m->moved, m->delta, m->n * sizeof(double));
    if (collect)
        rc = moves_collect(m);
    if (rc == 0 && m->fence)
        rc = raytrain_checkpoint_fence(m->ctx);
    launch(m, (struct kernel){m->weight, m->moved, m->n, 0.9});
    launch(m, (struct kernel){m->moving, m->moved + m->first, m->rows, 0.9});
    if (m->device && m->late)
        must(cuda.cuStreamSynchronize(NULL));
    hold(m, false);
    return rc;
}

/* ---- Checkpoints ---- */

static raytrain_tensor tensor_of(const struct model *m, double *data)
{
    return numbers_of(m, data, m->n);
}

static raytrain_slab rows_of(const struct model *m)
{
    return (raytrain_slab){{m->first}, {m->rows}};
}

static int model_restore(struct model *m)
{
    raytrain_checkpoint *from = raytrain_get_checkpoint(m->ctx);
    raytrain_tensor weight = tensor_of(m, m->weight), moving = tensor_of(m, m->moving);
    raytrain_slab rows = rows_of(m);
    int rc;

    if (!from)
        return 0;
    rc = raytrain_checkpoint_get(from, "model/weight", &weight);
    return rc ? rc : raytrain_checkpoint_get_shard(from, "model/rows", &moving, &rows);
}

/* A copy, which takes the kernel's way: 1 x 0 + the numbers. */
static double *copy_of(const struct model *m, const double *data, uint64_t n)
{
    double *copy = numbers_new(m, n);

    launch(m, (struct kernel){copy, NULL, n, 0});
    launch(m, (struct kernel){copy, data, n, 1});
    return copy;
}

/* The memory is used again at once. */
static void numbers_release(void *p, void *arg)
{
    struct model *m = arg;

    m->n_released++;
    if (m->scribble)
        launch(m, (struct kernel){p, NULL, 1, 0});
    if (m->scribble && m->device)
        must(cuda.cuStreamSynchronize(NULL));
    numbers_free(p, m);
}

static int model_give(struct model *m, raytrain_checkpoint *ck)
{
    raytrain_tensor weight = tensor_of(m, copy_of(m, m->weight, m->n));
    raytrain_tensor moving = tensor_of(m, copy_of(m, m->moving, m->rows));
    raytrain_slab rows = rows_of(m);
    int rc =
        raytrain_checkpoint_give(ck, "model/weight", &weight, NULL, numbers_release, m);

    return rc ? rc
              : raytrain_checkpoint_give(ck, "model/rows", &moving, &rows,
                                         numbers_release, m);
}

static int model_put(struct model *m, raytrain_checkpoint *ck)
{
    raytrain_tensor weight = tensor_of(m, m->weight), moving = tensor_of(m, m->moving);
    raytrain_slab rows = rows_of(m);
    int rc = raytrain_checkpoint_put(ck, "model/weight", &weight);

    return rc ? rc : raytrain_checkpoint_put_shard(ck, "model/rows", &moving, &rows);
}

/* ---- Failures ---- */

static double elsewhere[4]; /* on the host */

/* Put something that is wrong. The raytrain_status of that. */
static int wrong_put(struct model *m, raytrain_checkpoint *ck, const char *how)
{
    raytrain_tensor t = tensor_of(m, strcmp(how, "host") == 0 ? elsewhere : m->moved);
    double *lost;
    int rc;

    t.shape[0] = 4;
    t.device = device_kind;
    if (strcmp(how, "other") == 0)
        t.device_id = 1 - m->id;
    if (strcmp(how, "id") == 0)
        t.device_id = 5;
    if (strcmp(how, "read") == 0) {
        t.data = elsewhere;
        t.shape[0] = m->n;
        return raytrain_checkpoint_get(raytrain_get_checkpoint(m->ctx), "model/weight",
                                       &t);
    }
    if (strcmp(how, "mean") == 0) {
        t.data = elsewhere;
        return raytrain_allreduce_tensor(m->ctx, &t, RAYTRAIN_MEAN);
    }
    if (strcmp(how, "freed") != 0 &&
        (strcmp(how, "late") != 0 ||
         raytrain_rank(m->ctx) != raytrain_world_size(m->ctx) - 1))
        return raytrain_checkpoint_put(ck, "wrong", &t);
    t.data = lost = numbers_new(m, 4);
    if (strcmp(how, "freed") == 0)
        numbers_free(lost, m);
    rc = raytrain_checkpoint_put(ck, "wrong", &t);
    if (strcmp(how, "late") == 0)
        numbers_free(lost, m);
    return rc;
}

static int fail(struct model *m, raytrain_checkpoint *ck, int64_t iteration)
{
    const char *how;

    if (raytrain_config_string(m->ctx, "fail", "", &how))
        abort();
    if (strcmp(how, "inside") == 0 || strcmp(how, "break") == 0 ||
        strcmp(how, "apart") == 0 || !is_failing(m, iteration))
        return 0;
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "fault") == 0 || strcmp(how, "unseen") == 0) {
        must(cuda.standin_fault(NULL));
        return 0;
    }
    if (!strchr(how, ':'))
        return wrong_put(m, ck, how);
    standin_fail("STANDIN_CUDA_FAIL", how);
    return 0;
}

/* ---- Training ---- */

/* Is it a report without the checkpoint, after a kernel that has failed? */
static bool is_unseen(const struct model *m, int64_t iteration)
{
    const char *how;

    if (raytrain_config_string(m->ctx, "fail", "", &how))
        abort();
    if (strcmp(how, "unseen") != 0 || !is_failing(m, iteration))
        return false;
    return cuda.cuStreamSynchronize(NULL) != 0;
}

static int captured_report(const struct model *m, const raytrain_metric metrics[],
                           raytrain_checkpoint *ck)
{
    void *stream, *graph;
    int rc;

    must(cuda.cuStreamCreate(&stream, 1));
    must(cuda.cuStreamBeginCapture_v2(stream, 0));
    rc = raytrain_report(m->ctx, metrics, 1, ck);
    if (rc == 0)
        rc = raytrain_checkpoint_wait(m->ctx);
    must(cuda.cuStreamEndCapture(stream, &graph));
    must(cuda.cuStreamDestroy_v2(stream));
    return rc;
}

/* Has the stand-in written this line? */
static bool has_line(const char *path, const char *line)
{
    FILE *f = fopen(path, "r");
    char there[64];
    bool found = false;

    while (f && !found && fgets(there, sizeof there, f))
        found = strcmp(there, line) == 0;
    if (f)
        fclose(f);
    return found;
}

#define PIN_POLLS_MAX 12000

static int ahead_put(struct model *m)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    void *stream, *graph;
    const char *path;
    bool dropped;
    int rc;

    if (raytrain_config_string(m->ctx, "ahead", "", &path) ||
        raytrain_config_bool(m->ctx, "dropped", false, &dropped))
        abort();
    if (!*path)
        return 0;
    if (m->capture) {
        must(cuda.cuStreamCreate(&stream, 1));
        must(cuda.cuStreamBeginCapture_v2(stream, 0));
    }
    m->ck = raytrain_checkpoint_create(m->ctx);
    rc = model_put(m, m->ck);
    for (int i = 0; rc == 0 && !has_line(path, "pin other\n"); i++) {
        nanosleep(&nap, NULL);
        rc = i < PIN_POLLS_MAX ? 0 : RAYTRAIN_EFAILED;
    }
    if (m->capture) {
        must(cuda.cuStreamEndCapture(stream, &graph));
        must(cuda.cuStreamDestroy_v2(stream));
    }
    if (!dropped)
        return rc;
    raytrain_checkpoint_discard(m->ck);
    m->ck = NULL;
    return rc;
}

static int report(struct model *m, int64_t iteration, bool give)
{
    const raytrain_metric metrics[] = {{"loss", 1.0 / (double)iteration}};
    raytrain_checkpoint *ck = m->ck ? m->ck : raytrain_checkpoint_create(m->ctx);
    int rc = m->ck ? 0 : give ? model_give(m, ck) : model_put(m, ck);

    m->ck = NULL;
    if (rc == 0 && m->overlap)
        rc = raytrain_checkpoint_overlap(ck);
    if (rc == 0)
        rc = fail(m, ck, iteration);
    if (rc != 0) {
        raytrain_checkpoint_discard(ck);
        return rc;
    }
    if (is_unseen(m, iteration)) {
        raytrain_checkpoint_discard(ck);
        ck = NULL;
    }
    hold(m, true);
    return m->capture ? captured_report(m, metrics, ck)
                      : raytrain_report(m->ctx, metrics, 1, ck);
}

#define REPORTS_MAX  100000
#define REPORTS_LATE 3

static int early_await(struct model *m)
{
    const raytrain_metric metrics[] = {{"loss", 1}};
    const char *fifo;
    int fd, rc = raytrain_config_string(m->ctx, "early", "", &fifo);

    if (!*fifo)
        return rc;
    for (int i = 0; rc == 0 && m->n_released < 2; i++) {
        rc = i < REPORTS_MAX ? raytrain_report(m->ctx, metrics, 1, NULL)
                             : RAYTRAIN_EFAILED;
        if (i == REPORTS_LATE)
            hold(m, false);
        else if (i < REPORTS_LATE && m->late && m->n_released > 0)
            rc = RAYTRAIN_EFAILED; /* it has not been copied yet */
    }
    hold(m, false);
    fd = open(fifo, O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int train(struct model *m, int64_t iterations, bool collect, bool give)
{
    int rc = model_restore(m);

    if (rc == 0)
        rc = ahead_put(m);
    while (rc == 0 && raytrain_training_iteration(m->ctx) < iterations) {
        rc = model_step(m, collect);
        if (rc == 0 && collect && raytrain_training_iteration(m->ctx) == 0)
            rc = model_share(m);
        if (rc == 0)
            rc = report(m, raytrain_training_iteration(m->ctx) + 1, give);
        if (rc == 0 && raytrain_training_iteration(m->ctx) == 1)
            rc = early_await(m);
    }
    if (rc == 0 && m->reset)
        cuda.standin_reset(m->id);
    hold(m, false);
    if (rc == 0 && m->reset)
        return 0;
    if (rc == 0)
        rc = raytrain_checkpoint_wait(m->ctx);
    if (rc == 0 && is_failing(m, iterations + 1)) {
        m->reset = true; /* nothing can be given back to the GPU */
        rc = fail(m, NULL, iterations + 1);
        (void)is_unseen(m, iterations + 1);
    }
    return rc;
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    void *context = NULL;
    int64_t iterations, n, n_devices;
    struct model m;
    bool device, mixed, collect, give, hip;
    int rc;

    standin_fail_prepare();
    if (raytrain_config_int(ctx, "iterations", 5, &iterations) ||
        raytrain_config_int(ctx, "size", 1000, &n) ||
        raytrain_config_int(ctx, "devices", 2, &n_devices) ||
        raytrain_config_bool(ctx, "device", true, &device) ||
        raytrain_config_bool(ctx, "mixed", false, &mixed) ||
        raytrain_config_bool(ctx, "collect", false, &collect) ||
        raytrain_config_bool(ctx, "give", false, &give) ||
        raytrain_config_bool(ctx, "hip", false, &hip))
        return RAYTRAIN_EINVAL;
    device_kind = hip ? RAYTRAIN_HIP : RAYTRAIN_CUDA;
    device = device && (!mixed || raytrain_rank(ctx) % 2 == 0);
    model_create(&m, ctx, device, (int)n_devices, (uint64_t)n);
    rc = train(&m, iterations, collect, give);
    if (rc != 0 || m.reset)
        return rc;
    if (device)
        must(cuda.cuCtxGetCurrent(&context));
    if (context != m.context) /* it is as it was */
        abort();
    model_destroy(&m);
    return 0;
}
