/*
 * predict_config.h - the key `predict`: what becomes of rows. raytrain-predict has an
 * output, and its input is the dataset PREDICT_DATASET; workers of a service have a socket,
 * from which rows come and to which predictions go. The checkpoint is the key
 * resume_from_checkpoint.
 */
#ifndef RAYTRAIN_CONFIG_PREDICT_CONFIG_H
#define RAYTRAIN_CONFIG_PREDICT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "config/predict_inputs.h"
#include "util/error.h"

/* The dataset of the configuration whose rows are predicted. */
#define PREDICT_DATASET "predict"

struct predict_config {
    char *output; /* the file, absolute after validation; NULL: none */
    /* The socket of a service, absolute after validation; NULL: none. */
    char *service;
    /* The columns of a service's rows; none: those of the dataset PREDICT_DATASET, but for
     * the label. */
    struct predict_inputs inputs;
    char **columns; /* of the input, which the output has, too; NULL: none */
    size_t n_columns;
    char **outputs; /* TREE_OUTPUTS, of a model of trees; NULL: its value */
    size_t n_outputs;
    int batch_size; /* rows; 0: as the predictor likes */
};

/* Is this run a prediction, or a worker of a service? Otherwise it trains. */
bool predict_config_predicts(const struct predict_config *cfg);

enum predict_format { PREDICT_HDF5, PREDICT_CSV, PREDICT_NPY, PREDICT_FORMATS };

/* By the ending of the file's name. RAYTRAIN_EINVAL, with the endings that there are. */
int predict_format_of(const char *output, enum predict_format *format,
                      struct error *err);

struct config_table;
extern const struct config_table predict_config_table;

/* Make paths absolute. The output's directory exists, and its format is known; a service
 * has no keys of files. */
int predict_config_validate(struct predict_config *cfg, struct error *err);

#endif
