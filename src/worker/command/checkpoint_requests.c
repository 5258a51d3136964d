/*
 * checkpoint_requests.c - the requests by which a client reads checkpoints, and by
 * which the client of a helper saves one:
 *
 *   checkpoint_open {"path": PATH}    -> {"id", "path", "structure", "metadata", ...}
 *                   without a path: the one that this attempt starts from; "id" is null
 *                   if there is none. Not collective: this rank verifies all of it.
 *   loader_positions {}               -> {"positions": [TEXT, TEXT]}
 *                   in the checkpoint that this attempt starts from: those of rank 0
 *                   and of this rank
 *   checkpoint_names {"id"}           -> {"names": [[NAME, DTYPE, [SHAPE...]], ...]}
 *   checkpoint_read {"id", "items"}   -> {"items": [[OFFSET, BYTES, DTYPE, [SHAPE...]],
 *                   ...], "bytes"} and the descriptor of memory with all of them
 *   checkpoint_close {"id"}
 *   checkpoint_save {"path": PATH, "checkpoint": OFFER}   only to a helper: write the
 *                   client's checkpoint (checkpoint_offer.h) to a file, which may
 *                   replace an older one
 *
 * An item is a NAME, or [NAME, [START...], [COUNT...]]. A string has the type "string"
 * and no shape.
 */
#include "config.h"
#include "command/checkpoint_make.h"
#include "command/client_checkpoint.h"
#include "command/checkpoint_state.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/slab.h"
#include "comm/comm.h"
#include "run/checkpoint_manager.h"
#include "session/checkpoints.h"
#include "util/clock.h"
#include "util/report_number.h"

/* The id of the checkpoint of raytrain_get_checkpoint(). */
#define RESTORED_ID 0

/* ---- Open ---- */

/* *file, malloc'ed: path, or the best checkpoint in this directory. */
static int checkpoint_file_find(const char *path, char **file, struct error *err)
{
    char *latest = NULL;
    struct stat st;

    *file = NULL;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
        *file = strdup(path);
        return *file ? 0 : error_no_memory(err);
    }
    if (checkpoint_manager_best_of(path, file, &latest, err) < 0)
        return -1;
    free(latest);
    if (*file)
        return 0;
    return error_set(err, RAYTRAIN_ENOTFOUND,
                     "%s: there is no complete checkpoint in this directory", path);
}

static int checkpoint_file_open(const char *path, raytrain_checkpoint **ck,
                                struct error *err)
{
    struct comm *self = comm_self_create(err);
    int rc = self ? checkpoint_open_any(self, path, ck, err) : -1;

    comm_free(self);
    return rc;
}

static int opened_add(struct companion *c, const char *path,
                      struct open_checkpoint **out, struct error *err)
{
    struct checkpoint_state *state = checkpoint_state(c);
    struct open_checkpoint *o = calloc(1, sizeof *o);
    char *file = NULL;
    int rc = state && o ? 0 : error_no_memory(err);

    if (rc == 0)
        rc = checkpoint_file_find(path, &file, err);
    if (rc == 0)
        rc = checkpoint_file_open(file, &o->ck, err);
    free(file);
    if (rc < 0) {
        free(o);
        return -1;
    }
    o->id = ++state->ids;
    o->next = state->opened;
    state->opened = o;
    *out = o;
    return 0;
}

/* The checkpoint with the id in the request. */
static int opened_find(struct companion *c, const struct request *q,
                       raytrain_checkpoint **ck, struct error *err)
{
    struct checkpoint_state *state = checkpoint_state(c);
    int64_t id;

    if (request_integer(q, "id", &id, err) < 0)
        return -1;
    *ck = id == RESTORED_ID ? raytrain_get_checkpoint(c->ctx) : NULL;
    for (struct open_checkpoint *o = state ? state->opened : NULL; o; o = o->next)
        if (o->id == id)
            *ck = o->ck;
    if (*ck)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL, "checkpoint %" PRId64 " is not open", id);
}

/* ---- Its metadata ---- */

static json_t *metrics_json(const struct checkpoint_meta *meta)
{
    json_t *all = json_object();

    for (size_t i = 0; i < meta->n_metrics; i++) {
        double value = meta->metrics[i].value;

        json_object_set_new(all, meta->metrics[i].name,
                            isfinite(value) ? json_real(value)
                            : isnan(value)  ? json_string("nan")
                                            : json_string(value > 0 ? "inf" : "-inf"));
    }
    return all;
}

/* Set a text of Python, or null if the checkpoint has none. */
static int python_text_set(struct reply *reply, const char *key,
                           raytrain_checkpoint *ck, const char *name, struct error *err)
{
    char *text = NULL;
    size_t i;
    int rc;

    if (!checkpoint_item_find(ck, name, &i))
        return reply_set(reply, key, json_null(), err);
    if (checkpoint_get_string(ck, name, &text, err) < 0)
        return -1;
    rc = reply_set(reply, key, json_string(text), err);
    free(text);
    return rc;
}

/* Set what was reported, or null: then the metrics are means. */
static int reported_set(struct reply *reply, raytrain_checkpoint *ck, struct error *err)
{
    char *text;
    int rc;

    if (session_reported_get(ck, &text, err) < 0)
        return -1;
    rc =
        reply_set(reply, METRICS_REPORTED, text ? json_string(text) : json_null(), err);
    free(text);
    return rc;
}

static int opened_reply(struct reply *reply, int64_t id, raytrain_checkpoint *ck,
                        struct error *err)
{
    const struct checkpoint_meta *meta = checkpoint_meta(ck);

    if (reply_set(reply, "id", json_integer(id), err) < 0 ||
        reply_set(reply, "path", json_string(checkpoint_path(ck)), err) < 0 ||
        reply_set(reply, "verified", json_boolean(checkpoint_is_verified(ck)), err) <
            0 ||
        reply_set(reply, "iteration", json_integer(meta->training_iteration), err) <
            0 ||
        reply_set(reply, "timestamp", json_integer(meta->timestamp), err) < 0 ||
        reply_set(reply, "metrics", metrics_json(meta), err) < 0 ||
        reported_set(reply, ck, err) < 0 ||
        python_text_set(reply, "structure", ck, PYTHON_STRUCTURE, err) < 0 ||
        python_text_set(reply, "metadata", ck, PYTHON_METADATA, err) < 0)
        return -1;
    return 0;
}

static int handle_checkpoint_open(struct companion *c, const struct request *q,
                                  struct reply *reply, struct error *err)
{
    const char *path = json_string_value(json_object_get(q->args, "path"));
    raytrain_checkpoint *restored;
    struct open_checkpoint *o;

    if (path) {
        if (opened_add(c, path, &o, err) < 0)
            return -1;
        return opened_reply(reply, o->id, o->ck, err);
    }
    restored = raytrain_get_checkpoint(c->ctx);
    if (!restored)
        return reply_set(reply, "id", json_null(), err);
    return opened_reply(reply, RESTORED_ID, restored, err);
}

static int handle_loader_positions(struct companion *c, const struct request *q,
                                   struct reply *reply, struct error *err)
{
    raytrain_checkpoint *restored = raytrain_get_checkpoint(c->ctx);
    json_t *positions = json_pack("[s, s]", "", "");

    (void)q;
    if (restored) {
        json_decref(positions);
        positions = loader_positions_json(restored, c->ctx->env.world->rank, err);
        if (!positions)
            return -1;
    }
    return reply_set(reply, "positions", positions, err);
}

static int handle_checkpoint_close(struct companion *c, const struct request *q,
                                   struct reply *reply, struct error *err)
{
    struct checkpoint_state *state = checkpoint_state(c);
    struct open_checkpoint **at = state ? &state->opened : NULL;
    int64_t id;

    (void)reply;
    if (request_integer(q, "id", &id, err) < 0)
        return -1;
    while (at && *at && (*at)->id != id)
        at = &(*at)->next;
    if (at && *at)
        checkpoint_opened_close(at);
    return 0;
}

static json_t *sizes_json(int n, const uint64_t *sizes)
{
    json_t *all = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(all, json_integer((json_int_t)sizes[i]));
    return all;
}

static int handle_checkpoint_names(struct companion *c, const struct request *q,
                                   struct reply *reply, struct error *err)
{
    json_t *names = json_array();
    struct checkpoint_item item;
    raytrain_checkpoint *ck;

    if (opened_find(c, q, &ck, err) < 0) {
        json_decref(names);
        return -1;
    }
    for (size_t i = 0; checkpoint_item(ck, i, &item); i++)
        if (!item.is_internal)
            json_array_append_new(
                names,
                json_pack("[s, s, o]", item.name, item.type,
                          sizes_json(item.is_string ? 0 : item.ndim, item.shape)));
    return reply_set(reply, "names", names, err);
}

/* ---- Read ---- */

struct wanted_item {
    const char *name;
    raytrain_tensor tensor; /* the whole tensor, without data */
    raytrain_slab slab;
    char *string; /* the text of a string; NULL: a tensor */
    uint64_t bytes, offset;
};

struct reading {
    raytrain_checkpoint *ck;
    struct wanted_item *list;
    size_t n;
    uint64_t bytes; /* size of the memory */
    int fd;
    unsigned char *data;
};

static int sizes_parse_exactly(const json_t *json, int ndim, uint64_t *sizes)
{
    if (!json_is_array(json) || json_array_size(json) != (size_t)ndim)
        return -1;
    for (int d = 0; d < ndim; d++) {
        const json_t *size = json_array_get(json, (size_t)d);

        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return -1;
        sizes[d] = (uint64_t)json_integer_value(size);
    }
    return 0;
}

static int wanted_slab(struct wanted_item *w, const json_t *item, struct error *err)
{
    int ndim = w->tensor.ndim;

    slab_whole(ndim, w->tensor.shape, &w->slab);
    if (json_array_size(item) < 2)
        return 0;
    if (sizes_parse_exactly(json_array_get(item, 1), ndim, w->slab.start) < 0 ||
        sizes_parse_exactly(json_array_get(item, 2), ndim, w->slab.count) < 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "'%s' has %d dimensions: start and count need as many numbers",
                         w->name, ndim);
    if (slab_check(ndim, w->tensor.shape, &w->slab, err) < 0)
        return error_prefix(err, "'%s'", w->name);
    return 0;
}

static int wanted_parse(struct reading *r, struct wanted_item *w, const json_t *item,
                        struct error *err)
{
    struct checkpoint_item found;
    size_t i;

    w->name = json_string_value(json_is_array(item) ? json_array_get(item, 0) : item);
    if (!w->name)
        return error_set(err, RAYTRAIN_EINVAL, "an item has no name");
    if (checkpoint_item_find(r->ck, w->name, &i) && checkpoint_item(r->ck, i, &found) &&
        found.is_string) {
        if (checkpoint_get_string(r->ck, w->name, &w->string, err) < 0)
            return -1;
        w->bytes = strlen(w->string);
        return 0;
    }
    if (checkpoint_info(r->ck, w->name, &w->tensor, err) < 0 ||
        wanted_slab(w, item, err) < 0)
        return -1;
    return slab_tensor_bytes(w->tensor.ndim, w->slab.count,
                             raytrain_dtype_size(w->tensor.dtype), &w->bytes);
}

/* Find all items, and set their places in the memory. */
static int wanted_find(struct reading *r, const json_t *items, struct error *err)
{
    r->n = json_array_size(items);
    r->list = calloc(r->n + 1, sizeof *r->list);
    if (!r->list)
        return error_no_memory(err);
    for (size_t i = 0; i < r->n; i++) {
        struct wanted_item *w = &r->list[i];

        if (wanted_parse(r, w, json_array_get(items, i), err) < 0)
            return -1;
        w->offset =
            (r->bytes + OFFER_ALIGNMENT - 1) / OFFER_ALIGNMENT * OFFER_ALIGNMENT;
        if (w->bytes > INT64_MAX - w->offset - OFFER_ALIGNMENT)
            return error_set(err, RAYTRAIN_EINVAL,
                             "the sum of all sizes does not fit 63 bits");
        r->bytes = w->offset + w->bytes;
    }
    return 0;
}

static int wanted_read(const struct reading *r, const struct wanted_item *w,
                       struct error *err)
{
    raytrain_tensor tensor = w->tensor;

    if (w->bytes == 0)
        return 0;
    tensor.data = r->data + w->offset;
    if (!w->string)
        return checkpoint_get(r->ck, w->name, &tensor, &w->slab, err);
    memcpy(tensor.data, w->string, w->bytes);
    return 0;
}

static int reading_fill(struct reading *r, struct error *err)
{
    void *data;
    int rc = 0;

    if (r->bytes == 0)
        return 0;
    if (shared_memory_create("raytrain-read", r->bytes, 1, &r->fd, err) < 0)
        return -1;
    data = mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (data == MAP_FAILED)
        return error_no_memory(err);
    r->data = data;
    for (size_t i = 0; rc == 0 && i < r->n; i++)
        rc = wanted_read(r, &r->list[i], err);
    munmap(data, r->bytes);
    return rc;
}

static json_t *reading_json(const struct reading *r)
{
    json_t *all = json_array();

    for (size_t i = 0; i < r->n; i++) {
        const struct wanted_item *w = &r->list[i];

        json_array_append_new(
            all, json_pack("[I, I, s, o]", (json_int_t)w->offset, (json_int_t)w->bytes,
                           w->string ? "string" : raytrain_dtype_name(w->tensor.dtype),
                           sizes_json(w->tensor.ndim, w->slab.count)));
    }
    return all;
}

static void reading_clear(struct reading *r)
{
    for (size_t i = 0; r->list && i < r->n; i++)
        free(r->list[i].string);
    free(r->list);
}

static int handle_checkpoint_read(struct companion *c, const struct request *q,
                                  struct reply *reply, struct error *err)
{
    const json_t *items = json_object_get(q->args, "items");
    struct checkpoint_state *state = checkpoint_state(c);
    struct reading r = {.fd = -1};
    int rc = state ? opened_find(c, q, &r.ck, err) : error_no_memory(err);

    if (rc == 0 && !json_is_array(items))
        rc = error_set(err, RAYTRAIN_EINVAL, "the request has no list of items");
    if (rc == 0)
        rc = wanted_find(&r, items, err);
    if (rc == 0)
        rc = reading_fill(&r, err);
    if (rc == 0)
        rc = reply_set(reply, "bytes", json_integer((json_int_t)r.bytes), err);
    if (rc == 0)
        rc = reply_set(reply, "items", reading_json(&r), err);
    if (rc == 0 && r.fd >= 0) {
        checkpoint_sent_close(state);
        state->sent = reply->fds[0] = r.fd;
        reply->n_fds = 1;
    } else if (r.fd >= 0) {
        close(r.fd);
    }
    reading_clear(&r);
    return rc;
}

/* ---- Save ---- */

/* The file is like that of a report at iteration 0, without the name of a run. */
static int handle_checkpoint_save(struct companion *c, const struct request *q,
                                  struct reply *reply, struct error *err)
{
    const struct checkpoint_meta meta = {
        .run_name = "", .world_size = 1, .timestamp = clock_unix()};
    const json_t *offer = json_object_get(q->args, "checkpoint");
    struct comm *self;
    raytrain_checkpoint *ck;
    const char *path;
    int rc;

    (void)reply;
    if (!c->without_run)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "a worker saves checkpoints only by report()");
    if (request_string(q, "path", &path, err) < 0)
        return -1;
    if (companion_checkpoint_make(c, offer, NULL, &ck, err) < 0)
        return -1;
    self = comm_self_create(err);
    rc = self ? checkpoint_save(ck, self, &meta, path, err) : -1;
    comm_free(self);
    checkpoint_destroy(ck);
    return rc;
}

/* ---- The family ---- */

/* The reply has been sent: close this process's descriptor of its memory. */
static long checkpoint_requests_advance(struct companion *c)
{
    if (c->state[CHECKPOINT_FAMILY])
        checkpoint_sent_close(c->state[CHECKPOINT_FAMILY]);
    return -1;
}

static const struct request_row checkpoint_request_rows[] = {
    {"checkpoint_open", handle_checkpoint_open},
    {"checkpoint_names", handle_checkpoint_names},
    {"checkpoint_read", handle_checkpoint_read},
    {"checkpoint_close", handle_checkpoint_close},
    {"checkpoint_save", handle_checkpoint_save},
    {"loader_positions", handle_loader_positions},
    {NULL, NULL},
};

const struct request_family checkpoint_requests = {
    .rows = checkpoint_request_rows,
    .close = checkpoint_state_clear,
    .advance = checkpoint_requests_advance,
};
