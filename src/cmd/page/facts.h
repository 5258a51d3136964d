/*
 * facts.h - what is known about a run, loaded once for all parts of its page.
 */
#ifndef RAYTRAIN_PAGE_FACTS_H
#define RAYTRAIN_PAGE_FACTS_H

#include <jansson.h>

#include "config/train_config.h"
#include "page/superseded.h"
#include "run/metrics_table.h"
#include "util/error.h"

struct facts {
    json_t *run; /* inspect_run_records() */
    const json_t *attempts, *checkpoints;
    struct metrics_table table;
    struct superseded superseded;
    const char *path, *name, *status;
    char *config;                 /* text of run.cfg; NULL: there is none */
    struct train_config settings; /* what this version reads of it; else defaults */
    double now;                   /* time of the page */
    double *reported; /* time of each attempt's last report that counts; 0: none */
    size_t n_reported;
};

/* RAYTRAIN_EINVAL if it is not a run. */
int facts_load(const char *run, struct facts *f, struct error *err);
void facts_clear(struct facts *f); /* call it also after a failure */

/* Members of an attempt or a checkpoint; NaN: there is no such number. */
double facts_number(const json_t *object, const char *key);
/* When an attempt began and ended; one whose launcher was killed ends with its last
 * report. False and 0: not known. */
bool facts_times(const struct facts *f, const json_t *attempt, double *start,
                 double *end);
/* A cell of a report. */
int64_t facts_integer(const struct facts *f, size_t report, const char *key);
/* The iteration of a checkpoint's file; -1 if it is damaged. */
int64_t facts_iteration(const json_t *checkpoint);

#endif
