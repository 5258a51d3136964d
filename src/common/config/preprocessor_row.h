/*
 * preprocessor_row.h - the table of preprocessors: one row for each kind, with its keys
 * and their check (preprocessor_keys.c). What it learns and makes is in its file in
 * worker/preprocess, whose table is made from the same list: a row without an
 * implementation, or without keys, does not compile or link. A unit test compares rows
 * and keys with raytrain.cfg(5), and t/1373-python-preprocess.t the classes in Python.
 */
#ifndef RAYTRAIN_CONFIG_PREPROCESSOR_ROW_H
#define RAYTRAIN_CONFIG_PREPROCESSOR_ROW_H

#include <stdbool.h>

#include "config/config_key.h"

struct preprocessor_config;

/* X(NAME, other members): keys_of_NAME in preprocessor_keys.c, and struct
 * preprocessor_ops preprocessor_NAME. */
/* clang-format off */
#define PREPROCESSORS(X)                                                               \
    X(standard_scaler, .check = NULL)                                                  \
    X(min_max_scaler, .check = NULL)                                                   \
    X(max_abs_scaler, .check = NULL)                                                   \
    X(robust_scaler, .check = NULL)                                                    \
    X(normalizer, .check = NULL)                                                       \
    X(power_transformer, .check = NULL)                                                \
    X(simple_imputer, .check = check_fill_value)                                       \
    X(uniform_kbins_discretizer, .check = check_uniform_bins)                          \
    X(custom_kbins_discretizer, .check = check_custom_bins)                            \
    X(concatenator, .check = NULL, .any_columns = true)                                \
    X(categorizer, .check = NULL)                                                      \
    X(ordinal_encoder, .check = NULL)                                                  \
    X(one_hot_encoder, .check = NULL)                                                  \
    X(multi_hot_encoder, .check = NULL)                                                \
    X(label_encoder, .check = NULL)                                                    \
    X(tokenizer, .check = NULL)                                                        \
    X(count_vectorizer, .check = NULL)                                                 \
    X(hashing_vectorizer, .check = check_num_features)                                 \
    X(feature_hasher, .check = check_num_features)                                     \
    X(batch_mapper, .check = check_mapper, .any_columns = true)
/* clang-format on */

#define PREPROCESSOR_KIND(id, ...) PREPROCESSOR_##id,
enum preprocessor_kind { PREPROCESSORS(PREPROCESSOR_KIND) PREPROCESSOR_KINDS };

struct preprocessor_row {
    const char *name;
    struct config_table keys;
    /* Of the values together, after those of each key; NULL: none. */
    int (*check)(const struct preprocessor_config *cfg, const struct config_node *node,
                 const struct config_where *where);
    bool any_columns; /* it needs no columns; else the first key names them */
};

extern const struct preprocessor_row preprocessor_rows[PREPROCESSOR_KINDS];

#endif
