/*
 * dataset.c - opens a dataset, and delivers its batches, reading ahead. dataset_table.c
 * finds its table, dataset_columns.c describes its columns, batch_source.c reads rows.
 */
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "data/dataset_impl.h"
#include "data/dataset_table.h"
#include "data/prefetch.h"
#include "table/row_order.h"
#include "table/table_share.h"

static bool state_equal(const struct dataset_state *a, const struct dataset_state *b)
{
    return a->epoch == b->epoch && a->position == b->position &&
           a->kind.block == b->kind.block && a->kind.window == b->kind.window;
}

static struct portion dataset_portion(const raytrain_dataset *ds, uint64_t position)
{
    return position_portion(ds->table.rows, position, ds->batch_rows, ds->rank,
                            ds->size);
}

static struct dataset_state epoch_begin(const raytrain_dataset *ds, uint64_t epoch)
{
    return (struct dataset_state){
        .epoch = epoch, .rows = ds->table.rows, .kind = ds->kind};
}

/* True if this epoch has no other batch. */
static bool epoch_over(const raytrain_dataset *ds, uint64_t position)
{
    uint64_t left = ds->table.rows - position;

    if (ds->last_batch == LAST_BATCH_DROP)
        return left / (uint64_t)ds->size < ds->batch_rows;
    return left == 0;
}

static struct batch_job job_at(const raytrain_dataset *ds,
                               const struct dataset_state *state)
{
    return (struct batch_job){.epoch = state->epoch,
                              .position = state->position,
                              .batch = ds->batch_rows,
                              .kind = state->kind,
                              .next_kind = epoch_begin(ds, state->epoch + 1).kind,
                              .pad = ds->last_batch == LAST_BATCH_PAD};
}

/* ---- Reading ahead ---- */

static void ahead_discard(raytrain_dataset *ds)
{
    if (ds->pending)
        prefetch_wait(ds->prefetch, NULL);
    ds->pending = false;
}

/* Start to read the batch at `state` into the one that is not current. */
static void ahead_start(raytrain_dataset *ds, const struct dataset_state *state)
{
    struct batch_job job = job_at(ds, state);

    ds->ahead = *state;
    ds->ahead_rows = ds->batch_rows;
    ds->pending = true;
    prefetch_start(ds->prefetch, &job, &ds->batches[!ds->current]);
}

/* Make the batch that is not current the one at the position: wait for it, or read it
 * now. */
static int ahead_obtain(raytrain_dataset *ds, struct error *err)
{
    if (ds->pending &&
        (!state_equal(&ds->ahead, &ds->at) || ds->ahead_rows != ds->batch_rows))
        ahead_discard(ds);
    if (!ds->pending)
        ahead_start(ds, &ds->at);
    ds->pending = false;
    return prefetch_wait(ds->prefetch, err);
}

/* Read ahead what comes after the position; at the end of this epoch, the first batch
 * of the next one. A failure is not reported here: the call that needs the batch fails
 * too. */
static void ahead_continue(raytrain_dataset *ds)
{
    struct dataset_state next = ds->at;

    if (epoch_over(ds, next.position))
        next = epoch_begin(ds, next.epoch + 1);
    if (!epoch_over(ds, next.position))
        ahead_start(ds, &next);
}

/* ---- A second place ---- */

static void place_clear(raytrain_dataset *ds)
{
    if (ds->has_place)
        ds->place.destroy(ds->place.arg);
    ds->has_place = false;
}

static int place_fill(void *arg, const struct frame *batch, struct error *err)
{
    const raytrain_dataset *ds = arg;

    return ds->place.fill(ds->place.arg, (int)(batch - ds->batches), batch, err);
}

int dataset_set_place(raytrain_dataset *ds, const struct batch_place *place,
                      struct error *err)
{
    if (!ds->prefetch)
        return error_set(err, RAYTRAIN_EINVAL,
                         "dataset \"%s\": its rows come from the service, and stay in "
                         "host memory",
                         ds->name);
    ahead_discard(ds); /* it is not there */
    ds->delivered = false;
    place_clear(ds);
    ds->has_place = place != NULL;
    if (place)
        ds->place = *place;
    prefetch_set_after(ds->prefetch, place ? place_fill : NULL, ds);
    return 0;
}

bool dataset_has_place(const raytrain_dataset *ds)
{
    return ds->has_place;
}

/* ---- The interface ---- */

/* Choose the preprocessors: all except encoders of labels that are missing, and those
 * that a client applies. */
static int transform_start(raytrain_dataset *ds, const struct chain *chain,
                           struct error *err)
{
    size_t end = chain->client_maps ? chain_python_at(chain, 0) : chain->n;
    bool *use = calloc(chain->n + 1, sizeof *use);
    int rc;

    if (!use)
        return error_no_memory(err);
    if (end < chain->n)
        ds->client_from = (int64_t)end;
    for (size_t i = 0; i < end; i++) {
        use[i] = preprocessor_is_for(&chain->list[i], &ds->columns);
        if (!use[i])
            ds->lacks_label = chain->list[i].config->columns[0];
    }
    rc = transform_create(chain, &ds->columns, use, &ds->transform, err);
    free(use);
    return rc < 0 ? error_prefix(err, "preprocessor") : 0;
}

static int dataset_start(raytrain_dataset *ds, const struct chain *chain,
                         struct error *err)
{
    if (batch_init(&ds->columns, &ds->table, err) < 0 ||
        (chain && transform_start(ds, chain, err) < 0))
        return -1;
    for (int i = 0; i < 2; i++)
        if (frame_keep_memory(&ds->batches[i], err) < 0)
            return -1;
    if (batch_source_create(&ds->table, ds->seed, ds->rank, ds->size,
                            ds->transform == NULL, &ds->source, err) < 0)
        return -1;
    return prefetch_create(ds->source, &ds->columns, ds->transform, &ds->prefetch, err);
}

static raytrain_dataset *dataset_create(const struct dataset_config *cfg,
                                        const struct dataset_env *env,
                                        struct error *err)
{
    raytrain_dataset *ds = calloc(1, sizeof *ds);

    if (ds)
        ds->name = strdup(cfg->name);
    if (!ds || !ds->name) {
        error_no_memory(err);
        free(ds);
        return NULL;
    }
    ds->rank = env->rank;
    ds->size = env->size;
    ds->seed = env->seed;
    ds->last_batch = (enum last_batch)cfg->last_batch;
    ds->client_from = -1;
    return ds;
}

int dataset_open(const struct dataset_config *cfg, const struct dataset_env *env,
                 raytrain_dataset **out, struct error *err)
{
    struct comm *node = env->node;
    raytrain_dataset *ds = dataset_create(cfg, env, err);
    struct table table = {0};
    int rc = dataset_table_find(cfg, env, ds ? 0 : -1, &table,
                                ds ? &ds->left_out : NULL, err);

    if (rc == 0) {
        ds->table = table;
        ds->kind = ds->configured = dataset_table_order(cfg, &table);
        ds->at = epoch_begin(ds, 0);
        rc = dataset_start(ds, env->chain, err);
        if (rc == 0)
            rc = dataset_table_finish(cfg, env, &ds->left_out, err);
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

/* ---- Rows that the caller brings ---- */

static int brought_start(raytrain_dataset *ds, const struct chain *chain,
                         struct error *err)
{
    if (frame_keep_memory(&ds->batches[0], err) < 0)
        return -1;
    return chain ? transform_start(ds, chain, err) : 0;
}

int dataset_open_brought(const char *name, struct frame *columns,
                         const struct chain *chain, raytrain_dataset **out,
                         struct error *err)
{
    const struct dataset_config cfg = {.name = (char *)name};
    const struct dataset_env env = {.rank = 0, .size = 1};
    raytrain_dataset *ds = dataset_create(&cfg, &env, err);

    if (!ds) {
        frame_clear(columns);
        return -1;
    }
    ds->columns = *columns;
    *columns = (struct frame)FRAME_INIT;
    if (brought_start(ds, chain, err) < 0) {
        dataset_close(ds);
        return error_prefix(err, "dataset \"%s\"", name);
    }
    *out = ds;
    return 0;
}

struct frame *dataset_bring(raytrain_dataset *ds, struct error *err)
{
    struct frame *batch = &ds->batches[ds->current];

    ds->delivered = false;
    return frame_restore(batch, &ds->columns, err) == 0 ? batch : NULL;
}

int dataset_brought(raytrain_dataset *ds, struct error *err)
{
    if (ds->transform &&
        transform_apply(ds->transform, &ds->batches[ds->current], err) < 0)
        return error_prefix(err, "dataset \"%s\"", ds->name);
    ds->delivered = true;
    return 0;
}

/* ---- What the dataset has ---- */

int dataset_compare(const raytrain_dataset *ds, struct comm *all, struct error *err)
{
    if (table_compare(&ds->table, all, err) < 0)
        return error_prefix(err, "dataset \"%s\"", ds->name);
    return 0;
}

void dataset_close(raytrain_dataset *ds)
{
    if (!ds)
        return;
    prefetch_destroy(ds->prefetch);
    place_clear(ds);
    batch_source_destroy(ds->source);
    transform_destroy(ds->transform);
    frame_clear(&ds->columns);
    frame_clear(&ds->batches[0]);
    frame_clear(&ds->batches[1]);
    table_clear(&ds->table);
    left_out_clear(&ds->left_out);
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

int dataset_workers(const raytrain_dataset *ds)
{
    return ds->size;
}

double dataset_waited_s(const raytrain_dataset *ds)
{
    return ds->prefetch ? prefetch_waited_s(ds->prefetch) : 0;
}

void dataset_state_get(const raytrain_dataset *ds, struct dataset_state *state)
{
    *state = ds->at;
}

/* A shuffled order belongs to a number of rows, and the position to that order. */
static int state_check(const raytrain_dataset *ds, const struct dataset_state *state,
                       struct error *err)
{
    uint64_t rows = ds->table.rows;

    if (state->position > rows)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "dataset \"%s\": the position to continue from is row %llu, but it "
            "has only %llu rows: it is not the one that was trained on",
            ds->name, (unsigned long long)state->position, (unsigned long long)rows);
    if (state->rows && state->position > 0 &&
        (!order_kind_possible(&state->kind, rows) ||
         (state->kind.block && state->rows != rows)))
        return error_set(
            err, RAYTRAIN_EINVAL,
            "dataset \"%s\": it has %llu rows, but %llu were being shuffled "
            "when the checkpoint was saved in mid-epoch: restore the files, and "
            "the options filter and limit; or start another run from the checkpoint",
            ds->name, (unsigned long long)rows, (unsigned long long)state->rows);
    return 0;
}

/* An epoch that has begun keeps its order; one that has not takes the configured
 * one. */
int dataset_state_set(raytrain_dataset *ds, const struct dataset_state *state,
                      struct error *err)
{
    if (state_check(ds, state, err) < 0)
        return -1;
    ds->at = epoch_begin(ds, state->epoch);
    ds->at.position = state->position;
    if (state->position > 0 && state->rows)
        ds->at.kind = state->kind;
    ds->delivered = false;
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

void dataset_set_mixed(raytrain_dataset *ds, uint64_t rows)
{
    bool shuffled = ds->configured.block > 0;

    ds->kind = rows > 0 && !shuffled ? dataset_table_windows(&ds->table, rows)
                                     : ds->configured;
    if (ds->at.position == 0)
        ds->at.kind = ds->kind;
}

/* With last_batch = "drop", epochs may have no batches, and would never deliver any. */
static int batch_size_check(const raytrain_dataset *ds, struct error *err)
{
    if (ds->batch_rows == 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "dataset \"%s\": set the batch size before asking for a batch",
                         ds->name);
    if (!epoch_over(ds, 0))
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "dataset \"%s\": its %llu rows are not a batch of %llu rows for "
                     "each of %d workers, and last_batch = \"drop\" leaves them out; "
                     "choose a smaller batch, or last_batch = \"keep\"",
                     ds->name, (unsigned long long)ds->table.rows,
                     (unsigned long long)ds->batch_rows, ds->size);
}

int dataset_next(raytrain_dataset *ds, uint64_t *rows, struct error *err)
{
    struct batch_job job;

    if (!ds->prefetch)
        return error_set(err, RAYTRAIN_EINVAL,
                         "dataset \"%s\": its rows come from the service, and only "
                         "raytrain_predictor_next() moves them",
                         ds->name);
    if (batch_size_check(ds, err) < 0)
        return -1;
    if (epoch_over(ds, ds->at.position)) {
        ds->at = epoch_begin(ds, ds->at.epoch + 1);
        ds->delivered = false;
        *rows = 0;
        return 1;
    }
    if (ahead_obtain(ds, err) < 0 ||
        (ds->has_place && ds->place.turn(ds->place.arg, !ds->current, err) < 0))
        return error_prefix(err, "dataset \"%s\"", ds->name);
    job = job_at(ds, &ds->at);
    ds->padding = batch_padding(&job, ds->table.rows, ds->rank, ds->size);
    ds->current = !ds->current;
    ds->delivered = true;
    ds->at.position = dataset_portion(ds, ds->at.position).end;
    *rows = ds->batches[ds->current].rows;
    ahead_continue(ds);
    return 0;
}

uint64_t dataset_padding(const raytrain_dataset *ds)
{
    return ds->delivered ? ds->padding : 0;
}

bool dataset_pads(const raytrain_dataset *ds)
{
    return ds->last_batch == LAST_BATCH_PAD;
}
