/*
 * dataset_requests.c - datasets for a command's process: batches are copied into memory
 * that the client maps, so that the reply with the next batch has no data.
 *
 *   dataset_open   open a view of this worker's shard of a dataset. "name": a dataset
 *                  of the configuration; or "config": the text "datasets = { ... };" of
 *                  raytrain.cfg, with a chain of preprocessors as the data of the
 *                  request (chain_pack.h), if there is one. In that case the view has
 *                  all rows, or with "rank" and "size" those of one of `size` readers.
 *                  "close": the ids of views to close. The reply has the columns, with
 *                  words as its data (frame_wire.h), and "warnings", texts for the user
 *   dataset_begin  begin a pass: an epoch, or the rest of one. "unpadded": without the
 *                  rows that fill up its last batch. "mixed": if the dataset is not
 *                  shuffled, the number of rows of each worker that are mixed at a time
 *   dataset_next   copy the next batch into a slot of the view. The reply has the
 *                  places of its arrays there, and "padding", the rows that fill it up
 *   dataset_peek   copy the first batch of this epoch, and keep the position
 *
 * The client chooses the slot, and never one that it still uses. In a pass with equal
 * shards all ranks get the same number of rows in each batch: ranks with one row more
 * at the end of an epoch leave it out.
 */
#include "command/batch_slot.h"
#include "command/client_maps.h"
#include "command/client_dataset.h"
#include "command/companion.h"
#include "command/frame_wire.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config/train_config.h"
#include "data/dataset.h"
#include "preprocess/chain_pack.h"
#include "rank/event.h"

#define VIEWS_MAX 4096

/* A dataset shard, with one position for all its views. */
struct shard {
    struct shard *next;
    raytrain_dataset *ds;
    bool owned;         /* the client has opened it: it is not in the configuration */
    struct chain chain; /* if owned: the preprocessors of its batches */
    bool begun;         /* a pass has begun */
    bool warned;        /* a warning was given about rows that are left out */
    int64_t pass;       /* the number of the latest pass */
    int views;
};

struct view {
    struct view *next;
    int64_t id;
    struct shard *shard;
    uint64_t batch_rows;
    bool drop_last, equal, unpadded;
    struct frame_place *places; /* of the columns in a slot */
    /* The size of a new slot; a batch whose rows have no fixed size may need more. */
    size_t slot_bytes;
    struct batch_slot slots[BATCH_SLOTS];
};

struct datasets {
    struct shard *shards;
    struct view *views;
    int64_t n_opened;
    int n_views;
};

static void slots_clear(struct view *v)
{
    for (int i = 0; i < BATCH_SLOTS; i++)
        batch_slot_clear(&v->slots[i]);
}

/* ---- Shards and views ---- */

static struct datasets *datasets_get(struct companion *c, struct error *err)
{
    if (!c->state[DATASET_FAMILY])
        c->state[DATASET_FAMILY] = calloc(1, sizeof(struct datasets));
    if (!c->state[DATASET_FAMILY])
        error_no_memory(err);
    return c->state[DATASET_FAMILY];
}

/* Only for an owned one. */
static void shard_free(struct datasets *all, struct shard *s)
{
    struct shard **at = &all->shards;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    dataset_close(s->ds);
    chain_clear(&s->chain);
    free(s);
}

static void shard_release(struct datasets *all, struct shard *s)
{
    if (--s->views == 0 && s->owned)
        shard_free(all, s);
}

static void view_free(struct datasets *all, struct view *v)
{
    slots_clear(v);
    free(v->places);
    shard_release(all, v->shard);
    free(v);
    all->n_views--;
}

static void view_close(struct datasets *all, int64_t id)
{
    for (struct view **at = &all->views; *at; at = &(*at)->next)
        if ((*at)->id == id) {
            struct view *v = *at;

            *at = v->next;
            view_free(all, v);
            return;
        }
}

/* The datasets of the configuration stay open, with their positions. */
static void datasets_close(struct companion *c)
{
    struct datasets *all = c->state[DATASET_FAMILY];

    if (!all)
        return;
    while (all->views)
        view_close(all, all->views->id);
    while (all->shards) {
        struct shard *s = all->shards;

        all->shards = s->next;
        free(s);
    }
    free(all);
    c->state[DATASET_FAMILY] = NULL;
}

static struct view *view_add(struct datasets *all, struct shard *s, struct error *err)
{
    struct view *v = calloc(1, sizeof *v);
    struct frame_place *places =
        calloc(dataset_schema(s->ds)->n_columns + 1, sizeof *places);

    if (!v || !places) {
        free(v);
        free(places);
        error_no_memory(err);
        return NULL;
    }
    v->next = all->views;
    v->id = ++all->n_opened;
    v->shard = s;
    v->places = places;
    all->views = v;
    all->n_views++;
    s->views++;
    return v;
}

static struct view *view_find(struct companion *c, const struct request *q,
                              struct error *err)
{
    struct datasets *all = datasets_get(c, err);
    int64_t id;

    if (!all || request_integer(q, "id", &id, err) < 0)
        return NULL;
    for (struct view *v = all->views; v; v = v->next)
        if (v->id == id)
            return v;
    error_set(err, RAYTRAIN_ENOTFOUND, "there is no open dataset number %lld",
              (long long)id);
    return NULL;
}

/* ---- dataset_open ---- */

static int dataset_config_parse(const char *text, struct train_config *cfg,
                                struct error *err)
{
    if (train_config_merge_text(cfg, text, "the dataset", err) < 0)
        return -1;
    if (cfg->n_datasets != 1 || !cfg->datasets[0].path)
        return error_set(err, RAYTRAIN_EINVAL, "a dataset needs a path");
    return client_dataset_name(&cfg->datasets[0], err);
}

/* "rank" and "size": by default this process is the only reader. */
static int reader_parse(const struct request *q, struct dataset_env *env,
                        struct error *err)
{
    int64_t rank = 0, size = 1;

    if (json_object_get(q->args, "size") &&
        (request_integer(q, "rank", &rank, err) < 0 ||
         request_integer(q, "size", &size, err) < 0))
        return -1;
    if (size < 1 || size > INT_MAX || rank < 0 || rank >= size)
        return error_set(err, RAYTRAIN_EINVAL, "there is no reader %lld of %lld",
                         (long long)rank, (long long)size);
    env->rank = (int)rank;
    env->size = (int)size;
    return 0;
}

/* Open a dataset of files for this process only. */
static int dataset_file_open(const char *text, const struct chain *chain,
                             const struct request *q, struct reply *reply,
                             raytrain_dataset **ds, struct error *err)
{
    struct dataset_env alone = {.chain = chain->n > 0 ? chain : NULL,
                                .warn = client_dataset_warn,
                                .warn_arg = reply};
    struct train_config cfg;
    int rc;

    if (reader_parse(q, &alone, err) < 0)
        return -1;
    train_config_init(&cfg);
    rc = dataset_config_parse(text, &cfg, err);
    if (rc == 0)
        rc = dataset_open(&cfg.datasets[0], &alone, ds, err);
    train_config_clear(&cfg);
    return rc;
}

static struct shard *shard_add(struct datasets *all, struct error *err)
{
    struct shard *s = calloc(1, sizeof *s);

    if (!s) {
        error_no_memory(err);
        return NULL;
    }
    s->next = all->shards;
    all->shards = s;
    return s;
}

/* Open a dataset of files, with the preprocessors in the request's data. */
static struct shard *file_shard(struct datasets *all, const char *config,
                                const struct request *q, struct reply *reply,
                                struct error *err)
{
    struct shard *s = shard_add(all, err);
    int rc = s ? 0 : -1;

    if (rc == 0)
        s->owned = true;
    if (rc == 0 && q->n_data > 0)
        rc = chain_unpack(&s->chain, q->data, q->n_data, err);
    if (rc == 0)
        s->chain.client_maps = true;
    if (rc == 0)
        rc = dataset_file_open(config, &s->chain, q, reply, &s->ds, err);
    if (s && rc < 0)
        shard_free(all, s);
    return rc == 0 ? s : NULL;
}

/* COLLECTIVE: this worker's shard of a dataset of the configuration. */
static struct shard *named_shard(struct companion *c, struct datasets *all,
                                 const char *name, struct error *err)
{
    raytrain_dataset *ds = raytrain_get_dataset_shard(c->ctx, name);
    struct shard *s = all->shards;

    if (!ds) {
        error_set(err, (raytrain_status)raytrain_last_status(c->ctx), "%s",
                  raytrain_last_error(c->ctx));
        return NULL;
    }
    while (s && s->ds != ds)
        s = s->next;
    if (!s && (s = shard_add(all, err)))
        s->ds = ds;
    return s;
}

/* COLLECTIVE if the request has a name. */
static struct shard *shard_open(struct companion *c, struct datasets *all,
                                const struct request *q, struct reply *reply,
                                struct error *err)
{
    const char *name = json_string_value(json_object_get(q->args, "name")),
               *config = json_string_value(json_object_get(q->args, "config"));

    if (name)
        return named_shard(c, all, name, err);
    if (config)
        return file_shard(all, config, q, reply, err);
    error_set(err, RAYTRAIN_EINVAL, "a dataset has a name or a configuration");
    return NULL;
}

static int columns_reply(const raytrain_dataset *ds, struct reply *reply,
                         struct error *err)
{
    struct wire_bytes words = {0};
    json_t *columns = NULL;
    int rc = frame_columns_json(dataset_schema(ds), &columns, &words, err);

    if (rc == 0)
        rc = reply_set(reply, "columns", columns, err);
    if (rc < 0) {
        free(words.data);
        return -1;
    }
    reply->data = words.data;
    reply->n_data = words.n;
    return 0;
}

static void views_close(struct datasets *all, const json_t *ids)
{
    for (size_t i = 0; i < json_array_size(ids); i++)
        view_close(all, json_integer_value(json_array_get(ids, i)));
}

static int handle_dataset_open(struct companion *c, const struct request *q,
                               struct reply *reply, struct error *err)
{
    struct datasets *all = datasets_get(c, err);
    struct shard *s;
    struct view *v;

    if (!all)
        return -1;
    views_close(all, json_object_get(q->args, "close"));
    if (all->n_views >= VIEWS_MAX)
        return error_set(err, RAYTRAIN_EINVAL, "more than %d datasets are open",
                         VIEWS_MAX);
    s = shard_open(c, all, q, reply, err);
    v = s ? view_add(all, s, err) : NULL;
    if (s && !v && s->owned)
        shard_free(all, s);
    if (!v)
        return -1;
    if (client_maps_reply(s->ds, q, reply, err) < 0 ||
        reply_set(reply, "id", json_integer(v->id), err) < 0 ||
        reply_set(reply, "rows", json_integer((json_int_t)dataset_rows(s->ds)), err) <
            0)
        return -1;
    return columns_reply(s->ds, reply, err);
}

/* ---- dataset_begin ---- */

/* Set the size of new slots. A batch never has more rows than the dataset, however
 * large batch_rows is. */
static int view_lay_out(struct view *v, uint64_t batch_rows, struct error *err)
{
    const raytrain_dataset *ds = v->shard->ds;
    uint64_t rows = dataset_rows(ds) < batch_rows ? dataset_rows(ds) : batch_rows;
    size_t bytes;

    slots_clear(v);
    if (frame_room(dataset_schema(ds), rows, &bytes, err) < 0)
        return error_prefix(err, "dataset \"%s\"", dataset_name(ds));
    v->slot_bytes = bytes > 0 ? bytes : 1;
    v->batch_rows = batch_rows;
    return 0;
}

/* After a restart, the first pass continues from the checkpoint. Any other pass is a
 * whole epoch, also if the previous one was not read to its end. */
static int position_begin(struct shard *s, struct error *err)
{
    struct dataset_state at;

    dataset_state_get(s->ds, &at);
    if (s->begun && at.position > 0) {
        at = (struct dataset_state){.epoch = at.epoch + 1};
        if (dataset_state_set(s->ds, &at, err) < 0)
            return -1;
    }
    s->begun = true;
    s->pass++;
    return 0;
}

static void dataset_mix(raytrain_dataset *ds, json_int_t rows_each)
{
    uint64_t rows = rows_each > 0 ? (uint64_t)rows_each : 0;

    if (rows > dataset_rows(ds))
        rows = dataset_rows(ds);
    dataset_set_mixed(ds, rows * (uint64_t)dataset_workers(ds));
}

static int handle_dataset_begin(struct companion *c, const struct request *q,
                                struct reply *reply, struct error *err)
{
    struct view *v = view_find(c, q, err);
    int64_t rows;

    if (!v || request_integer(q, "batch_size", &rows, err) < 0)
        return -1;
    if (rows < 1)
        return error_set(err, RAYTRAIN_EINVAL, "a batch has at least 1 row");
    dataset_mix(v->shard->ds, json_integer_value(json_object_get(q->args, "mixed")));
    if ((uint64_t)rows != v->batch_rows && view_lay_out(v, (uint64_t)rows, err) < 0)
        return -1;
    v->drop_last = request_flag(q, "drop_last");
    v->equal = request_flag(q, "equal");
    v->unpadded = request_flag(q, "unpadded");
    if (position_begin(v->shard, err) < 0 ||
        dataset_set_batch_size(v->shard->ds, (uint64_t)rows, err) < 0)
        return -1;
    return reply_set(reply, "pass", json_integer(v->shard->pass), err);
}

/* ---- dataset_next ---- */

/* Warn once in a run, and not about rows that are left out on request; a client that
 * reads files gives this warning itself. */
static void warn_left_out(struct companion *c, struct shard *s, uint64_t rows)
{
    if (rows == 0 || s->warned || s->owned || c->ctx->env.world->rank != 0)
        return;
    s->warned = true;
    event_add(c->ctx->env.log_dir, EVENT_WARNING,
              "dataset \"%s\": its %llu rows are not a multiple of the %d workers, so "
              "%llu of them are left out at the end of an epoch: all workers get equal "
              "numbers of rows",
              dataset_name(s->ds), (unsigned long long)dataset_rows(s->ds),
              dataset_workers(s->ds), (unsigned long long)rows);
}

/* The number of rows that the client gets of this worker's batch, which began at
 * `position`. */
static uint64_t rows_usable(struct companion *c, const struct view *v,
                            uint64_t position, uint64_t rows)
{
    uint64_t workers = (uint64_t)dataset_workers(v->shard->ds);
    uint64_t left = dataset_rows(v->shard->ds) - position;
    bool whole = left / workers >= v->batch_rows;

    if (v->unpadded)
        rows -= dataset_padding(v->shard->ds);
    if (whole || dataset_pads(v->shard->ds))
        return rows;
    if (v->drop_last)
        return 0;
    if (!v->equal)
        return rows;
    warn_left_out(c, v->shard, left % workers);
    return left / workers;
}

/* The next batch that has rows for this worker; *rows is 0 at the end of the epoch. */
static int batch_next(struct companion *c, const struct view *v, uint64_t *rows,
                      struct error *err)
{
    struct dataset_state before;
    int rc;

    do {
        dataset_state_get(v->shard->ds, &before);
        rc = dataset_next(v->shard->ds, rows, err);
        if (rc != 0) {
            *rows = 0;
            return rc < 0 ? -1 : 0;
        }
        *rows = rows_usable(c, v, before.position, *rows);
    } while (*rows == 0);
    return 0;
}

/* Copy the first `rows` rows of the current batch into the slot. */
static int view_batch_reply(struct view *v, struct batch_slot *slot, uint64_t rows,
                            struct reply *reply, struct error *err)
{
    const struct frame *batch = dataset_batch(v->shard->ds);
    size_t bytes;
    int is_new;

    if (frame_places(batch, rows, v->places, &bytes, err) < 0)
        return -1;
    is_new = batch_slot_ready(slot, bytes, v->slot_bytes, err);
    if (is_new < 0)
        return -1;
    if (is_new)
        reply->fds[reply->n_fds++] = slot->fd;
    frame_copy(batch, rows, v->places, slot->memory);
    return reply_set(reply, "places", frame_places_json(v->places, batch->n_columns),
                     err);
}

static int handle_dataset_next(struct companion *c, const struct request *q,
                               struct reply *reply, struct error *err)
{
    struct view *v = view_find(c, q, err);
    int64_t pass, number;
    uint64_t rows;

    if (!v || request_integer(q, "pass", &pass, err) < 0 ||
        request_integer(q, "slot", &number, err) < 0)
        return -1;
    if (number < 0 || number >= BATCH_SLOTS || v->batch_rows == 0)
        return error_set(err, RAYTRAIN_EINVAL, "there is no slot %lld",
                         (long long)number);
    if (pass != v->shard->pass)
        return error_set(err, RAYTRAIN_EINVAL,
                         "dataset \"%s\": another iteration over it has begun, and "
                         "there is one at a time",
                         dataset_name(v->shard->ds));
    if (batch_next(c, v, &rows, err) < 0)
        return -1;
    if (rows > 0 && view_batch_reply(v, &v->slots[number], rows, reply, err) < 0)
        return -1;
    if (!v->unpadded && dataset_padding(v->shard->ds) > 0 &&
        reply_set(reply, "padding",
                  json_integer((json_int_t)dataset_padding(v->shard->ds)), err) < 0)
        return -1;
    return reply_set(reply, "rows", json_integer((json_int_t)rows), err);
}

/* The client needs a batch to learn which columns its functions return. */
static int handle_dataset_peek(struct companion *c, const struct request *q,
                               struct reply *reply, struct error *err)
{
    struct view *v = view_find(c, q, err);
    struct dataset_state at;
    int64_t n, number;
    uint64_t got = 0;
    int rc;

    if (!v || request_integer(q, "batch_size", &n, err) < 0 ||
        request_integer(q, "slot", &number, err) < 0)
        return -1;
    if (number < 0 || number >= BATCH_SLOTS || n < 1)
        return error_set(err, RAYTRAIN_EINVAL, "there is no slot %lld, or no row",
                         (long long)number);
    if ((uint64_t)n != v->batch_rows && view_lay_out(v, (uint64_t)n, err) < 0)
        return -1;
    dataset_state_get(v->shard->ds, &at);
    rc = dataset_state_set(v->shard->ds, &(struct dataset_state){.epoch = at.epoch},
                           err);
    if (rc == 0)
        rc = dataset_set_batch_size(v->shard->ds, (uint64_t)n, err);
    if (rc == 0 && dataset_next(v->shard->ds, &got, err) < 0)
        rc = -1;
    if (rc == 0 && got > 0)
        rc = view_batch_reply(v, &v->slots[number], got, reply, err);
    if (dataset_state_set(v->shard->ds, &at, rc < 0 ? NULL : err) < 0 || rc < 0)
        return -1;
    return reply_set(reply, "rows", json_integer((json_int_t)got), err);
}

static const struct request_row dataset_request_rows[] = {
    {"dataset_open", handle_dataset_open},
    {"dataset_begin", handle_dataset_begin},
    {"dataset_next", handle_dataset_next},
    {"dataset_peek", handle_dataset_peek},
    {NULL, NULL},
};

const struct request_family dataset_requests = {
    .rows = dataset_request_rows,
    .close = datasets_close,
};
