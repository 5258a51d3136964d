/* data_config.h - DataConfig, and one dataset of the configuration. */
#ifndef RAYTRAIN_CONFIG_DATA_CONFIG_H
#define RAYTRAIN_CONFIG_DATA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/config_node.h"
#include "config/filter_config.h"
#include "config/rows_config.h"

/* What happens at the end of an epoch to rows that do not fill a batch for each worker:
 * they are divided evenly; or left out; or divided, and each batch is filled up with
 * rows from the start of the epoch. */
enum last_batch { LAST_BATCH_KEEP, LAST_BATCH_DROP, LAST_BATCH_PAD };

/* For shuffle_window: positions in a window are 32-bit numbers in memory. */
#define SHUFFLE_WINDOW_MAX ((uint64_t)1 << 28)

/* A column of text, and its declared type, one of COLUMN_TYPES. */
struct dataset_type {
    char *column, *type;
};

enum first_index { FIRST_INDEX_AUTO, FIRST_INDEX_ZERO, FIRST_INDEX_ONE };

/* datasets.NAME = { path = ...; label = ...; shuffle = ...; format = ...; columns =
 * [...] } */
struct dataset_config {
    char *name;
    char *path;   /* of its files (data_files.h); validation makes it absolute */
    /* The labels' files, or a column (dataset_label_is_path()). NULL: by convention. */
    char *label;
    /* "hdf5", "csv", ...; NULL: by the contents of the files, or by their names if they
     * are text. */
    char *format;
    char **columns; /* NULL: all */
    size_t n_columns;
    /* Columns that are not in the dataset, though a filter may use them. */
    char **exclude;
    size_t n_exclude;
    bool shuffle;            /* default false */
    uint64_t shuffle_window; /* rows that are mixed with each other; 0: all */
    int last_batch;          /* enum last_batch */
    uint64_t limit;          /* rows that pass the filter; 0: all */
    struct filter_config filter;
    struct rows_config rows; /* among those that filter and limit leave */
    /* The workers write its files before they read them. */
    bool made;
    /* The run's preprocessors apply to it; default true. */
    bool preprocess;
    /* For text: the file has no line with names of columns; the delimiter, 0: detected;
     * texts that mean a missing value, none: as in pandas; types of columns, the others
     * by their values; how LIBSVM counts (enum first_index). */
    bool without_header;
    char delimiter;
    char **missing;
    size_t n_missing;
    struct dataset_type *types;
    size_t n_types;
    int first_index;
    /* Not set by the configuration, and borrowed: columns of CSV that are words in the
     * training set. They are words here, too, unless `types` has them. */
    char *const *words;
    size_t n_words;
    /* Its own values may differ from words. */
    bool words_matter;
    /* Set by data_config.datasets_to_split; false: every worker gets all rows. */
    bool split;
};

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
