/*
 * dataset.h - a worker's shard of a dataset: rows of typed columns, delivered in an
 * order that depends only on seed and epoch.
 *
 * Epoch e's order is a permutation P_e of the rows (epoch_order.h; the identity without
 * shuffle). Global batch k is P_e[k*W*B .. (k+1)*W*B), of which rank r takes the r-th B
 * rows; the rest at the end is split evenly (row_order.h), left out, or filled up. So
 * the position is one number, the rows delivered over all workers, and any number of
 * workers can continue from it. The rows are those that filter and limit select.
 *
 * Threads: all calls come from the training thread. A prefetch thread of the dataset
 * fills the next batch with pread(2); it never calls HDF5 or MPI.
 */
#ifndef RAYTRAIN_DATA_DATASET_H
#define RAYTRAIN_DATA_DATASET_H

#include "comm/comm.h"
#include "config/data_config.h"
#include "data/dataset_env.h"
#include "data/epoch_order.h"
#include "frame/frame.h"
#include "table/left_out.h"
#include "wireup/wireup.h"

/* What a checkpoint keeps of a dataset. */
struct dataset_state {
    uint64_t epoch;
    uint64_t position; /* rows of this epoch delivered so far, over all workers */
    /* The order of this epoch, which is kept to its end if the configuration changes.
     * rows 0: the one of the configuration. */
    uint64_t rows;
    struct order_kind kind;
};

/* COLLECTIVE over env->all, with the same outcome on all its ranks. Errors name the
 * dataset, the file and the cause. A dataset without rows is refused. */
int dataset_open(const struct dataset_config *cfg, const struct dataset_env *env,
                 raytrain_dataset **out, struct error *err);
/*
 * A dataset without files: the caller brings the rows of its batches. `columns`,
 * without rows, are those before the preprocessors of `chain` (dataset_env; NULL:
 * none). The dataset takes it, also on failure; the caller keeps its dictionaries.
 */
int dataset_open_brought(const char *name, struct frame *columns,
                         const struct chain *chain, raytrain_dataset **out,
                         struct error *err);
/* The frame of the next batch, with these columns and without rows, for the caller to
 * fill; NULL on failure. It ends the current batch. */
struct frame *dataset_bring(raytrain_dataset *ds, struct error *err);
/* Applies the preprocessors to the filled frame, and makes it the current batch. */
int dataset_brought(raytrain_dataset *ds, struct error *err);

/* COLLECTIVE over all: RAYTRAIN_ESTORAGE on all ranks unless all nodes have the same
 * dataset. */
int dataset_compare(const raytrain_dataset *ds, struct comm *all, struct error *err);
void dataset_close(raytrain_dataset *ds); /* NULL is fine; joins the prefetch thread */

const char *dataset_name(const raytrain_dataset *ds);
/* What is left out of its files; on the first rank of each node. */
const struct left_out *dataset_left_out(const raytrain_dataset *ds);
/* The column of labels that a label_encoder of env->chain misses; NULL: none. */
const char *dataset_lacks_label(const raytrain_dataset *ds);
/* The first preprocessor of the chain that a client applies, with all later ones
 * (chain.h); -1: there is none. */
int64_t dataset_client_from(const raytrain_dataset *ds);
/* The columns of batches, without rows. */
const struct frame *dataset_schema(const raytrain_dataset *ds);
/* The columns of the files, which the preprocessors change. */
const struct frame *dataset_columns(const raytrain_dataset *ds);
/* The current batch; NULL: there is none. The caller may change it in any way until the
 * next call on the dataset. */
struct frame *dataset_batch(raytrain_dataset *ds);
uint64_t dataset_rows(const raytrain_dataset *ds);
/* Why a column of the files has words: odd_word.h. */
void dataset_odd_word(const raytrain_dataset *ds, const struct dataset_config *cfg,
                      const char *column, char *text, size_t size);
/* Names the file and line, or the row of a file, of row i (row_place.h). The dataset
 * must have files. */
void dataset_row_place(const raytrain_dataset *ds, const struct dataset_config *cfg,
                       uint64_t i, char *text, size_t size);
/* The number of workers among which its rows are divided; 1 if each reads all of
 * them. */
int dataset_workers(const raytrain_dataset *ds);
/* Seconds that dataset_next() has waited for rows, in all its calls. */
double dataset_waited_s(const raytrain_dataset *ds);
void dataset_state_get(const raytrain_dataset *ds, struct dataset_state *state);
/* Continues from a state; there is no current batch until the next one. RAYTRAIN_EINVAL
 * if the dataset has fewer rows than the position, or the order is for another number
 * of rows. */
int dataset_state_set(raytrain_dataset *ds, const struct dataset_state *state,
                      struct error *err);
size_t dataset_n_columns(const raytrain_dataset *ds);
/* The name of column i < dataset_n_columns(), owned by the dataset, and dtype and shape
 * of its rows. */
const char *dataset_column_at(const raytrain_dataset *ds, size_t i,
                              raytrain_tensor *row);
size_t dataset_row_bytes(const raytrain_dataset *ds, size_t i);
int dataset_column_info(raytrain_dataset *ds, const char *column, raytrain_tensor *row,
                        struct error *err);
/* The words of a column of words, owned by the dataset. */
const struct dictionary *dataset_words(const raytrain_dataset *ds, const char *column,
                                       struct error *err);
/* The bytes of the longest string: in a column of words, of all its words; in a column
 * of texts, of rows first..first+n. RAYTRAIN_ETYPE if it is neither. */
int dataset_longest(raytrain_dataset *ds, const char *column, uint64_t first,
                    uint64_t n, uint64_t *longest, struct error *err);
/* The most memory that texts and sparse vectors take in a batch of `batch` rows, as
 * they are in the files, before preprocessors. */
int dataset_ragged_bytes(const raytrain_dataset *ds, uint64_t batch, uint64_t *bytes,
                         struct error *err);
/* Takes effect with the next batch, even in the middle of an epoch. */
int dataset_set_batch_size(raytrain_dataset *ds, uint64_t rows, struct error *err);
/* Whether the rows of epochs that begin from now on are mixed, this many at a time: 0,
 * as the configuration says. Rows that it shuffles stay so. All ranks of the split make
 * the same call; an epoch that has begun keeps its order. Not if the caller brings the
 * rows. */
void dataset_set_mixed(raytrain_dataset *ds, uint64_t rows);
/* 0: a batch; 1: end of epoch; -1: error, and the position is unchanged.
 * RAYTRAIN_EINVAL if the caller brings the rows. */
int dataset_next(raytrain_dataset *ds, uint64_t *rows, struct error *err);
/*
 * A second place for batches, such as GPU memory: what is read ahead is put there too,
 * and dataset_column() returns the columns there. There are two batches, 0 and 1, which
 * take turns: one is current while the other is read.
 */
struct batch_place {
    void *arg;
    /* Puts a batch there, in the thread that reads ahead. */
    int (*fill)(void *arg, int number, const struct frame *batch, struct error *err);
    /* Makes this batch the current one; the caller no longer uses the other. */
    int (*turn)(void *arg, int number, struct error *err);
    /* Makes the tensor of column i of dataset_schema() point into this place, if it has
     * the column. */
    void (*show)(void *arg, int number, size_t i, raytrain_tensor *tensor);
    void (*destroy)(void *arg);
};
/* Takes effect with the next batch; until then there is no current one. The dataset
 * owns the place, unless this fails: then nothing has changed. NULL: no place any more.
 * RAYTRAIN_EINVAL if the caller brings the rows. */
int dataset_set_place(raytrain_dataset *ds, const struct batch_place *place,
                      struct error *err);
bool dataset_has_place(const raytrain_dataset *ds);
/* The number of rows of padding at the end of the current batch. */
uint64_t dataset_padding(const raytrain_dataset *ds);
/* True if all batches are full. */
bool dataset_pads(const raytrain_dataset *ds);
/* Numbers, or the codes of words. */
int dataset_column(raytrain_dataset *ds, const char *column, raytrain_tensor *tensor,
                   struct error *err);
/* Texts, or sparse vectors. */
int dataset_ragged(raytrain_dataset *ds, const char *column, raytrain_ragged *out,
                   struct error *err);
/* A column of any kind, of the current batch. NULL on failure. */
const struct frame_column *dataset_frame_column(raytrain_dataset *ds,
                                                const char *column, struct error *err);

#endif
