/*
 * checkpoint_dicts.c - one checkpoint from the dicts that ranks offer. All ranks get
 * the list of the lowest rank that has a dict, and compare their own with it; clients
 * copy their parts into shared memory; each rank puts all tensors, with the bytes that
 * it has.
 */
#include "config.h"

#include <stdlib.h>

#include "checkpoint/checkpoint.h"
#include "command/client_checkpoint.h"

/* COLLECTIVE: get the list of the lowest rank. *theirs refers to texts of *json, a new
 * reference. On that rank itself both are left as they are. */
static int list_share(struct client_checkpoint *m, json_t **json, struct offer *theirs,
                      struct error *err)
{
    bool mine = m->comm->rank == m->lowest;
    uint64_t bytes = m->summaries[m->lowest].bytes;
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

/* Put this rank's slab of a sharded tensor; `e` NULL: it has none, so an empty one. */
static int slab_put(struct client_checkpoint *m, const struct offer_entry *list,
                    const struct offer_entry *e, struct error *err)
{
    const raytrain_slab none = {.count = {0}};
    raytrain_tensor tensor = list->tensor;

    if (!e || e->bytes == 0)
        return checkpoint_put(m->ck, list->name, &tensor, e ? &e->slab : &none, err);
    tensor.data = m->buffer->data + e->offset;
    if (checkpoint_give(m->ck, list->name, &tensor, &e->slab, client_checkpoint_release,
                        m->buffer, err) < 0)
        return -1;
    shared_buffer_hold(m->buffer);
    return 0;
}

static int tensor_put(struct client_checkpoint *m, const struct offer_entry *e,
                      struct error *err)
{
    bool mine = m->comm->rank == m->lowest, held = mine && e->bytes > 0;
    raytrain_tensor tensor = e->tensor;

    if (held)
        tensor.data = m->buffer->data + e->offset;
    if (checkpoint_give_one(m->ck, e->name, &tensor, m->lowest, mine,
                            held ? client_checkpoint_release : NULL, m->buffer,
                            err) < 0)
        return -1;
    if (held)
        shared_buffer_hold(m->buffer);
    return 0;
}

/* Put all entries of the lowest rank's list. This rank's own offer has them in the same
 * order, since the two have been compared. */
static int list_put(struct client_checkpoint *m, const struct offer *list,
                    struct error *err)
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
            rc = slab_put(m, e, m->json ? own : NULL, err);
        else
            rc = tensor_put(m, e, err);
        if (rc < 0)
            return -1;
    }
    return client_checkpoint_put_texts(m, list->structure, list->metadata, err);
}

static int own_copy(struct client_checkpoint *m, const struct offer *list,
                    struct error *err)
{
    if (!m->json)
        return 0;
    if (m->comm->rank != m->lowest &&
        offer_compare(list, m->lowest, &m->own, m->comm->rank, err) < 0)
        return -1;
    return client_checkpoint_copy(m, m->comm->rank != m->lowest, err);
}

int client_checkpoint_put_dicts(struct client_checkpoint *m, struct error *err)
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
