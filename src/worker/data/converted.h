/*
 * converted.h - datasets in text formats. Their rows are converted once, into HDF5
 * files (part.h) in the run directory, and read from there. A later attempt, on any
 * number of workers, uses these files again if neither the text nor the options have
 * changed (conversion_key.h).
 */
#ifndef RAYTRAIN_DATA_CONVERTED_H
#define RAYTRAIN_DATA_CONVERTED_H

#include "config/data_config.h"
#include "data/dataset_env.h"
#include "table/table.h"

/*
 * COLLECTIVE over env->all, with the same outcome on every rank. *is_text: is the
 * dataset in a format of text? Then the first rank of each node gets the table of its
 * rows, and the others an empty one. If not, nothing was done.
 */
int converted_open(const struct dataset_config *cfg, const struct dataset_env *env,
                   bool *is_text, struct table *out, struct error *err);

#endif
