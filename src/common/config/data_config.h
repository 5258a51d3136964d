/* data_config.h - DataConfig, and one dataset of the configuration. */
#ifndef RAYTRAIN_CONFIG_DATA_CONFIG_H
#define RAYTRAIN_CONFIG_DATA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

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

struct train_config;
struct config_ops;
struct config_table;
extern const struct config_table data_config_table;
extern const struct config_ops datasets_ops; /* the key `datasets` of train_config */

/* Say of each dataset whether it is split. Asks no file system: workers do it too. */
void data_config_settle(struct train_config *cfg);
/* Paths absolute, files there, names of datasets_to_split known. */
int data_config_validate(struct train_config *cfg, struct error *err);

#endif
