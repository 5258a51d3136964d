/*
 * save_layout.h - decisions of a save before it writes: which rank writes what, and
 * where that lies in the file. They are kept for the next saves: while all ranks put
 * the same names, types, shapes and slabs, rank 0 neither gathers the slabs nor lays
 * out an HDF5 file again. Only a few values in the file change.
 *
 * Use it in the caller's thread, except that any thread may read the plan and the image
 * while a save is written.
 */
#ifndef RAYTRAIN_CHECKPOINT_SAVE_LAYOUT_H
#define RAYTRAIN_CHECKPOINT_SAVE_LAYOUT_H

#include "checkpoint/checkpoint_impl.h"

struct save_layout {
    bool valid; /* a save has begun with it */
    int size;   /* of the communicator */
    /* This rank's, with names of their own, without data. */
    struct tensor_entry *entries;
    size_t n;
    /* Rank 0: */
    struct plan plan;
    struct file_head head; /* without hashes and mark */
    struct h5_image *image;
    char *run_name;
    int (*write_metadata)(const void *arg, struct h5_image *file, struct error *err);
    const void *write_metadata_arg;
};

/* COLLECTIVE: *fits, on every rank, if it is right for what each rank puts now. */
int save_layout_agree(const struct save_layout *l, const raytrain_checkpoint *ck,
                      const struct checkpoint_meta *meta, struct comm *comm, bool *fits,
                      struct error *err);
/* If it fits: the places of the tensors, into ck; on rank 0 also new values, from meta,
 * into the image. */
int save_layout_use(struct save_layout *l, raytrain_checkpoint *ck,
                    const struct checkpoint_meta *meta, struct comm *comm,
                    struct error *err);
/* Once ck has its places, and rank 0 plan, head and image: keep it for the next save.
 * Without memory for that it is valid for this one alone. */
void save_layout_keep(struct save_layout *l, const raytrain_checkpoint *ck,
                      const struct checkpoint_meta *meta, const struct comm *comm);
/* Forget all of it. */
void save_layout_clear(struct save_layout *l);

#endif
