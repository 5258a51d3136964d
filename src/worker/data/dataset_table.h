/*
 * dataset_table.h - from the configuration of a dataset to its table: which files and
 * columns, which rows of them, in which order, and what is left out.
 */
#ifndef RAYTRAIN_DATA_DATASET_TABLE_H
#define RAYTRAIN_DATA_DATASET_TABLE_H

#include "config/data_config.h"
#include "data/dataset_env.h"
#include "data/epoch_order.h"
#include "table/left_out.h"
#include "table/table.h"

/* The rows of the files that the configuration asks for, and of these the selected
 * ones. COLLECTIVE over env->all with the outcome so far, rc; every rank of the node
 * takes part in table_share(), also if it has failed. */
int dataset_table_find(const struct dataset_config *cfg, const struct dataset_env *env,
                       int rc, struct table *table, struct left_out *left_out,
                       struct error *err);

/* The order of its rows, which depends on the table and the configuration alone: it is
 * part of what a position means. */
struct order_kind dataset_table_order(const struct dataset_config *cfg,
                                      const struct table *t);
/* An order that mixes this many rows at a time, > 0, as the option shuffle_window
 * does. */
struct order_kind dataset_table_windows(const struct table *t, uint64_t rows);

/* Once the dataset is open: what is left out, on the first rank of each node; the user
 * is warned once. */
int dataset_table_finish(const struct dataset_config *cfg,
                         const struct dataset_env *env, struct left_out *left_out,
                         struct error *err);

#endif
