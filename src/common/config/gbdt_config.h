/*
 * gbdt_config.h - the configuration of the trainers "xgboost" and "lightgbm": columns
 * of the datasets, parameters of the library, and rounds.
 */
#ifndef RAYTRAIN_CONFIG_GBDT_CONFIG_H
#define RAYTRAIN_CONFIG_GBDT_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "config/data_config.h"
#include "util/error.h"

/* The dataset for training. All others are only evaluated. */
#define GBDT_TRAIN "train"
/* The column of the labels, if the configuration does not name one. */
#define GBDT_LABEL "label"

/* The contents of a checkpoint of such a trainer, besides the library's own file of the
 * model: strings; numbers; vectors with a number for each feature. Lists are JSON. */
#define GBDT_TRAINER     "gbdt/trainer"
#define GBDT_LIBRARY     "gbdt/library" /* its version; absent: it has none */
#define GBDT_PARAMS      "gbdt/params"
#define GBDT_DMATRIX     "gbdt/dmatrix_params" /* predictions need them, too */
#define GBDT_FEATURES    "gbdt/features" /* their names; absent: too many to name */
#define GBDT_CATEGORICAL "gbdt/categorical"
#define GBDT_BEST_METRIC "gbdt/best_metric" /* empty: none */
#define GBDT_ROUND       "gbdt/round"       /* rounds done */
#define GBDT_FINISHED    "gbdt/finished"    /* 1: there is nothing left to do */
#define GBDT_BEST_ROUND  "gbdt/best_round"  /* -1: none */
#define GBDT_BEST_SCORE  "gbdt/best_score"
#define GBDT_GAIN        "gbdt/importance/gain"
#define GBDT_SPLITS      "gbdt/importance/splits"

struct gbdt_config {
    char *label;  /* a column; NULL: GBDT_LABEL */
    char *weight; /* a column; NULL: all rows have weight 1 */
    /* A column: adjacent rows with the same number are a query; NULL: none. */
    char *qid;
    char *base_margin;  /* a column of numbers or of vectors; NULL: none */
    char **categorical; /* columns whose numbers are categories; NULL: none */
    size_t n_categorical;
    char **exclude; /* columns that are not features; NULL: none */
    size_t n_exclude;
    json_t *params;            /* the library's, as the user wrote them: an object */
    json_t *dmatrix_params;    /* the library's, for its matrices: an object */
    int num_boost_round;       /* in all */
    int early_stopping_rounds; /* 0: off */
    /* "valid-auc"; NULL: the last metric of the last dataset. */
    char *early_stopping_metric;
};

/* Is this one of these trainers? */
bool gbdt_config_is_trainer(const char *trainer);

void gbdt_config_init(struct gbdt_config *cfg);
/* For a run with such a trainer: there is a dataset "train", and so on. */
int gbdt_config_validate(struct gbdt_config *cfg, const struct dataset_config *datasets,
                         size_t n, struct error *err);

/*
 * Value i of one parameter of `params` as text, for libraries that take strings. A list
 * has several values if `lists`, else it is one text, "[1,0,-1]".
 * Numbers read back to the same bits. NULL after the last value, or without memory. The
 * caller frees it.
 */
char *gbdt_param_text(const json_t *value, bool lists, size_t i);

#endif
