/*
 * train_model.c - a training function for tests: small, deterministic, and able to fail
 * in many ways. The model is a vector; an iteration adds the mean over all ranks of
 * random numbers from each rank's own stream, so that any error in restoring changes
 * its bits.
 *
 * train_loop_config:
 *   iterations (5), size (1000)
 *   checkpoint_every (1); 0: if raytrain_should_checkpoint() returns true
 *   iteration_ms (0): the minimum duration of an iteration
 *   fail = "return" | "exit" | "exit0" | "abort" | "segv" | "kill" | "nan" | "early" |
 *          "hang" | "loop" | "stop" | "memory" (256 MiB), at iteration fail_at (3), on
 *          rank fail_rank (0)
 *   fail_once = PATH: fail only if PATH can be created, and thus only once
 *   slabs (false): checkpoints also contain the model sharded by rows and by columns,
 *          and some small tensors; after a restore these must agree with the model
 *   loaders (0): the number of children to fork, which wait forever
 *   tell (false): each rank prints "rank R of N"
 *   total (0): what raytrain_set_total() is called with, if it is not 0
 *   ready = PATH: rank 0 creates PATH when iteration ready_at (2) has been reported
 *   gate = PATH: from then on, every iteration waits until PATH exists
 */
#include <fcntl.h>
#include <math.h>
#include <raytrain.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct settings {
    int64_t iterations, size, checkpoint_every, fail_at, fail_rank, ready_at,
        iteration_ms, loaders, total;
    const char *fail, *fail_once, *ready, *gate;
    bool tell, slabs;
};

static int settings_read(raytrain_context *ctx, struct settings *s)
{
    return raytrain_config_int(ctx, "iterations", 5, &s->iterations) ||
           raytrain_config_int(ctx, "size", 1000, &s->size) ||
           raytrain_config_int(ctx, "checkpoint_every", 1, &s->checkpoint_every) ||
           raytrain_config_int(ctx, "fail_at", 3, &s->fail_at) ||
           raytrain_config_int(ctx, "fail_rank", 0, &s->fail_rank) ||
           raytrain_config_int(ctx, "ready_at", 2, &s->ready_at) ||
           raytrain_config_int(ctx, "iteration_ms", 0, &s->iteration_ms) ||
           raytrain_config_int(ctx, "loaders", 0, &s->loaders) ||
           raytrain_config_int(ctx, "total", 0, &s->total) ||
           raytrain_config_string(ctx, "fail", "", &s->fail) ||
           raytrain_config_string(ctx, "fail_once", "", &s->fail_once) ||
           raytrain_config_string(ctx, "ready", "", &s->ready) ||
           raytrain_config_string(ctx, "gate", "", &s->gate) ||
           raytrain_config_bool(ctx, "slabs", false, &s->slabs) ||
           raytrain_config_bool(ctx, "tell", false, &s->tell);
}

/* 1: it was created; 0: it exists already. */
static int file_create(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return 0;
    close(fd);
    return 1;
}

/* Write to the memory, so that the kernel must provide it, and keep it. */
static void memory_take(void)
{
    for (int i = 0; i < 256; i++) {
        char *block = malloc(1 << 20);

        if (block)
            memset(block, i, 1 << 20);
    }
}

static void fail_hard(const char *how)
{
    if (strcmp(how, "memory") == 0)
        memory_take();
    if (strcmp(how, "exit") == 0)
        exit(7);
    if (strcmp(how, "exit0") == 0)
        exit(0);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "stop") == 0)
        raise(SIGSTOP);
    while (strcmp(how, "hang") == 0)
        pause();
    for (volatile int i = 0; strcmp(how, "loop") == 0; i = !i)
        ;
}

static int is_failing(raytrain_context *ctx, const struct settings *s,
                      int64_t iteration)
{
    if (!*s->fail || iteration != s->fail_at || raytrain_rank(ctx) != s->fail_rank)
        return 0;
    return !*s->fail_once || file_create(s->fail_once);
}

static void sleep_ms(int64_t ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&left, &left) < 0)
        ;
}

/* Signal to the test that iteration ready_at was reported, and wait for its gate. */
static int gate_wait(raytrain_context *ctx, const struct settings *s, int64_t iteration)
{
    int64_t open;

    if (raytrain_rank(ctx) == 0 && *s->ready && iteration == s->ready_at)
        file_create(s->ready);
    if (!*s->gate || iteration < s->ready_at)
        return 0;
    for (;;) {
        open = access(s->gate, F_OK) == 0;
        if (raytrain_allreduce(ctx, &open, 1, RAYTRAIN_INT64, RAYTRAIN_MAX))
            return 1;
        if (open)
            return 0;
        sleep_ms(5); /* other tests run at the same time */
    }
}

/* ---- The model as slabs ---- */

#define TABLE_ROWS 4 /* rows of the model as a table, which has columns */
#define SMALLS     3

/* This rank's share of n. */
static void part_of(raytrain_context *ctx, uint64_t n, uint64_t *start, uint64_t *count)
{
    uint64_t rank = (uint64_t)raytrain_rank(ctx);
    uint64_t size = (uint64_t)raytrain_world_size(ctx);

    *start = n * rank / size;
    *count = n * (rank + 1) / size - *start;
}

struct slabs {
    raytrain_tensor rows, columns; /* without data */
    raytrain_slab row, column;     /* of this rank */
    const double *weight;
};

static void slabs_init(struct slabs *s, raytrain_context *ctx, const double *weight,
                       uint64_t n)
{
    uint64_t wide = n / TABLE_ROWS;

    *s = (struct slabs){
        .rows = {.data = NULL, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {n}},
        .columns = {.data = NULL,
                    .dtype = RAYTRAIN_FLOAT64,
                    .ndim = 2,
                    .shape = {TABLE_ROWS, wide}},
        .column.count = {TABLE_ROWS},
        .weight = weight};
    part_of(ctx, n, &s->row.start[0], &s->row.count[0]);
    part_of(ctx, wide, &s->column.start[1], &s->column.count[1]);
}

/* Copy this rank's columns to dense memory. */
static void columns_copy(const struct slabs *s, double *to)
{
    uint64_t n = s->column.count[1];

    for (uint64_t i = 0; i < TABLE_ROWS; i++)
        memcpy(to + i * n, s->weight + i * s->columns.shape[1] + s->column.start[1],
               n * sizeof *to);
}

static int slabs_put(raytrain_context *ctx, raytrain_checkpoint *ck, double *weight,
                     uint64_t n, double *room)
{
    struct slabs s;

    slabs_init(&s, ctx, weight, n);
    columns_copy(&s, room);
    s.rows.data = weight + s.row.start[0];
    s.columns.data = room;
    return raytrain_checkpoint_put_shard(ck, "slabs/rows", &s.rows, &s.row) ||
           raytrain_checkpoint_put_shard(ck, "slabs/columns", &s.columns, &s.column);
}

/* The restored slabs agree with the model. */
static int slabs_check(raytrain_context *ctx, raytrain_checkpoint *ck,
                       const double *weight, uint64_t n, double *room)
{
    double *want = malloc(n * sizeof *want);
    struct slabs s;
    int rc = 1;

    slabs_init(&s, ctx, weight, n);
    s.rows.data = s.columns.data = room;
    if (want && !raytrain_checkpoint_get_shard(ck, "slabs/rows", &s.rows, &s.row) &&
        memcmp(room, weight + s.row.start[0], s.row.count[0] * sizeof *room) == 0 &&
        !raytrain_checkpoint_get_shard(ck, "slabs/columns", &s.columns, &s.column)) {
        columns_copy(&s, want);
        rc = memcmp(room, want, TABLE_ROWS * s.column.count[1] * sizeof *room) != 0;
    }
    free(want);
    return rc;
}

static int smalls_put(raytrain_checkpoint *ck, double *weight)
{
    raytrain_tensor small = {
        .data = weight, .dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {1}};
    char name[32];

    for (int i = 0; i < SMALLS; i++) {
        snprintf(name, sizeof name, "small/%d", i);
        if (raytrain_checkpoint_put(ck, name, &small))
            return 1;
    }
    return 0;
}

static int model_restore(raytrain_context *ctx, const struct settings *s,
                         raytrain_tensor *model, double *room)
{
    raytrain_checkpoint *from = raytrain_get_checkpoint(ctx);

    if (!from)
        return 0;
    if (raytrain_checkpoint_get(from, "model/weight", model))
        return 1;
    return s->slabs &&
           slabs_check(ctx, from, model->data, (uint64_t)s->size, room) != 0;
}

static double model_step(raytrain_context *ctx, double *weight, double *delta,
                         int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        delta[i] = raytrain_random_normal(ctx, RAYTRAIN_STREAM_RANK) +
                   raytrain_random_uniform(ctx, RAYTRAIN_STREAM_SHARED);
    if (raytrain_allreduce(ctx, delta, (size_t)n, RAYTRAIN_FLOAT64, RAYTRAIN_MEAN))
        return NAN;
    for (int64_t i = 0; i < n; i++) {
        weight[i] = 0.9 * weight[i] + delta[i];
        sum += weight[i];
    }
    return sum / (double)n;
}

static int is_saving(raytrain_context *ctx, const struct settings *s, int64_t iteration)
{
    if (s->checkpoint_every > 0)
        return iteration % s->checkpoint_every == 0;
    return raytrain_should_checkpoint(ctx) || iteration == s->iterations;
}

static int report(raytrain_context *ctx, const struct settings *s, int64_t iteration,
                  double loss, const raytrain_tensor *model, double *room)
{
    const raytrain_metric metrics[] = {{"loss", loss},
                                       {"accuracy", 1 - 1.0 / iteration}};
    raytrain_checkpoint *ck = NULL;

    if (is_saving(ctx, s, iteration)) {
        ck = raytrain_checkpoint_create(ctx);
        if (!ck || raytrain_checkpoint_put(ck, "model/weight", model) ||
            (s->slabs && (smalls_put(ck, model->data) ||
                          slabs_put(ctx, ck, model->data, (uint64_t)s->size, room)))) {
            raytrain_checkpoint_discard(ck);
            return 1;
        }
    }
    return raytrain_report(ctx, metrics, 2, ck);
}

static int train(raytrain_context *ctx, const struct settings *s,
                 raytrain_tensor *model, double *delta)
{
    if (model_restore(ctx, s, model, delta))
        return 1;
    while (raytrain_training_iteration(ctx) < s->iterations) {
        int64_t iteration = raytrain_training_iteration(ctx) + 1;
        double loss = model_step(ctx, model->data, delta, s->size);

        sleep_ms(s->iteration_ms);
        if (is_failing(ctx, s, iteration)) {
            if (strcmp(s->fail, "return") == 0)
                return 1;
            if (strcmp(s->fail, "early") == 0)
                return 0;
            if (strcmp(s->fail, "nan") == 0)
                loss = NAN;
            fail_hard(s->fail);
        }
        if (report(ctx, s, iteration, loss, model, delta))
            return 1;
        if (raytrain_should_stop(ctx))
            return 0;
        if (gate_wait(ctx, s, iteration))
            return 1;
    }
    return 0;
}

/* They do nothing, and ignore all signals that can be ignored. */
static void loaders_start(const struct settings *s)
{
    for (int64_t i = 0; i < s->loaders; i++)
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            for (;;)
                pause();
        }
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    struct settings s;
    raytrain_tensor model = {.dtype = RAYTRAIN_FLOAT64, .ndim = 1};
    double *delta;
    int rc = 1;

    if (settings_read(ctx, &s) || s.size < 1)
        return 1;
    loaders_start(&s);
    if (s.total && raytrain_set_total(ctx, s.total))
        return 1;
    if (s.tell) {
        printf("rank %d of %d\n", raytrain_rank(ctx), raytrain_world_size(ctx));
        fflush(stdout);
    }
    model.shape[0] = (uint64_t)s.size;
    model.data = calloc((size_t)s.size, sizeof(double));
    delta = malloc((size_t)s.size * sizeof(double));
    if (model.data && delta)
        rc = train(ctx, &s, &model, delta);
    free(delta);
    free(model.data);
    return rc;
}
