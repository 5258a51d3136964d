/*
 * conversion.h - one conversion of text files into parts, by all ranks at once.
 *
 * Each rank parses its share of the text into a spool. When all are done, it is known
 * which rows each rank has, and how large the arrays are. Consecutive ranks of a node,
 * normally all of them, write one part, each its own rows: two nodes never write to one
 * file.
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
    struct comm *all, *node;        /* node NULL: each rank is a node */
    const char *directory;          /* where the parts are made */
    uint64_t number;                /* in the names of the parts */
    const struct text_watch *watch; /* asked before each block; NULL: none */
    /* What the user should know; on rank 0. NULL: it is dropped. */
    void (*warn)(void *arg, const char *text);
    void *warn_arg;
};

struct conversion_result {
    /* {"name", "bytes"} of each, the same on every rank; rank 0 also has their "sums"
     * (part_sums.h). The caller's. */
    json_t *parts;
    uint64_t rows;
};

/* COLLECTIVE, with the same outcome on every rank. On failure no part is left. */
int conversion_run(const struct conversion_job *job, struct conversion_result *result,
                   struct error *err);

#endif
