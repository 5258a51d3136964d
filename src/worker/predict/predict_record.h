/*
 * predict_record.h - what a prediction was begun with, RUN/prediction.json: the input,
 * the checkpoint, the columns, and how the rows are cut. One that goes on must agree
 * with all of it, or its parts would not fit together.
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

/* New; NULL without memory. */
json_t *predict_record_make(const struct predict_facts *facts);

/* The record in the run directory: new, NULL if there is none. */
int predict_record_load(const char *run_dir, json_t **record, struct error *err);
int predict_record_save(const char *run_dir, const json_t *record, struct error *err);

/* RAYTRAIN_EINVAL if they differ, with what does. "shard_rows" may: a record of earlier
 * parts decides about that. */
int predict_record_compare(const json_t *before, const json_t *now, struct error *err);
/* 0 if it is not a number that can be right. */
uint64_t predict_record_part_rows(const json_t *record);

#endif
