/*
 * predict_config.h - the key `predict`: what raytrain-predict makes of rows. The
 * checkpoint is the key resume_from_checkpoint, and the input the dataset PREDICT_DATASET.
 */
#ifndef RAYTRAIN_CONFIG_PREDICT_CONFIG_H
#define RAYTRAIN_CONFIG_PREDICT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

/* The dataset of the configuration whose rows are predicted. */
#define PREDICT_DATASET "predict"

struct predict_config {
    char *output; /* the file, absolute after validation; NULL: this is no prediction */
    char **columns; /* of the input, which the output has, too; NULL: none */
    size_t n_columns;
    char **outputs; /* TREE_OUTPUTS, of a model of trees; NULL: its value */
    size_t n_outputs;
    int batch_size; /* rows; 0: as the predictor likes */
};

enum predict_format { PREDICT_HDF5, PREDICT_CSV, PREDICT_NPY, PREDICT_FORMATS };

/* By the ending of the file's name. RAYTRAIN_EINVAL, with the endings that there are. */
int predict_format_of(const char *output, enum predict_format *format,
                      struct error *err);

struct config_table;
extern const struct config_table predict_config_table;

/* Make the output's path absolute; its directory exists, and its format is known. */
int predict_config_validate(struct predict_config *cfg, struct error *err);

#endif
