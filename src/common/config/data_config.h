/* data_config.h - DataConfig, and the datasets of the configuration. */
#ifndef RAYTRAIN_CONFIG_DATA_CONFIG_H
#define RAYTRAIN_CONFIG_DATA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/config_node.h"
#include "config/dataset_config.h"

struct data_config {
    /* NULL: "all"; not NULL, but empty: no dataset is split. */
    char **datasets_to_split;
    size_t n_datasets_to_split;
};

struct config_table;
extern const struct config_table data_config_table;
extern const struct config_table dataset_config_table; /* of datasets.NAME */

/* The key `datasets` of train_config: a growing array, with functions like those of
 * struct config_ops. */
int datasets_set(struct dataset_config **datasets, size_t *n,
                 const struct config_node *node, const struct config_where *where);
void datasets_render(const struct dataset_config *datasets, size_t n, const char *name,
                     FILE *out, int depth);
int datasets_check(const struct dataset_config *datasets, size_t n,
                   const struct config_where *where);
void datasets_clear(struct dataset_config **datasets, size_t *n);

/* Is the label the path of files, one for each file of the dataset, and not a column?
 * In formats that may have either, such as NumPy, it is a path if it has a slash (as it
 * has after validation), or if there is such a file. */
bool dataset_label_is_path(const struct dataset_config *dataset);

/* The dataset that preprocessors learn from: "train", or the only one. RAYTRAIN_EINVAL
 * if there is none, or if it is not to be preprocessed. */
int data_config_training_set(const struct dataset_config *datasets, size_t n,
                             const struct dataset_config **found, struct error *err);

/* Set `split` of each dataset. Does not look at the file system: workers do it too. */
void data_config_settle(const struct data_config *cfg, struct dataset_config *datasets,
                        size_t n);
/* RAYTRAIN_EINVAL for a dataset without a path, whose name may be mistyped. */
int data_config_check_paths(const struct dataset_config *datasets, size_t n,
                            struct error *err);
/* Make paths absolute; check that files exist and that datasets_to_split are known. */
int data_config_validate(const struct data_config *cfg, struct dataset_config *datasets,
                         size_t n, struct error *err);

#endif
