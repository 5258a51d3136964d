/*
 * save_layout.c - compare what is put with the kept layout, reuse the layout, and keep
 * a new one. layout.c makes it.
 */
#include "config.h"
#include "checkpoint/save_layout.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/layout.h"
#include "checkpoint/plan.h"
#include "checkpoint/rank_contents.h"
#include "hdf5/h5_image.h"

/* ---- Does it fit? ---- */

static bool entry_equal(const struct tensor_entry *a, const struct tensor_entry *b)
{
    return a->dtype == b->dtype && a->ndim == b->ndim && a->sharded == b->sharded &&
           a->writer == b->writer && strcmp(a->name, b->name) == 0 &&
           memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0 &&
           slab_equal(a->ndim, &a->slab, &b->slab);
}

/* Attachments have other sizes each time: no layout fits them. */
static bool entries_equal(const struct save_layout *l, const raytrain_checkpoint *ck)
{
    if (ck->n_tensors != l->n || ck->n_attached > 0)
        return false;
    for (size_t i = 0; i < l->n; i++)
        if (!entry_equal(&l->entries[i], &ck->tensors[i]))
            return false;
    return true;
}

static const char *run_name_of(const struct checkpoint_meta *meta)
{
    return meta->run_name ? meta->run_name : "";
}

/* What only rank 0 knows. */
static bool metadata_equal(const struct save_layout *l, const raytrain_checkpoint *ck,
                           const struct checkpoint_meta *meta)
{
    return l->head.n_metrics == meta->n_metrics &&
           l->write_metadata == ck->write_metadata &&
           l->write_metadata_arg == ck->write_metadata_arg &&
           strcmp(l->run_name, run_name_of(meta)) == 0;
}

/* Strings are replicated: while their lengths stay the same, the contents may change,
 * if they are the same on all ranks. If they are not, the usual steps find the rank. */
int save_layout_agree(const struct save_layout *l, const raytrain_checkpoint *ck,
                      const struct checkpoint_meta *meta, struct comm *comm, bool *fits,
                      struct error *err)
{
    int64_t strings = (int64_t)rank_contents_strings_hash(ck);
    bool here = l->valid && l->size == comm->size && entries_equal(l, ck) &&
                (comm->rank != 0 || metadata_equal(l, ck, meta));
    int64_t least[] = {here, strings, ~strings};

    *fits = false;
    if (comm->ops->allreduce(comm, least, 3, COMM_INT64, COMM_MIN, err) < 0)
        return -1;
    *fits = least[0] && least[1] == ~least[2];
    return 0;
}

/* ---- Use it again ---- */

int save_layout_use(struct save_layout *l, raytrain_checkpoint *ck,
                    const struct checkpoint_meta *meta, struct comm *comm,
                    struct error *err)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct tensor_entry *from = &l->entries[i];
        struct tensor_entry *to = &ck->tensors[i];

        to->offset = from->offset;
        to->first_part = from->first_part;
        to->n_parts = from->n_parts;
        to->by_parts = from->by_parts;
        to->slab_at = from->slab_at;
        to->elsewhere = from->elsewhere;
    }
    return comm->rank == 0 ? layout_renew(l->image, &l->head, meta, err) : 0;
}

/* ---- Keep it ---- */

static void entries_free(struct save_layout *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->entries[i].name);
    free(l->entries);
    l->entries = NULL;
    l->n = 0;
}

static int entries_copy(struct save_layout *l, const raytrain_checkpoint *ck)
{
    entries_free(l);
    l->entries = calloc(ck->n_tensors + 1, sizeof *l->entries);
    if (!l->entries)
        return -1;
    for (; l->n < ck->n_tensors; l->n++) {
        struct tensor_entry *e = &l->entries[l->n];

        *e = ck->tensors[l->n];
        e->name = strdup(e->name);
        if (!e->name)
            return -1;
        e->data = NULL;
        e->memory = (struct memory){0};
    }
    return 0;
}

void save_layout_keep(struct save_layout *l, const raytrain_checkpoint *ck,
                      const struct checkpoint_meta *meta, const struct comm *comm)
{
    l->size = comm->size;
    l->write_metadata = ck->write_metadata;
    l->write_metadata_arg = ck->write_metadata_arg;
    free(l->run_name);
    l->run_name = strdup(run_name_of(meta));
    l->valid = entries_copy(l, ck) == 0 && l->run_name;
}

void save_layout_clear(struct save_layout *l)
{
    entries_free(l);
    plan_clear(&l->plan);
    h5_image_destroy(l->image);
    free(l->run_name);
    *l = (struct save_layout){0};
}

/* ---- For the owner of several saves ---- */

struct save_layout *save_layout_create(struct error *err)
{
    struct save_layout *l = calloc(1, sizeof *l);

    if (!l)
        error_no_memory(err);
    return l;
}

void save_layout_destroy(struct save_layout *l)
{
    if (!l)
        return;
    save_layout_clear(l);
    free(l);
}
