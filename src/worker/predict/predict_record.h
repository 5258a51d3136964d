/*
 * predict_record.h - RUN/prediction.json records how a prediction was begun: the input,
 * the checkpoint, the columns, and how the rows are divided. A prediction that
 * continues must agree with all of it, or its parts would not fit together.
 *
 *   {"output": PATH, "format": "hdf5", "input": PATH, "checkpoint": PATH,
 *    "iteration": N, "rows": N, "batch": N, "shard_rows": N,
 *    "columns": [{"name", "dtype", "shape": [...], "kept"}]}
 */
#ifndef RAYTRAIN_PREDICT_PREDICT_RECORD_H
#define RAYTRAIN_PREDICT_PREDICT_RECORD_H

#include <jansson.h>

#include "predict/predict_plan.h"
#include "predict/predicted.h"

struct predict_facts {
    const char *output, *input;
    const char *checkpoint; /* NULL: none */
    int64_t iteration;      /* of the checkpoint */
    const struct predicted *predicted;
    const struct predict_plan *plan;
};

/* A new reference; NULL: out of memory. */
json_t *predict_record_make(const struct predict_facts *facts);

/* The record in the run directory, a new reference; *record is NULL if there is
 * none. */
int predict_record_load(const char *run_dir, json_t **record, struct error *err);
int predict_record_save(const char *run_dir, const json_t *record, struct error *err);

/* RAYTRAIN_EINVAL, with the key, if they differ. "shard_rows" may differ: the record of
 * earlier parts decides it. */
int predict_record_compare(const json_t *before, const json_t *now, struct error *err);
/* 0 if the number is not valid. */
uint64_t predict_record_part_rows(const json_t *record);

#endif
