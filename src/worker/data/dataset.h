/*
 * dataset.h - a worker's shard of a dataset: rows of typed columns, dealt out in an
 * order that depends on seed and epoch alone.
 *
 * Epoch e's order is a permutation P_e of the rows (the identity without shuffle).
 * Global batch k is P_e[k*W*B .. (k+1)*W*B), of which rank r takes the r-th B rows;
 * what is left at the end is split evenly (row_order.h). So the position is one number,
 * the rows delivered over all workers, and any number of workers can go on from it.
 *
 * Threads: all calls come from the training thread. A prefetch thread of the dataset
 * fills the next batch with pread(2); it never calls HDF5 or MPI.
 */
#ifndef RAYTRAIN_DATA_DATASET_H
#define RAYTRAIN_DATA_DATASET_H

#include "comm/comm.h"
#include "config/data_config.h"
#include "wireup/wireup.h"

struct dataset_env {
    int rank, size; /* of the split; 0, 1 if the dataset is not split */
    struct comm
        *node; /* the ranks of this node: compressed files are expanded once a node,
                  into memory that they share (memfd). NULL: this process alone */
    uint64_t seed;
};

/* What a checkpoint keeps of a dataset. */
struct dataset_state {
    uint64_t epoch;
    uint64_t position; /* rows of this epoch delivered so far, over all workers */
};

/* COLLECTIVE over env->node, with the same outcome on all its ranks. Errors name the
 * dataset, the file and the cause. A dataset without rows is refused. */
int dataset_open(const struct dataset_config *cfg, const struct dataset_env *env,
                 raytrain_dataset **out, struct error *err);
void dataset_close(raytrain_dataset *ds); /* NULL is fine; joins the prefetch thread */

const char *dataset_name(const raytrain_dataset *ds);
uint64_t dataset_rows(const raytrain_dataset *ds);
void dataset_state_get(const raytrain_dataset *ds, struct dataset_state *state);
/* Go on from there; there is no current batch until the next one. RAYTRAIN_EINVAL if
 * the dataset has fewer rows than the position. */
int dataset_state_set(raytrain_dataset *ds, const struct dataset_state *state,
                      struct error *err);
int dataset_column_info(raytrain_dataset *ds, const char *column, raytrain_tensor *row,
                        struct error *err);
/* Takes effect with the next batch, even in the middle of an epoch. */
int dataset_set_batch_size(raytrain_dataset *ds, uint64_t rows, struct error *err);
/* 0: a batch; 1: end of epoch; -1: error, and the position is unchanged. */
int dataset_next(raytrain_dataset *ds, uint64_t *rows, struct error *err);
int dataset_column(raytrain_dataset *ds, const char *column, raytrain_tensor *tensor,
                   struct error *err);

#endif
