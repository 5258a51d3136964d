/* data_config.h - DataConfig, and one dataset of the configuration. */
#ifndef RAYTRAIN_CONFIG_DATA_CONFIG_H
#define RAYTRAIN_CONFIG_DATA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* datasets.NAME = { path = ...; label = ...; shuffle = ...; format = ...; columns = [...] } */
struct dataset_config {
    char *name;
    char *path;   /* validation makes it absolute */
    char *label;  /* IDX: the labels' file; other formats: a column. NULL: by convention */
    char *format; /* "hdf5", "idx"; NULL: by the file's content */
    char **columns; /* NULL: all */
    size_t n_columns;
    bool shuffle; /* default false */
    bool split;   /* by data_config.datasets_to_split; false: every worker gets all rows */
};

struct data_config {
    char **datasets_to_split; /* NULL: "all" */
    size_t n_datasets_to_split;
};

#endif
