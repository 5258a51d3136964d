/*
 * conversion.h - one conversion of text files into parts, by all ranks at once.
 *
 * Each rank parses its share of the text into a spool. When all have finished, they
 * know which rows each rank has, and how large the arrays are. Consecutive ranks of a
 * node, normally all of them, then write one part together, each its own rows: two
 * nodes never write to one file.
 */
#ifndef RAYTRAIN_CONVERT_CONVERSION_H
#define RAYTRAIN_CONVERT_CONVERSION_H

#include <jansson.h>

#include "comm/comm.h"
#include "config/data_config.h"
#include "text/source.h"

struct conversion_job {
    const struct dataset_config *cfg;
    const json_t *key;              /* conversion_key.h */
    struct comm *all, *node;        /* node NULL: each rank is on its own node */
    const char *directory;          /* where the parts are made */
    uint64_t number;                /* in the names of the parts */
    const struct text_watch *watch; /* asked before each block; NULL: none */
    /* Warnings for the user, on rank 0. NULL: they are dropped. */
    void (*warn)(void *arg, const char *text);
    void *warn_arg;
};

struct conversion_result {
    /* An array with {"name", "bytes"} for each part, equal on every rank; on rank 0
     * each has its "sums" too (part_sums.h). The caller releases it. */
    json_t *parts;
    uint64_t rows;
};

/* COLLECTIVE, with the same outcome on every rank. On failure no part is left. */
int conversion_run(const struct conversion_job *job, struct conversion_result *result,
                   struct error *err);

#endif
