/* data_config.h - DataConfig, and one dataset of the configuration. */
#ifndef RAYTRAIN_CONFIG_DATA_CONFIG_H
#define RAYTRAIN_CONFIG_DATA_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/config_node.h"
#include "config/filter_config.h"
#include "config/rows_config.h"

/* What becomes of rows at the end of an epoch that are not a whole batch for each worker:
 * they are divided evenly; left out; or divided, and each batch filled up with rows from
 * the epoch's start. */
enum last_batch { LAST_BATCH_KEEP, LAST_BATCH_DROP, LAST_BATCH_PAD };

/* Of shuffle_window: positions in a window are numbers of 32 bits in memory. */
#define SHUFFLE_WINDOW_MAX ((uint64_t)1 << 28)

/* A column of text, and the type that is declared for it, of COLUMN_TYPES. */
struct dataset_type {
    char *column, *type;
};

enum first_index { FIRST_INDEX_AUTO, FIRST_INDEX_ZERO, FIRST_INDEX_ONE };

/* datasets.NAME = { path = ...; label = ...; shuffle = ...; format = ...; columns =
 * [...] } */
struct dataset_config {
    char *name;
    char *path;   /* of its files (data_files.h); validation makes it absolute */
    char *label;  /* the labels' files, or a column (dataset_label_is_path()). NULL: by
                    convention */
    char *format; /* "hdf5", "csv", ...; NULL: by the files' content, or their names if
                     they are text */
    char **columns; /* NULL: all */
    size_t n_columns;
    char **
        exclude; /* columns that are not in the dataset, though a filter may use them */
    size_t n_exclude;
    bool shuffle;            /* default false */
    uint64_t shuffle_window; /* rows that are mixed with each other; 0: all */
    int last_batch;          /* enum last_batch */
    uint64_t limit;          /* of the rows that pass the filter; 0: all */
    struct filter_config filter;
    struct rows_config rows; /* of those that filter and limit leave */
    bool made;       /* its files are written by the workers, before they read them */
    bool preprocess; /* by the run's preprocessors; default true */
    /* Of text: no line with the names of columns; what separates fields, 0: as it seems;
     * what means a missing value, none: as in pandas; types of columns, others by their
     * values; how LIBSVM counts (enum first_index). */
    bool without_header;
    char delimiter;
    char **missing;
    size_t n_missing;
    struct dataset_type *types;
    size_t n_types;
    int first_index;
    /* Not of the configuration, and borrowed: columns of CSV that are words in the training
     * set. They are here, too, unless `types` has them. */
    char *const *words;
    size_t n_words;
    bool words_matter; /* its own values may say something else */
    bool
        split; /* by data_config.datasets_to_split; false: every worker gets all rows */
};

struct data_config {
    char **datasets_to_split; /* NULL: "all"; not NULL and none: no dataset is split */
    size_t n_datasets_to_split;
};

struct config_table;
extern const struct config_table data_config_table;
extern const struct config_table dataset_config_table; /* of datasets.NAME */

/* The key `datasets` of train_config: a growing array, with the meaning of the slots of
 * struct config_ops. */
int datasets_set(struct dataset_config **datasets, size_t *n,
                 const struct config_node *node, const struct config_where *where);
void datasets_render(const struct dataset_config *datasets, size_t n, const char *name,
                     FILE *out, int depth);
int datasets_check(const struct dataset_config *datasets, size_t n,
                   const struct config_where *where);
void datasets_clear(struct dataset_config **datasets, size_t *n);

/* Is the label the path of files, one for each file of the dataset, and not a column? In
 * formats that may have either, such as NumPy, it is a path if it has a slash (as it has
 * after validation), or if there is such a file. */
bool dataset_label_is_path(const struct dataset_config *dataset);

/* The dataset that preprocessors learn from: "train", or the only one. RAYTRAIN_EINVAL if
 * there is none, or if it is not to be preprocessed. */
int data_config_training_set(const struct dataset_config *datasets, size_t n,
                             const struct dataset_config **found, struct error *err);

/* Set `split` of each dataset. Does not look at the file system: workers do it too. */
void data_config_settle(const struct data_config *cfg, struct dataset_config *datasets,
                        size_t n);
/* RAYTRAIN_EINVAL for one without a path, which may be a mistyped name. */
int data_config_check_paths(const struct dataset_config *datasets, size_t n,
                            struct error *err);
/* Make paths absolute; check that files exist and that datasets_to_split are known. */
int data_config_validate(const struct data_config *cfg, struct dataset_config *datasets,
                         size_t n, struct error *err);

#endif
