/*
 * save.c - compare saving a checkpoint with the minimum that could be done instead, in
 * turns, in the same workers. Arguments: ROW BYTES TURNS.
 *
 *   save-replicated  a report in mode "sync" | one process writes the bytes, and fsync
 *   save-sharded     the same, with the bytes divided among the ranks
 *   stall            a report in mode "async" | each rank copies its share of the bytes
 *                    into warm memory
 *
 * Rank 0 prints "ROW OURS THEIRS" in milliseconds for each turn except for the first one,
 * which is for warming up.
 */
#include <fcntl.h>
#include <mpi.h>
#include <raytrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct bench {
    raytrain_context *ctx;
    const char *row;
    size_t bytes, share; /* share: of this rank */
    size_t held;         /* by this rank */
    char *data, *copy;
    int turns;
};

/* Nothing was written back before that would be in the way now. */
static int start_together(struct bench *b, double *start)
{
    if (raytrain_rank(b->ctx) == 0)
        sync();
    if (raytrain_barrier(b->ctx))
        return 1;
    *start = MPI_Wtime();
    return 0;
}

/* Milliseconds until all have come here. */
static int end_together(struct bench *b, double start, double *ms)
{
    int rc = raytrain_barrier(b->ctx);

    *ms = (MPI_Wtime() - start) * 1e3;
    return rc;
}

static int file_write(const struct bench *b)
{
    char path[4096];
    int fd, rc = 0;

    snprintf(path, sizeof path, "%s/plain", getenv("RAYTRAIN_RUN_DIR"));
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (size_t at = 0; rc == 0 && at < b->bytes;) {
        size_t n = b->bytes - at < 8 << 20 ? b->bytes - at : 8 << 20;
        /* A rank that holds less writes that several times. */
        ssize_t k = write(fd, b->data + at % b->held, n);

        rc = k <= 0;
        at += (size_t)k;
    }
    return rc || fsync(fd) || close(fd);
}

static void file_remove(void)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/plain", getenv("RAYTRAIN_RUN_DIR"));
    unlink(path);
}

static int theirs(struct bench *b, double *ms)
{
    double start;
    int rc = start_together(b, &start);

    if (strcmp(b->row, "stall") == 0)
        memcpy(b->copy, b->data, b->share);
    else if (rc == 0 && raytrain_rank(b->ctx) == 0)
        rc = file_write(b);
    rc = end_together(b, start, ms) || rc;
    if (raytrain_rank(b->ctx) == 0)
        file_remove();
    return rc;
}

static int put(struct bench *b, raytrain_checkpoint *ck)
{
    uint64_t rank = (uint64_t)raytrain_rank(b->ctx);
    raytrain_tensor tensor = {
        .data = b->data, .dtype = RAYTRAIN_UINT8, .ndim = 1, .shape = {b->bytes}};
    raytrain_slab slab = {.start = {rank * b->share}, .count = {b->share}};

    if (strcmp(b->row, "save-sharded") == 0)
        return raytrain_checkpoint_put_shard(ck, "model", &tensor, &slab);
    return raytrain_checkpoint_put(ck, "model", &tensor);
}

/* Until the checkpoint is published, where it is in the background, and then without
 * it. */
static int checkpoint_remove(struct bench *b)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/checkpoint_%06lld.h5", getenv("RAYTRAIN_RUN_DIR"),
             (long long)raytrain_training_iteration(b->ctx));
    while (raytrain_rank(b->ctx) == 0 && access(path, F_OK) < 0)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    if (raytrain_rank(b->ctx) == 0)
        unlink(path);
    /* The directory is synced behind the name: let that be over. */
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    return raytrain_barrier(b->ctx);
}

static int ours(struct bench *b, double *ms)
{
    raytrain_checkpoint *ck = raytrain_checkpoint_create(b->ctx);
    double start;

    if (!ck || put(b, ck) || start_together(b, &start) ||
        raytrain_report(b->ctx, NULL, 0, ck) || end_together(b, start, ms))
        return 1;
    return checkpoint_remove(b);
}

int train_func(raytrain_context *ctx)
{
    struct bench b = {.ctx = ctx};
    char **argv;
    int rc = 0;

    if (raytrain_args(ctx, &argv) != 3)
        return 1;
    b.row = argv[0];
    b.bytes = strtoul(argv[1], NULL, 10);
    b.turns = atoi(argv[2]);
    b.share = b.bytes / (size_t)raytrain_world_size(ctx);
    b.held = strcmp(b.row, "save-sharded") == 0 ? b.share : b.bytes;
    b.data = malloc(b.held);
    b.copy = malloc(b.share);
    if (!b.data || !b.copy)
        return RAYTRAIN_ENOMEM;
    for (size_t i = 0; i < b.held; i++)
        b.data[i] = (char)(i * 2654435761u >> 24);
    memset(b.copy, 1, b.share);
    for (int turn = 0; turn <= b.turns && rc == 0; turn++) {
        double us = 0, them = 0;

        rc = theirs(&b, &them) || ours(&b, &us);
        if (rc == 0 && turn > 0 && raytrain_rank(ctx) == 0)
            printf("%s %.3f %.3f\n", b.row, us, them);
    }
    free(b.data);
    free(b.copy);
    return rc;
}
