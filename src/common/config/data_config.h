/* data_config.h - DataConfig, and one dataset of the configuration. */
#ifndef RAYTRAIN_CONFIG_DATA_CONFIG_H
#define RAYTRAIN_CONFIG_DATA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/config_node.h"

/* datasets.NAME = { path = ...; label = ...; shuffle = ...; format = ...; columns =
 * [...] } */
struct dataset_config {
    char *name;
    char *path; /* validation makes it absolute */
    char *
        label; /* IDX: the labels' file; other formats: a column. NULL: by convention */
    char *format;   /* "hdf5", "idx"; NULL: by the file's content */
    char **columns; /* NULL: all */
    size_t n_columns;
    bool shuffle; /* default false */
    bool
        split; /* by data_config.datasets_to_split; false: every worker gets all rows */
};

struct data_config {
    char **datasets_to_split; /* NULL: "all"; not NULL and none: no dataset is split */
    size_t n_datasets_to_split;
};

struct config_table;
extern const struct config_table data_config_table;

/* The key `datasets` of train_config: a growing array, with the meaning of the slots of
 * struct config_ops. */
int datasets_set(struct dataset_config **datasets, size_t *n,
                 const struct config_node *node, const struct config_where *where);
void datasets_render(const struct dataset_config *datasets, size_t n, const char *name,
                     FILE *out, int depth);
int datasets_check(const struct dataset_config *datasets, size_t n,
                   const struct config_where *where);
void datasets_clear(struct dataset_config **datasets, size_t *n);

/* Set `split` of each dataset. Does not look at the file system: workers do it too. */
void data_config_settle(const struct data_config *cfg, struct dataset_config *datasets,
                        size_t n);
/* Make paths absolute; check that files exist and that datasets_to_split are known. */
int data_config_validate(const struct data_config *cfg, struct dataset_config *datasets,
                         size_t n, struct error *err);

#endif
