/*
 * run_start.h - the checkpoint that a run was started from. It belongs to the run: as
 * long as the run has no checkpoint of its own, each attempt starts from it. The record
 * of the first attempt (train/attempt_record.h) has it as
 *
 *   "started_from": {"path",
 *                    "bytes", "modified": the length of the file, and Unix time in ns,
 *                    "hash": XXH3-64 of its contents, in hexadecimal; null: not known},
 *                   or null: the run was started without a checkpoint
 *
 * The contents of a checkpoint of this library are those of its head, which has a
 * checksum of its tables, and these have one of each tensor.
 */
#ifndef RAYTRAIN_RUN_RUN_START_H
#define RAYTRAIN_RUN_RUN_START_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define RUN_START_KEY "started_from"

struct run_start {
    bool known; /* false: there is no record of how the run was started */
    char *path; /* NULL: without a checkpoint */
    bool measured, hashed;
    uint64_t bytes, hash;
    int64_t modified;
    struct error foreign; /* not RAYTRAIN_OK: why the path may only be shown */
};

/* The start of the run in a directory, from its records; a run of an earlier version
 * only has the path, in run.cfg. */
int run_start_read(const char *run_dir, struct run_start *start, struct error *err);
/* The start of a run that is about to start from this file (NULL: from none). All of
 * the file may be read: go_on(arg) is called from time to time, and if it returns false
 * the reading ends without a hash. go_on may be NULL. */
int run_start_measure(const char *path, bool (*go_on)(void *arg), void *arg,
                      struct run_start *start, struct error *err);
void run_start_clear(struct run_start *start);

/* Has this file the contents of the one that the run was started from? */
int run_start_compare(const struct run_start *start, const char *path, bool *same,
                      struct error *err);

/* For the record; NULL without memory. */
json_t *run_start_json(const struct run_start *start);

#endif
