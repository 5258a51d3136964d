/*
 * checkpoint_make.c - one checkpoint from what the clients of all ranks offer:
 *
 *   1. the ranks exchange what they offer: all offer dicts, or all directories
 *   2. dicts: checkpoint_dicts.c; directories: checkpoint_directories.c
 *   3. the positions of data loaders: loader_positions.c
 *
 * After each step the ranks agree on the outcome: a failure on one rank is one on all.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "command/checkpoint_make.h"
#include "command/client_checkpoint.h"
#include "session/collectives.h"

/* COLLECTIVE: every rank gets the summaries of all. */
static int summaries_gather(struct client_checkpoint *m, struct error *err)
{
    struct offer_summary mine = {
        .kind = m->own.kind, .position_bytes = m->position ? strlen(m->position) : 0};
    int rc;

    if (m->json && m->comm->size > 1)
        mine.bytes = json_dumpb(m->json, NULL, 0, JSON_COMPACT);
    m->summaries = calloc((size_t)m->comm->size, sizeof *m->summaries);
    rc = m->summaries ? 0 : error_no_memory(err);
    rc = comm_agree(m->comm, rc, err);
    if (rc == 0)
        rc = m->comm->ops->allgather(m->comm, &mine, sizeof mine, m->summaries, err);
    return rc;
}

/* Returns the same on every rank. */
static int summaries_compare(struct client_checkpoint *m, struct error *err)
{
    static const char *const kinds[] = {"no checkpoint", "a dict", "a directory"};

    m->lowest = -1;
    for (int r = 0; r < m->comm->size; r++) {
        int kind = m->summaries[r].kind;

        if (kind == OFFER_NONE)
            continue;
        m->n_offers++;
        if (m->lowest < 0)
            m->lowest = r;
        if (kind != m->summaries[m->lowest].kind)
            return error_set(err, RAYTRAIN_EINVAL,
                             "the checkpoint of rank %d is %s and that of rank %d is "
                             "%s: report one kind of checkpoint on all ranks",
                             m->lowest, kinds[m->summaries[m->lowest].kind], r,
                             kinds[kind]);
    }
    if (m->lowest < 0)
        return error_set(err, RAYTRAIN_EINVAL, "no rank offers a checkpoint");
    return 0;
}

/* COLLECTIVE: create m->ck, and put into it what the ranks offer. */
static int client_checkpoint_fill(struct client_checkpoint *m, struct error *err)
{
    int rc = offer_parse(m->json, &m->own, err);

    if (rc == 0 && !(m->ck = checkpoint_create(err)))
        rc = -1;
    rc = comm_agree(m->comm, rc, err);
    if (rc == 0)
        rc = summaries_gather(m, err);
    if (rc == 0)
        rc = summaries_compare(m, err);
    if (rc == 0 && m->summaries[m->lowest].kind == OFFER_DICT)
        rc = client_checkpoint_put_dicts(m, err);
    else if (rc == 0)
        rc = client_checkpoint_put_directories(m, err);
    if (rc == 0)
        rc = comm_agree(m->comm, client_checkpoint_put_positions(m, err), err);
    return rc;
}

int companion_checkpoint_make(struct companion *c, const json_t *offer,
                              const char *position, raytrain_checkpoint **out,
                              struct error *err)
{
    struct client_checkpoint m = {.c = c, .json = offer, .position = position};
    int rc;

    m.comm = session_store_comm(c->ctx, err);
    if (!m.comm)
        return -1;
    collective_wait_begin(&c->ctx->waiting, "checkpoint");
    if (c->ctx->saving)
        saving_release(c->ctx->saving); /* a save that has ended may free a buffer */
    rc = client_checkpoint_fill(&m, err);
    shared_buffer_release(m.buffer);
    offer_clear(&m.own);
    free(m.summaries);
    if (rc == 0)
        *out = m.ck;
    else
        checkpoint_destroy(m.ck);
    return rc;
}
