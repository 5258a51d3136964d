/*
 * predict_config.h - the key `predict`: where rows come from, and where predictions go.
 * raytrain-predict has an output file, and its input is the dataset PREDICT_DATASET.
 * Workers of a service have a socket for both. The checkpoint is the key
 * resume_from_checkpoint.
 */
#ifndef RAYTRAIN_CONFIG_PREDICT_CONFIG_H
#define RAYTRAIN_CONFIG_PREDICT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "config/predict_inputs.h"
#include "util/error.h"

/* The dataset of the configuration that has the rows. */
#define PREDICT_DATASET "predict"

struct predict_config {
    char *output; /* the file, absolute after validation; NULL: none */
    /* The socket of a service, absolute after validation; NULL: none. */
    char *service;
    /* The columns of a service's rows. None: those of the dataset PREDICT_DATASET,
     * except the label. */
    struct predict_inputs inputs;
    /* Columns of the input that are copied to the output; NULL: none. */
    char **columns;
    size_t n_columns;
    /* TREE_OUTPUTS, for a model of trees; NULL: its value. */
    char **outputs;
    size_t n_outputs;
    int batch_size; /* rows; 0: the predictor chooses */
};

/* Is this run a prediction, or a worker of a service? Otherwise it is a training. */
bool predict_config_predicts(const struct predict_config *cfg);

enum predict_format { PREDICT_HDF5, PREDICT_CSV, PREDICT_NPY, PREDICT_FORMATS };

/* The format of a file with this name, by its ending. RAYTRAIN_EINVAL lists the
 * endings. */
int predict_format_of(const char *output, enum predict_format *format,
                      struct error *err);

struct config_table;
extern const struct config_table predict_config_table;

/* Make paths absolute. Check that the output's directory exists and its format is
 * known, and that a service has none of the keys for files. */
int predict_config_validate(struct predict_config *cfg, struct error *err);

#endif
