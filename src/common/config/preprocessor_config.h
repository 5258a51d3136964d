/*
 * preprocessor_config.h - the key `preprocessor`: a list of preprocessors, which are
 * applied in its order.
 *
 *     preprocessor = (
 *         { simple_imputer = { columns = ["age"]; strategy = "mean"; }; },
 *         { standard_scaler = { columns = ["age", "height"]; }; }
 *     );
 *
 * { type = "standard_scaler"; columns = [...]; } is the same as { standard_scaler = {
 * columns = [...]; }; }. Names and parameters are those of ray.data.preprocessors, and so are the defaults.
 * { chain = ( ... ); } is a list within the list; its items take its place.
 */
#ifndef RAYTRAIN_CONFIG_PREPROCESSOR_CONFIG_H
#define RAYTRAIN_CONFIG_PREPROCESSOR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "config/column_numbers.h"
#include "config/config_node.h"
#include "config/preprocessor_row.h"

#define PREPROCESSORS_KEY "preprocessor"

enum preprocessor_norm { NORM_L1, NORM_L2, NORM_MAX };
enum power_method { POWER_YEO_JOHNSON, POWER_BOX_COX };
enum imputer_strategy { IMPUTER_MEAN, IMPUTER_MOST_FREQUENT, IMPUTER_CONSTANT };
enum bins_duplicates { DUPLICATES_RAISE, DUPLICATES_DROP };

/* Every parameter of every kind. A kind uses only its own. */
struct preprocessor_config {
    int kind; /* enum preprocessor_kind */
    /* The columns to read; label_encoder: label_column, as the only one. NULL:
     * concatenator takes all columns of numbers except those in `exclude`. */
    char **columns;
    size_t n_columns;
    /* One for each of columns; NULL: the results replace the columns. */
    char **output_columns;
    size_t n_output_columns;
    char **exclude;
    size_t n_exclude;
    char *output_column_name; /* concatenator, feature_hasher; NULL: the default */
    char *dtype;              /* NULL: the default of the kind */
    int ddof;                 /* standard_scaler */
    double quantile_range[2]; /* robust_scaler */
    int norm, method, strategy, duplicates;
    bool has_power; /* else the power is fitted */
    double power;
    char *fill_text; /* simple_imputer: NULL if it is a number or not given */
    bool has_fill_number;
    double fill_number;
    struct numbers_by_column bins, max_categories;
    bool right, include_lowest; /* bins */
    bool raise_if_missing;      /* concatenator */
    int num_features, max_features;
    /* batch_mapper: a function in C, and the absolute path of its shared object (NULL:
     * that of the training function); or, instead, one in Python, "MODULE:NAME", for
     * batches of at most batch_size rows. */
    char *function, *library, *python, *batch_format;
    int batch_size;
};

/* A chain of preprocessors. Zeroed: none. */
struct preprocessors_config {
    struct preprocessor_config *list;
    size_t n;
};

/* Replace the list by that of the node, checked as far as possible without data. On
 * failure it is unchanged. */
int preprocessors_set(struct preprocessors_config *cfg, const struct config_node *node,
                      const struct config_where *where);
/* Write the list as a setting of this name, which reads back the same; nothing if it is
 * empty. */
void preprocessors_render(const struct preprocessors_config *cfg, const char *name,
                          FILE *out, int depth);
void preprocessors_clear(struct preprocessors_config *cfg);

/* preprocessor_text.c */
/* The setting "preprocessor = ( ... );", or "" if there are none: the same text for the
 * same list. malloc'ed; NULL without memory. */
char *preprocessors_text(const struct preprocessors_config *cfg);
/* Replace the list by that of such a text, whose name in messages is `source`. */
int preprocessors_parse(struct preprocessors_config *cfg, const char *text,
                        const char *source, struct error *err);
int preprocessors_copy(const struct preprocessors_config *from,
                       struct preprocessors_config *to, struct error *err);

#endif
