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
    /* Those of this rank, with copies of their names, without data. */
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

/* COLLECTIVE: *fits becomes true, on every rank, if the layout is right for what each
 * rank puts now. */
int save_layout_agree(const struct save_layout *l, const raytrain_checkpoint *ck,
                      const struct checkpoint_meta *meta, struct comm *comm, bool *fits,
                      struct error *err);
/* If it fits: copy the places of the tensors into ck, and on rank 0 the new values of
 * meta into the image. */
int save_layout_use(struct save_layout *l, raytrain_checkpoint *ck,
                    const struct checkpoint_meta *meta, struct comm *comm,
                    struct error *err);
/* Once ck has its places, and rank 0 has plan, head and image: keep the layout for the
 * next save. Without memory it is only valid for this one. */
void save_layout_keep(struct save_layout *l, const raytrain_checkpoint *ck,
                      const struct checkpoint_meta *meta, const struct comm *comm);
/* Clear all of it. */
void save_layout_clear(struct save_layout *l);

#endif
