/*
 * checkpoint_make.c - from what the clients of all ranks offer to one checkpoint:
 *
 *   1. the ranks learn which of them offer what; all offer dicts, or all directories
 *   2. dicts: all get the list of the lowest rank with one, and compare theirs with it
 *      directories: checkpoint_merge.c
 *   3. clients copy their parts into shared memory
 *   4. each rank puts all tensors, with those bytes that it has
 *   5. the positions of data loaders: loader_positions.c
 *
 * After each step the ranks agree on the outcome. What fails on one rank fails on all.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "command/checkpoint_state.h"
#include "session/collectives.h"

/* ---- The copy ---- */

/* The client forgets the buffers that are kept no more. */
static json_t *question_make(const struct shared_buffers *all,
                             const struct shared_buffer *b, bool shards)
{
    json_t *kept = json_array();

    for (int i = 0; i < SHARED_BUFFERS; i++)
        if (all->kept[i])
            json_array_append_new(kept, json_integer(all->kept[i]->id));
    return json_pack("{s:s, s:I, s:I, s:o, s:s}", "ask", "copy", "buffer",
                     (json_int_t)b->id, "bytes", (json_int_t)b->size, "kept", kept,
                     "what", shards ? "shards" : "all");
}

/* The client answers with an error if it cannot copy. */
static int answer_check(const json_t *answer, struct error *err)
{
    const json_t *error = json_object_get(answer, "error");
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *text = json_string_value(json_object_get(error, "text"));

    if (!error)
        return 0;
    return error_set(err, code ? wire_code(code) : RAYTRAIN_EFAILED, "%s",
                     text ? text : "the checkpoint could not be copied");
}

static int copy_ask(struct making *m, const struct shared_buffers *all, bool shards,
                    struct error *err)
{
    json_t *question = question_make(all, m->buffer, shards);
    struct wire_frame answer;
    int rc;

    if (!question)
        return error_no_memory(err);
    if (companion_ask(m->c, question, &m->buffer->fd, m->buffer->known ? 0 : 1, &answer,
                      err) < 0)
        return -1;
    m->buffer->known = true;
    rc = answer_check(answer.text, err);
    wire_clear(&answer);
    return rc;
}

int making_copy(struct making *m, bool shards, struct error *err)
{
    struct checkpoint_state *state = checkpoint_state(m->c);
    int n_sharing = m->n_offers > 1 ? raytrain_local_world_size(m->c->ctx) : 1;
    uint64_t bytes;

    if (!state)
        return error_no_memory(err);
    if (offer_lay_out(&m->own, shards, &bytes, err) < 0)
        return -1;
    if (bytes == 0)
        return 0;
    if (shared_buffers_take(&state->buffers, bytes, n_sharing, &m->buffer, err) < 0)
        return -1;
    return copy_ask(m, &state->buffers, shards, err);
}

void making_release(void *data, void *buffer)
{
    (void)data;
    shared_buffer_release(buffer);
}

/* ---- Dicts ---- */

/* COLLECTIVE: the list of the lowest rank, for *theirs; *json is what it refers to, a
 * new reference, NULL on that rank itself. */
static int list_share(struct making *m, json_t **json, struct offer *theirs,
                      struct error *err)
{
    bool mine = m->comm->rank == m->lowest;
    uint64_t bytes = m->faces[m->lowest].bytes;
    char *text = mine ? json_dumps(m->json, JSON_COMPACT) : NULL;
    int rc = mine && !text ? error_no_memory(err) : 0;

    rc = comm_agree(m->comm, rc, err);
    if (rc == 0)
        rc = comm_bcast_alloc(m->comm, (void **)&text, bytes, m->lowest, err);
    if (rc == 0 && !mine) {
        *json = json_loadb(text, bytes, 0, NULL);
        rc = *json ? offer_parse(*json, theirs, err) : error_no_memory(err);
    }
    free(text);
    return comm_agree(m->comm, rc, err);
}

int making_texts(struct making *m, const char *structure, const char *metadata,
                 struct error *err)
{
    if (checkpoint_put_string(m->ck, PYTHON_STRUCTURE, structure, err) < 0)
        return -1;
    if (!metadata)
        return 0;
    return checkpoint_put_string(m->ck, PYTHON_METADATA, metadata, err);
}

/* This rank's slab of a shard, an empty one if `e` is NULL: it has none. */
static int shard_put(struct making *m, const struct offer_entry *list,
                     const struct offer_entry *e, struct error *err)
{
    const raytrain_slab none = {.count = {0}};
    raytrain_tensor tensor = list->tensor;

    if (!e || e->bytes == 0)
        return checkpoint_put(m->ck, list->name, &tensor, e ? &e->slab : &none, err);
    tensor.data = m->buffer->data + e->offset;
    if (checkpoint_give(m->ck, list->name, &tensor, &e->slab, making_release, m->buffer,
                        err) < 0)
        return -1;
    shared_buffer_hold(m->buffer);
    return 0;
}

static int tensor_put(struct making *m, const struct offer_entry *e, struct error *err)
{
    bool mine = m->comm->rank == m->lowest, held = mine && e->bytes > 0;
    raytrain_tensor tensor = e->tensor;

    if (held)
        tensor.data = m->buffer->data + e->offset;
    if (checkpoint_give_one(m->ck, e->name, &tensor, m->lowest, mine,
                            held ? making_release : NULL, m->buffer, err) < 0)
        return -1;
    if (held)
        shared_buffer_hold(m->buffer);
    return 0;
}

/* Put what is in the lowest rank's list. Shards of this rank's offer come in the order
 * of that list, since the offers have been compared. */
static int list_put(struct making *m, const struct offer *list, struct error *err)
{
    const struct offer_entry *own = NULL;

    for (size_t i = 0; i < list->n_entries; i++) {
        const struct offer_entry *e = &list->entries[i];
        int rc;

        if (!e->own && !e->text)
            own = offer_common_next(&m->own, own);
        if (checkpoint_check_name(e->name, err) < 0)
            return -1;
        if (e->text)
            rc = checkpoint_put_string(m->ck, e->name, e->text, err);
        else if (e->sharded)
            rc = shard_put(m, e, m->json ? own : NULL, err);
        else
            rc = tensor_put(m, e, err);
        if (rc < 0)
            return -1;
    }
    return making_texts(m, list->structure, list->metadata, err);
}

static int own_copy(struct making *m, const struct offer *list, struct error *err)
{
    if (!m->json)
        return 0;
    if (m->comm->rank != m->lowest &&
        offer_compare(list, m->lowest, &m->own, m->comm->rank, err) < 0)
        return -1;
    return making_copy(m, m->comm->rank != m->lowest, err);
}

int making_dicts(struct making *m, struct error *err)
{
    struct offer theirs = {0}, *list = m->comm->rank == m->lowest ? &m->own : &theirs;
    json_t *json = NULL;
    int rc = m->comm->size > 1 ? list_share(m, &json, &theirs, err) : 0;

    if (rc == 0)
        rc = comm_agree(m->comm, own_copy(m, list, err), err);
    if (rc == 0)
        rc = comm_agree(m->comm, list_put(m, list, err), err);
    offer_clear(&theirs);
    json_decref(json);
    return rc;
}

/* ---- Which ranks offer what ---- */

/* COLLECTIVE */
static int faces_gather(struct making *m, struct error *err)
{
    struct offer_face mine = {.kind = m->own.kind,
                              .position_bytes = m->position ? strlen(m->position) : 0};
    int rc;

    if (m->json && m->comm->size > 1)
        mine.bytes = json_dumpb(m->json, NULL, 0, JSON_COMPACT);
    m->faces = calloc((size_t)m->comm->size, sizeof *m->faces);
    rc = m->faces ? 0 : error_no_memory(err);
    rc = comm_agree(m->comm, rc, err);
    if (rc == 0)
        rc = m->comm->ops->allgather(m->comm, &mine, sizeof mine, m->faces, err);
    return rc;
}

/* The same on every rank. */
static int faces_judge(struct making *m, struct error *err)
{
    static const char *const kinds[] = {"no checkpoint", "a dict", "a directory"};

    m->lowest = -1;
    for (int r = 0; r < m->comm->size; r++) {
        int kind = m->faces[r].kind;

        if (kind == OFFER_NONE)
            continue;
        m->n_offers++;
        if (m->lowest < 0)
            m->lowest = r;
        if (kind != m->faces[m->lowest].kind)
            return error_set(err, RAYTRAIN_EINVAL,
                             "the checkpoint of rank %d is %s and that of rank %d is "
                             "%s: report one kind of checkpoint on all ranks",
                             m->lowest, kinds[m->faces[m->lowest].kind], r,
                             kinds[kind]);
    }
    if (m->lowest < 0)
        return error_set(err, RAYTRAIN_EINVAL, "no rank offers a checkpoint");
    return 0;
}

/* COLLECTIVE */
static int make(struct making *m, struct error *err)
{
    int rc = offer_parse(m->json, &m->own, err);

    if (rc == 0 && !(m->ck = checkpoint_create(err)))
        rc = -1;
    rc = comm_agree(m->comm, rc, err);
    if (rc == 0)
        rc = faces_gather(m, err);
    if (rc == 0)
        rc = faces_judge(m, err);
    if (rc == 0 && m->faces[m->lowest].kind == OFFER_DICT)
        rc = making_dicts(m, err);
    else if (rc == 0)
        rc = making_directories(m, err);
    if (rc == 0)
        rc = comm_agree(m->comm, making_positions(m, err), err);
    return rc;
}

int companion_checkpoint_make(struct companion *c, const json_t *offer,
                              const char *position, raytrain_checkpoint **out,
                              struct error *err)
{
    struct making m = {.c = c, .json = offer, .position = position};
    int rc;

    m.comm = session_store_comm(c->ctx, err);
    if (!m.comm)
        return -1;
    collective_wait_begin(&c->ctx->waiting, "checkpoint");
    if (c->ctx->saving)
        saving_release(c->ctx->saving); /* maybe there is a buffer not in use now */
    rc = make(&m, err);
    shared_buffer_release(m.buffer);
    offer_clear(&m.own);
    free(m.faces);
    if (rc == 0)
        *out = m.ck;
    else
        checkpoint_destroy(m.ck);
    return rc;
}
