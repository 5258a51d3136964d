/*
 * saved_state.c - the state of the session in a checkpoint, from which a training
 * continues. The state has parts, each with a section here: the random streams of all
 * ranks, and the positions of the datasets. The table of parts is at the end. Fitted
 * preprocessors are not tensors, and are added by preprocessing.c; decisions about data
 * are added by data_decisions.c; iteration and time are in the checkpoint's
 * description. Names and shapes: raytrain-format(5).
 *
 * To add a part: write a function that saves it and one that restores it, add a row
 * with both to the table, and describe its names in raytrain-format(5). Checkpoints of
 * older versions do not have it.
 */
#include "config.h"
#include "session/data_decisions.h"
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/checkpoints.h"
#include "session/preprocessing.h"

#define STATE              CHECKPOINT_RESERVED "/session"
#define STATE_RANK_DRAWN   STATE "/random/rank"
#define STATE_SHARED_DRAWN STATE "/random/shared"
#define STATE_DATASETS     STATE "/datasets/"
#define STATE_REPORTED     STATE "/reported"

/* More ranks than any machine has: a larger number in a file is an error. */
#define RANKS_MAX (1u << 22)

/* 1: read; 0: the checkpoint has no such entry; -1: error. *n numbers, malloc'ed. */
static int numbers_read(raytrain_checkpoint *ck, const char *name, uint64_t **numbers,
                        size_t *n, struct error *err)
{
    raytrain_tensor tensor;
    struct error missing;

    if (checkpoint_info(ck, name, &tensor, &missing) < 0) {
        if (missing.code == RAYTRAIN_ENOTFOUND)
            return 0;
        return error_set(err, missing.code, "%s", missing.text);
    }
    if (tensor.dtype != RAYTRAIN_UINT64 || tensor.ndim != 1 || tensor.shape[0] == 0 ||
        tensor.shape[0] > RANKS_MAX)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s: %s does not hold what raytrain writes there",
                         checkpoint_path(ck), name);
    *n = (size_t)tensor.shape[0];
    *numbers = calloc(*n, sizeof **numbers);
    if (!*numbers)
        return error_no_memory(err);
    tensor.data = *numbers;
    if (checkpoint_get(ck, name, &tensor, NULL, err) < 0) {
        free(*numbers);
        *numbers = NULL;
        return -1;
    }
    return 1;
}

/* ---- Random streams ---- */

static int drawn_save(raytrain_context *ctx, raytrain_checkpoint *ck, const char *name,
                      uint64_t *drawn, struct error *err)
{
    raytrain_tensor all = {.data = drawn,
                           .dtype = RAYTRAIN_UINT64,
                           .ndim = 1,
                           .shape = {ctx->random.n_ranks}};

    return checkpoint_put(ck, name, &all, NULL, err);
}

/* COLLECTIVE: every rank gets the numbers of all, so that any rank may write them. */
static int random_save(raytrain_context *ctx, struct comm *comm,
                       raytrain_checkpoint *ck, struct error *err)
{
    struct session_random *r = &ctx->random;
    const struct random_drawn mine = {r->rank.drawn, r->shared.drawn};

    if (comm->ops->allgather(comm, &mine, sizeof mine, r->drawn, err) < 0)
        return -1;
    for (int i = 0; i < comm->size; i++) {
        r->rank_drawn[i] = r->drawn[i].rank;
        r->shared_drawn[i] = r->drawn[i].shared;
    }
    if (drawn_save(ctx, ck, STATE_RANK_DRAWN, r->rank_drawn, err) < 0)
        return -1;
    return drawn_save(ctx, ck, STATE_SHARED_DRAWN, r->shared_drawn, err);
}

/* The numbers of all ranks that the run ever had: at least as many as there are now. */
static int drawn_restore(raytrain_context *ctx, raytrain_checkpoint *ck,
                         const char *name, uint64_t **drawn, size_t *n_ranks,
                         struct error *err)
{
    size_t size = (size_t)ctx->env.world->size, n = 0, room;
    uint64_t *read = NULL, *grown;
    int rc = numbers_read(ck, name, &read, &n, err);

    if (rc <= 0)
        return rc;
    room = n > size ? n : size;
    grown = calloc(room, sizeof *grown);
    if (!grown) {
        free(read);
        return error_no_memory(err);
    }
    memcpy(grown, read, n * sizeof *grown);
    free(read);
    free(*drawn);
    *drawn = grown;
    *n_ranks = room;
    return 1;
}

/* The shared stream of a new rank continues where rank 0's does. */
static int random_restore(raytrain_context *ctx, raytrain_checkpoint *ck,
                          struct error *err)
{
    struct session_random *r = &ctx->random;
    size_t rank = (size_t)ctx->env.world->rank, n_shared = r->n_ranks;
    size_t saved_by = (size_t)checkpoint_meta(ck)->world_size;
    int got =
        drawn_restore(ctx, ck, STATE_RANK_DRAWN, &r->rank_drawn, &r->n_ranks, err);

    if (got <= 0)
        return got;
    got = drawn_restore(ctx, ck, STATE_SHARED_DRAWN, &r->shared_drawn, &n_shared, err);
    if (got < 0)
        return -1;
    if (got == 0 || n_shared != r->n_ranks)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s: the states of the random streams are inconsistent",
                         checkpoint_path(ck));
    r->rank.drawn = r->rank_drawn[rank];
    r->shared.drawn = r->shared_drawn[rank < saved_by ? rank : 0];
    return 0;
}

/* ---- Datasets ---- */

/* The saved numbers of a position: epoch, position, rows, block, window. */
#define POSITION_NUMBERS                                                               \
    (sizeof((struct session_dataset *)NULL)->saved / sizeof(uint64_t))

/* A dataset that this attempt has not opened keeps its position. */
static void position_take(struct session_dataset *ds)
{
    if (ds->shard) {
        dataset_state_get(ds->shard, &ds->state);
        ds->has_state = true;
    }
    ds->saved[0] = ds->state.epoch;
    ds->saved[1] = ds->state.position;
    ds->saved[2] = ds->state.rows;
    ds->saved[3] = ds->state.kind.block;
    ds->saved[4] = ds->state.kind.window;
}

/*
 * COLLECTIVE. The farthest position of all ranks, since only some ranks may read a
 * dataset: first the latest epoch that any has reached, then the farthest position in
 * it. `scratch` has room for the numbers of all datasets.
 */
static int positions_agree(raytrain_context *ctx, struct comm *comm, int64_t *scratch,
                           struct error *err)
{
    size_t n = ctx->env.config->n_datasets, rest = POSITION_NUMBERS - 1;

    for (size_t i = 0; i < n; i++) {
        struct session_dataset *ds = &ctx->datasets[i];

        position_take(ds);
        scratch[i] = ds->has_state ? (int64_t)ds->saved[0] : -1;
    }
    if (comm->ops->allreduce(comm, scratch, n, COMM_INT64, COMM_MAX, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct session_dataset *ds = &ctx->datasets[i];
        bool there = ds->has_state && (int64_t)ds->saved[0] == scratch[i];

        for (size_t k = 0; k < rest; k++)
            scratch[n + i * rest + k] = there ? (int64_t)ds->saved[k + 1] : 0;
    }
    if (comm->ops->allreduce(comm, scratch + n, n * rest, COMM_INT64, COMM_MAX, err) <
        0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        ctx->datasets[i].saved[0] = (uint64_t)scratch[i];
        for (size_t k = 0; k < rest; k++)
            ctx->datasets[i].saved[k + 1] = (uint64_t)scratch[n + i * rest + k];
    }
    return 0;
}

static int dataset_put(raytrain_context *ctx, size_t i, raytrain_checkpoint *ck,
                       struct error *err)
{
    raytrain_tensor tensor = {.data = ctx->datasets[i].saved,
                              .dtype = RAYTRAIN_UINT64,
                              .ndim = 1,
                              .shape = {POSITION_NUMBERS}};
    char *name;
    int rc;

    if (asprintf(&name, STATE_DATASETS "%s", ctx->env.config->datasets[i].name) < 0)
        return error_no_memory(err);
    rc = checkpoint_put(ck, name, &tensor, NULL, err);
    free(name);
    return rc;
}

static int datasets_save(raytrain_context *ctx, struct comm *comm,
                         raytrain_checkpoint *ck, struct error *err)
{
    size_t n = ctx->env.config->n_datasets;
    int64_t *scratch;
    int rc;

    if (n == 0)
        return 0;
    if (!(scratch = calloc(n * POSITION_NUMBERS, sizeof *scratch)))
        return error_no_memory(err);
    rc = positions_agree(ctx, comm, scratch, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (scratch[i] >= 0)
            rc = dataset_put(ctx, i, ck, err);
    free(scratch);
    return rc;
}

static int dataset_restore(raytrain_context *ctx, size_t i, raytrain_checkpoint *ck,
                           struct error *err)
{
    struct session_dataset *ds = &ctx->datasets[i];
    uint64_t *numbers = NULL;
    size_t n = 0;
    char *name;
    int got;

    if (asprintf(&name, STATE_DATASETS "%s", ctx->env.config->datasets[i].name) < 0)
        return error_no_memory(err);
    got = numbers_read(ck, name, &numbers, &n, err);
    if (got == 1 && n != 2 && n != 5)
        got = error_set(err, RAYTRAIN_ECORRUPT, "%s: %s does not hold a position",
                        checkpoint_path(ck), name);
    if (got == 1) {
        ds->state = (struct dataset_state){.epoch = numbers[0], .position = numbers[1]};
        if (n == 5) {
            ds->state.rows = numbers[2];
            ds->state.kind = (struct order_kind){numbers[3], numbers[4]};
        }
        ds->has_state = true;
    }
    free(numbers);
    free(name);
    return got < 0 ? -1 : 0;
}

static int datasets_restore(raytrain_context *ctx, raytrain_checkpoint *ck,
                            struct error *err)
{
    for (size_t i = 0; i < ctx->env.config->n_datasets; i++) {
        if (dataset_restore(ctx, i, ck, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- What rank 0 has reported ---- */

/* Padded with spaces to a multiple of this, so that the next checkpoint can mostly use
 * the same layout. */
#define REPORTED_UNIT 256

static char *reported_pad(const char *text, uint64_t *n)
{
    size_t length = strlen(text);
    char *padded;

    *n = (length / REPORTED_UNIT + 1) * REPORTED_UNIT;
    padded = malloc(*n);
    if (!padded)
        return NULL;
    memset(padded, ' ', *n);
    memcpy(padded, text, length);
    padded[*n - 1] = '\0';
    return padded;
}

int session_reported_save(struct comm *comm, raytrain_checkpoint *ck,
                          const char *reported, struct error *err)
{
    uint64_t n = 0;
    char *padded = comm->rank == 0 ? reported_pad(reported, &n) : NULL;
    int rc = comm->rank > 0 || padded ? 0 : error_no_memory(err);

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &n, sizeof n, 0, err);
    if (rc == 0)
        rc = comm_bcast_alloc(comm, (void **)&padded, n, 0, err);
    if (rc == 0)
        rc = checkpoint_put_string(ck, STATE_REPORTED, padded, err);
    free(padded);
    return rc;
}

int session_reported_get(raytrain_checkpoint *ck, char **reported, struct error *err)
{
    struct error why;
    size_t n;

    *reported = NULL;
    if (checkpoint_get_string(ck, STATE_REPORTED, reported, &why) < 0)
        return why.code == RAYTRAIN_ENOTFOUND
                   ? 0
                   : error_set(err, why.code, "%s", why.text);
    for (n = strlen(*reported); n > 0 && (*reported)[n - 1] == ' '; n--)
        (*reported)[n - 1] = '\0';
    return 0;
}

/* ---- The parts ---- */

static const struct state_part {
    const char *name; /* its entries are below STATE "/" name */
    /* COLLECTIVE over comm: put the part into ck. */
    int (*save)(raytrain_context *ctx, struct comm *comm, raytrain_checkpoint *ck,
                struct error *err);
    /* Restore it from ck, on this rank only. A checkpoint of an older version may not
     * have the part, which then stays as in a new run. */
    int (*restore)(raytrain_context *ctx, raytrain_checkpoint *ck, struct error *err);
} parts[] = {
    {"random", random_save, random_restore},
    {"datasets", datasets_save, datasets_restore},
};

#define N_PARTS (sizeof parts / sizeof parts[0])

int session_state_save(raytrain_context *ctx, struct comm *comm,
                       raytrain_checkpoint *ck, struct error *err)
{
    for (size_t i = 0; i < N_PARTS; i++) {
        if (parts[i].save(ctx, comm, ck, err) < 0)
            return error_prefix(err, "saving the state of the session (%s)",
                                parts[i].name);
    }
    preprocessing_save(ctx, ck);
    return data_decisions_save(&ctx->decisions, ck, err);
}

/* Note what the score in a checkpoint of this run is, for a warning
 * (setting_notes.h). */
static void kind_restore(raytrain_context *ctx, raytrain_checkpoint *ck)
{
    const char *score =
        ctx->env.config->run_config.checkpoint_config.checkpoint_score_attribute;
    const struct checkpoint_meta *meta = checkpoint_meta(ck);
    char *reported = NULL;
    bool has = false;

    for (size_t i = 0; score && i < meta->n_metrics; i++)
        has = has || strcmp(meta->metrics[i].name, score) == 0;
    if (!has || session_reported_get(ck, &reported, NULL) < 0)
        return;
    ctx->restored_workers = meta->world_size;
    ctx->restored_of_rank0 = reported != NULL;
    free(reported);
}

int session_state_restore(raytrain_context *ctx, raytrain_checkpoint *ck,
                          struct error *err)
{
    for (size_t i = 0; i < N_PARTS; i++) {
        if (parts[i].restore(ctx, ck, err) < 0)
            return -1;
    }
    if (ctx->restored_own && ctx->comm->rank == 0)
        kind_restore(ctx, ck);
    return 0;
}
