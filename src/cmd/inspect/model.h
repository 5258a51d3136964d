/*
 * model.h - the model of trees in a checkpoint of the trainers xgboost and lightgbm
 * (config/gbdt_config.h has the names).
 */
#ifndef RAYTRAIN_INSPECT_MODEL_H
#define RAYTRAIN_INSPECT_MODEL_H

#include <jansson.h>
#include <stdio.h>

#include "checkpoint/checkpoint.h"

/* An object with trainer, library, rounds and the most important features; *out stays
 * NULL if the checkpoint has no such model. */
int model_json(raytrain_checkpoint *ck, json_t **out, struct error *err);
void model_print(FILE *out, const json_t *model);

/* Does the name mean a file of a model, such as "model.json", and not a directory? */
bool model_is_file(const char *name);
/* Check that the checkpoint can be exported to `to`: a file with a known ending, or a
 * directory whose name has no ending. RAYTRAIN_EINVAL. */
int model_check_directory(raytrain_checkpoint *ck, const char *dir, struct error *err);
/* Write the model to a file, in the format of its ending. Returns an object that describes
 * it; NULL on failure, and then nothing is written. */
json_t *model_export(const char *path, const char *file, struct error *err);

#endif
