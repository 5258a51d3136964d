/* dataset_config.h - one dataset of the configuration: what each of its keys sets. */
#ifndef RAYTRAIN_CONFIG_DATASET_CONFIG_H
#define RAYTRAIN_CONFIG_DATASET_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    char *path; /* of its files (data_files.h); validation makes it absolute */
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
    /* `words` change how it is converted: its own words may differ from them. */
    bool words_matter;
    /* Set by data_config.datasets_to_split; false: every worker gets all rows. */
    bool split;
};

#endif
