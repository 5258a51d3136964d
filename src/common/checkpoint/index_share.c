/*
 * index_share.c - give each rank what it needs of the index that rank 0 has read: its
 * share of the chunks to verify, and the tensors.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/index_share.h"

#include "checkpoint/verify.h"

/* ---- The work of verification ---- */

/* How much one rank has to verify. */
struct amount {
    uint64_t n, n_hashes;
};

/* Rank 0: the amount of each rank; *most is enough for any of them. */
static int amounts_count(const raytrain_checkpoint *ck, int size,
                         struct amount *amounts, struct amount *most, struct error *err)
{
    struct verify_work counted = {0};
    struct verify_cut cut;

    *most = (struct amount){0};
    verify_cut_start(&cut, ck, size);
    for (int r = 0; r < size; r++) {
        if (verify_cut_next(&cut, r, &counted, err) < 0)
            return -1;
        amounts[r] = (struct amount){counted.n, counted.n_hashes};
        most->n = counted.n > most->n ? counted.n : most->n;
        if (counted.n_hashes > most->n_hashes)
            most->n_hashes = counted.n_hashes;
    }
    return 0;
}

static int work_send(const struct verify_work *work, int rank, struct comm *comm,
                     struct error *err)
{
    if (work->n == 0)
        return 0;
    if (comm->ops->sendrecv(comm, work->pieces, work->n * sizeof *work->pieces, rank,
                            NULL, 0, -1, err) < 0)
        return -1;
    return comm->ops->sendrecv(comm, work->hashes,
                               work->n_hashes * sizeof *work->hashes, rank, NULL, 0, -1,
                               err);
}

static int work_receive(struct verify_work *work, const struct amount *mine,
                        struct comm *comm, struct error *err)
{
    work->n = mine->n;
    work->n_hashes = mine->n_hashes;
    if (work->n == 0)
        return 0;
    if (comm->ops->sendrecv(comm, NULL, 0, -1, work->pieces,
                            work->n * sizeof *work->pieces, 0, err) < 0)
        return -1;
    return comm->ops->sendrecv(comm, NULL, 0, -1, work->hashes,
                               work->n_hashes * sizeof *work->hashes, 0, err);
}

/* Rank 0: the work of one rank after the other goes through the memory of rank 0's own
 * work, which is computed again at the end. If a table cannot be read, each rank gets
 * arbitrary bytes, of the length that it waits for. */
static int works_send(const raytrain_checkpoint *ck, struct comm *comm,
                      const struct amount *amounts, struct verify_work *work,
                      struct error *err)
{
    struct verify_cut cut;
    struct error lost;
    int rc = 0;

    verify_cut_start(&cut, ck, comm->size);
    for (int r = 0; r < comm->size; r++) {
        if (rc == 0)
            rc = verify_cut_next(&cut, r, work, err);
        work->n = amounts[r].n;
        work->n_hashes = amounts[r].n_hashes;
        if (r > 0 && work_send(work, r, comm, &lost) < 0)
            return error_set(err, lost.code, "%s", lost.text);
    }
    verify_cut_start(&cut, ck, comm->size);
    return rc == 0 ? verify_cut_next(&cut, 0, work, err) : -1;
}

int verify_work_scatter(const raytrain_checkpoint *ck, struct comm *comm,
                        struct verify_work *work, struct error *err)
{
    struct amount *amounts = NULL, *mine = NULL, room = {0};
    int rc = 0;

    if (comm->rank == 0) {
        amounts = calloc((size_t)comm->size, sizeof *amounts);
        rc = amounts ? amounts_count(ck, comm->size, amounts, &room, err)
                     : error_no_memory(err);
    }
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm_scatter(comm, amounts, sizeof *amounts, (void **)&mine, err);
    if (rc == 0) {
        room = comm->rank == 0 ? room : *mine;
        rc = comm_agree(comm, verify_work_room(work, room.n, room.n_hashes, err), err);
    }
    if (rc == 0)
        rc = comm_agree(comm,
                        comm->rank == 0 ? works_send(ck, comm, amounts, work, err)
                                        : work_receive(work, mine, comm, err),
                        err);
    free(amounts);
    free(mine);
    return rc;
}

/* ---- The tensors ---- */

/* What is sent: the lists of one checkpoint, in memory. */
struct contents {
    struct tensor_entry *tensors; /* their pointers mean nothing elsewhere */
    char *names;                  /* one after the other, each with its NUL */
    struct checkpoint_metric *metrics;
    struct part *parts;
    struct {
        uint64_t n_tensors, name_bytes, n_metrics, n_parts;
        struct checkpoint_meta meta;
        char run_name[sizeof((raytrain_checkpoint *)0)->run_name];
    } head;
};

/* Rank 0: names are copied, everything else belongs to the checkpoint. */
static int contents_of(raytrain_checkpoint *ck, struct contents *c, struct error *err)
{
    char *to;

    c->tensors = ck->tensors;
    c->metrics = (struct checkpoint_metric *)ck->meta.metrics;
    c->parts = ck->parts;
    c->head.n_tensors = ck->n_tensors;
    c->head.n_metrics = ck->meta.n_metrics;
    c->head.n_parts = ck->n_parts;
    c->head.meta = ck->meta;
    memcpy(c->head.run_name, ck->run_name, sizeof c->head.run_name);
    for (size_t i = 0; i < ck->n_tensors; i++)
        c->head.name_bytes += strlen(ck->tensors[i].name) + 1;
    c->names = to = malloc(c->head.name_bytes + 1);
    if (!c->names)
        return error_no_memory(err);
    for (size_t i = 0; i < ck->n_tensors; i++)
        to = stpcpy(to, ck->tensors[i].name) + 1;
    return 0;
}

/* COLLECTIVE: on the other ranks, everything is malloc'ed. */
static int contents_bcast(struct contents *c, struct comm *comm, struct error *err)
{
    if (comm->ops->bcast(comm, &c->head, sizeof c->head, 0, err) < 0 ||
        comm_bcast_alloc(comm, (void **)&c->tensors,
                         c->head.n_tensors * sizeof *c->tensors, 0, err) < 0 ||
        comm_bcast_alloc(comm, (void **)&c->names, c->head.name_bytes, 0, err) < 0 ||
        comm_bcast_alloc(comm, (void **)&c->metrics,
                         c->head.n_metrics * sizeof *c->metrics, 0, err) < 0 ||
        comm_bcast_alloc(comm, (void **)&c->parts, c->head.n_parts * sizeof *c->parts,
                         0, err) < 0)
        return -1;
    return 0;
}

/* The other ranks: fill ck, which takes the metrics and the parts. */
static int contents_take(raytrain_checkpoint *ck, struct contents *c, struct error *err)
{
    const char *name = c->names;

    memcpy(ck->run_name, c->head.run_name, sizeof ck->run_name);
    ck->meta = c->head.meta;
    ck->meta.run_name = ck->run_name;
    ck->meta.metrics = c->metrics;
    ck->parts = c->parts;
    ck->n_parts = c->head.n_parts;
    c->metrics = NULL;
    c->parts = NULL;
    for (uint64_t i = 0; i < c->head.n_tensors; i++, name += strlen(name) + 1) {
        struct tensor_entry *e = entry_add(ck, strdup(name), err);

        if (!e)
            return -1;
        c->tensors[i].name = e->name;
        *e = c->tensors[i];
    }
    return public_names_make(ck, err);
}

int index_bcast(raytrain_checkpoint *ck, struct comm *comm, struct error *err)
{
    bool first = comm->rank == 0;
    struct contents c = {0};
    int rc = first ? contents_of(ck, &c, err) : 0;

    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->bcast(comm, &ck->head, sizeof ck->head, 0, err);
    if (rc == 0)
        rc = contents_bcast(&c, comm, err);
    if (rc == 0 && !first)
        rc = contents_take(ck, &c, err);
    free(c.names);
    if (!first) {
        free(c.tensors);
        free(c.metrics);
        free(c.parts);
    }
    return comm_agree(comm, rc, err);
}
