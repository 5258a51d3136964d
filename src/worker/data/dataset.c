#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "data/prefetch.h"
#include "data/reader.h"
#include "data/row_order.h"
#include "data/table_share.h"

/*
 * Two batches: `current` is the training function's; meanwhile the next batch is read
 * into the other (`ahead` is its position; a job for any other position is discarded).
 * The position is after what was delivered, so what was read ahead never counts.
 */
struct raytrain_dataset {
    char *name;
    int rank, size;
    uint64_t seed;
    bool shuffle;
    struct table table;
    struct prefetch *prefetch;
    uint64_t batch_rows; /* 0: not set yet */
    struct dataset_state at;
    struct batch batches[2];
    int current;
    bool delivered; /* batches[current] may be looked at */
    bool pending;   /* a job was started and has not been waited for */
    struct dataset_state ahead;
    uint64_t ahead_rows; /* the batch size that it was started with */
};

static bool state_equal(const struct dataset_state *a, const struct dataset_state *b)
{
    return a->epoch == b->epoch && a->position == b->position;
}

static struct portion dataset_portion(const raytrain_dataset *ds, uint64_t position)
{
    return position_portion(ds->table.rows, position, ds->batch_rows, ds->rank,
                            ds->size);
}

/* ---- Reading ahead ---- */

static void ahead_discard(raytrain_dataset *ds)
{
    if (ds->pending)
        prefetch_wait(ds->prefetch, NULL);
    ds->pending = false;
}

/* Start to read the batch at `state` into the one that is not current. */
static int ahead_start(raytrain_dataset *ds, const struct dataset_state *state,
                       struct error *err)
{
    struct portion p = dataset_portion(ds, state->position);
    struct prefetch_job job = {
        .first = p.first, .count = p.count, .batch = &ds->batches[!ds->current]};

    if (batch_reserve(job.batch, &ds->table, p.count, err) < 0)
        return -1;
    if (ds->shuffle)
        shuffle_init(&job.order, ds->table.rows, ds->seed, state->epoch);
    else
        shuffle_init_identity(&job.order, ds->table.rows);
    ds->ahead = *state;
    ds->ahead_rows = ds->batch_rows;
    ds->pending = true;
    prefetch_start(ds->prefetch, &job);
    return 0;
}

/* Get the batch at the position into the one that is not current: wait for it, or read
 * it now. */
static int ahead_obtain(raytrain_dataset *ds, struct error *err)
{
    if (ds->pending &&
        (!state_equal(&ds->ahead, &ds->at) || ds->ahead_rows != ds->batch_rows))
        ahead_discard(ds);
    if (!ds->pending && ahead_start(ds, &ds->at, err) < 0)
        return -1;
    ds->pending = false;
    return prefetch_wait(ds->prefetch, err);
}

/* Read ahead what comes after the position; at the end of this epoch, the next epoch's
 * first batch. A failure is not reported here: the call that needs the batch meets it
 * again. */
static void ahead_continue(raytrain_dataset *ds)
{
    struct dataset_state next = ds->at;

    if (next.position == ds->table.rows)
        next = (struct dataset_state){.epoch = next.epoch + 1};
    ahead_start(ds, &next, NULL);
}

/* ---- The interface ---- */

static int dataset_start(raytrain_dataset *ds, struct error *err)
{
    for (int i = 0; i < 2; i++)
        if (batch_init(&ds->batches[i], &ds->table, err) < 0)
            return -1;
    return prefetch_create(&ds->table, &ds->prefetch, err);
}

static raytrain_dataset *dataset_create(const struct dataset_config *cfg,
                                        const struct dataset_env *env,
                                        struct error *err)
{
    raytrain_dataset *ds = calloc(1, sizeof *ds);

    if (ds)
        ds->name = strdup(cfg->name);
    if (!ds || !ds->name) {
        error_set(err, RAYTRAIN_ENOMEM, "out of memory");
        free(ds);
        return NULL;
    }
    ds->rank = env->rank;
    ds->size = env->size;
    ds->seed = env->seed;
    ds->shuffle = cfg->shuffle;
    return ds;
}

/* Failures before table_share() are passed to it: every rank of the node takes part. */
int dataset_open(const struct dataset_config *cfg, const struct dataset_env *env,
                 raytrain_dataset **out, struct error *err)
{
    struct comm *node = env->node;
    raytrain_dataset *ds = dataset_create(cfg, env, err);
    const struct reader_job job = {.config = cfg, .rank = 0, .size = 1};
    struct table table = {0};
    int rc = ds ? 0 : -1;

    if (rc == 0 && (!node || node->rank == 0))
        rc = reader_open(&job, &table, err);
    rc = table_share(&table, rc, node, err);
    if (rc == 0) {
        ds->table = table;
        rc = dataset_start(ds, err);
        if (node)
            rc = comm_agree(node, rc, err);
    }
    if (rc < 0) {
        dataset_close(ds);
        return error_prefix(err, "dataset \"%s\"", cfg->name);
    }
    *out = ds;
    return 0;
}

void dataset_close(raytrain_dataset *ds)
{
    if (!ds)
        return;
    prefetch_destroy(ds->prefetch);
    batch_clear(&ds->batches[0]);
    batch_clear(&ds->batches[1]);
    table_clear(&ds->table);
    free(ds->name);
    free(ds);
}

const char *dataset_name(const raytrain_dataset *ds)
{
    return ds->name;
}

uint64_t dataset_rows(const raytrain_dataset *ds)
{
    return ds->table.rows;
}

void dataset_state_get(const raytrain_dataset *ds, struct dataset_state *state)
{
    *state = ds->at;
}

int dataset_state_set(raytrain_dataset *ds, const struct dataset_state *state,
                      struct error *err)
{
    if (state->position > ds->table.rows)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "dataset \"%s\": the position to go on from is row %llu, but it "
            "has only %llu rows: it is not the one that was trained on",
            ds->name, (unsigned long long)state->position,
            (unsigned long long)ds->table.rows);
    ds->at = *state;
    ds->delivered = false;
    return 0;
}

static const struct column *column_find(const raytrain_dataset *ds, const char *name,
                                        struct error *err)
{
    const struct column *c = name ? table_column(&ds->table, name) : NULL;
    char names[512];

    if (!c) {
        table_names(&ds->table, names, sizeof names);
        error_set(err, name ? RAYTRAIN_ENOTFOUND : RAYTRAIN_EINVAL,
                  "dataset \"%s\": no column \"%s\"; the columns are: %s", ds->name,
                  name ? name : "(null)", names);
    }
    return c;
}

int dataset_column_info(raytrain_dataset *ds, const char *column, raytrain_tensor *row,
                        struct error *err)
{
    const struct column *c = column_find(ds, column, err);

    if (!c)
        return -1;
    *row = c->row;
    return 0;
}

int dataset_set_batch_size(raytrain_dataset *ds, uint64_t rows, struct error *err)
{
    if (rows == 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "dataset \"%s\": a batch has at least 1 row", ds->name);
    ds->batch_rows = rows;
    return 0;
}

int dataset_next(raytrain_dataset *ds, uint64_t *rows, struct error *err)
{
    if (ds->batch_rows == 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "dataset \"%s\": set the batch size before asking for a batch",
                         ds->name);
    if (ds->at.position == ds->table.rows) {
        ds->at = (struct dataset_state){.epoch = ds->at.epoch + 1};
        ds->delivered = false;
        *rows = 0;
        return 1;
    }
    if (ahead_obtain(ds, err) < 0)
        return error_prefix(err, "dataset \"%s\"", ds->name);
    ds->current = !ds->current;
    ds->delivered = true;
    ds->at.position = dataset_portion(ds, ds->at.position).end;
    *rows = ds->batches[ds->current].rows;
    ahead_continue(ds);
    return 0;
}

int dataset_column(raytrain_dataset *ds, const char *column, raytrain_tensor *tensor,
                   struct error *err)
{
    const struct column *c = column_find(ds, column, err);
    const struct batch *b = &ds->batches[ds->current];

    if (!c)
        return -1;
    if (!ds->delivered)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "dataset \"%s\": there is no current batch: ask for the next one "
            "first",
            ds->name);
    *tensor = (raytrain_tensor){.data = b->columns[c - ds->table.columns],
                                .dtype = c->row.dtype,
                                .ndim = c->row.ndim + 1};
    tensor->shape[0] = b->rows;
    memcpy(tensor->shape + 1, c->row.shape, (size_t)c->row.ndim * sizeof *c->row.shape);
    return 0;
}
