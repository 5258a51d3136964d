/*
 * attachments.c - keep the attachments of this rank, describe them in records, and make
 * entries of the records of all ranks. rank_contents.c exchanges the records.
 */
#include "config.h"
#include "checkpoint/attachments.h"

#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

#define PREFIX CHECKPOINT_ATTACHED "/"

/* A record: this, then the name with its NUL. */
struct record {
    uint64_t rank, bytes;
};

/* ---- Put ---- */

static int attached_grow(raytrain_checkpoint *ck)
{
    size_t n = ck->n_attached;
    struct attachment *all;

    if ((n & (n - 1)) != 0) /* there is room up to the next power of two */
        return 0;
    all = realloc(ck->attached, (n > 0 ? 2 * n : 1) * sizeof *all);
    if (!all)
        return -1;
    ck->attached = all;
    return 0;
}

static int name_reserve(raytrain_checkpoint *ck, const char *name, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    size_t clash;
    int rc;

    if (entry_check_name(name, err) < 0)
        return -1;
    rc = name_map_add(&ck->attached_names, name, (int64_t)ck->n_attached, &clash);
    if (rc > 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s is attached already, or is the start of another name",
                         quote(name + strlen(PREFIX), quoted));
    if (rc < 0) { /* the map may point into this name */
        name_map_clear(&ck->attached_names);
        return error_no_memory(err);
    }
    return 0;
}

int checkpoint_attach(raytrain_checkpoint *ck, const char *name, const void *data,
                      uint64_t bytes, raytrain_release release, void *arg,
                      struct error *err)
{
    char *full;

    if (attached_grow(ck) < 0 || asprintf(&full, PREFIX "%s", name) < 0)
        return error_no_memory(err);
    if (name_reserve(ck, full, err) < 0) {
        free(full);
        return -1;
    }
    ck->attached[ck->n_attached++] =
        (struct attachment){.name = full,
                            .data = data,
                            .bytes = bytes,
                            .memory = {release, (void *)data, arg}};
    return 0;
}

void attachments_clear(raytrain_checkpoint *ck)
{
    for (size_t i = 0; i < ck->n_attached; i++) {
        free(ck->attached[i].name);
        memory_release(&ck->attached[i].memory);
    }
    free(ck->attached);
    ck->attached = NULL;
    ck->n_attached = 0;
    name_map_clear(&ck->attached_names);
}

/* ---- Records ---- */

uint64_t attachments_bytes(const raytrain_checkpoint *ck)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < ck->n_attached; i++)
        sum += sizeof(struct record) + strlen(ck->attached[i].name) + 1;
    return sum;
}

int attachments_render(const raytrain_checkpoint *ck, int rank, FILE *out)
{
    for (size_t i = 0; i < ck->n_attached; i++) {
        const struct attachment *a = &ck->attached[i];
        struct record record = {.rank = (uint64_t)rank, .bytes = a->bytes};

        if (fwrite(&record, sizeof record, 1, out) != 1 ||
            fwrite(a->name, strlen(a->name) + 1, 1, out) != 1)
            return -1;
    }
    return 0;
}

/* ---- Entries ---- */

/* If the name is another rank's already, say which. */
static int taken_error(const raytrain_checkpoint *ck, const char *name, int rank,
                       struct error *err)
{
    int64_t i = name_map_find(&ck->names, name, strlen(name));
    const char *own = name + strlen(PREFIX);
    char quoted[QUOTE_TEXT_MAX];

    if (i < 0 || ck->tensors[i].writer < 0)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "ranks %d and %d both attach %s: let one of them do it, or give "
                     "each a name of its own, such as \"rank-%d/%.100s\"",
                     ck->tensors[i].writer, rank, quote(own, quoted), rank, own);
}

static int entry_attach(raytrain_checkpoint *ck, const struct record *record,
                        const char *name, struct error *err)
{
    struct tensor_entry *e;

    if (taken_error(ck, name, (int)record->rank, err) < 0)
        return -1;
    e = entry_add(ck, strdup(name), err);
    if (!e)
        return error_prefix(err, "attached by rank %d", (int)record->rank);
    e->dtype = RAYTRAIN_BYTES;
    e->ndim = 1;
    e->element_bytes = 1;
    e->shape[0] = e->bytes = record->bytes;
    e->sharded = true;
    e->writer = (int)record->rank;
    slab_whole(1, e->shape, &e->slab);
    return 0;
}

/* This rank's own: it has the bytes. */
static void entry_fill(struct tensor_entry *e, struct attachment *a)
{
    e->data = a->data;
    e->memory = a->memory;
    a->memory = (struct memory){0};
}

static int entries_add(raytrain_checkpoint *ck, int rank, const char *records,
                       uint64_t n, struct error *err)
{
    size_t own = 0;

    for (const char *at = records; at < records + n;) {
        struct tensor_entry *e;
        struct record record;

        memcpy(&record, at, sizeof record);
        at += sizeof record;
        if (entry_attach(ck, &record, at, err) < 0)
            return -1;
        e = &ck->tensors[ck->n_tensors - 1];
        e->elsewhere = e->writer != rank;
        if (!e->elsewhere)
            entry_fill(e, &ck->attached[own++]);
        at += strlen(at) + 1;
    }
    return 0;
}

int attachments_merge(raytrain_checkpoint *ck, struct comm *comm, void **records,
                      uint64_t n, struct error *err)
{
    int rc = comm_bcast_alloc(comm, records, n, 0, err);

    if (rc == 0)
        rc = comm_agree(comm, entries_add(ck, comm->rank, *records, n, err), err);
    return rc;
}
