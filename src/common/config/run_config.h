/* run_config.h - RunConfig and its members: where a run is stored, when it stops. */
#ifndef RAYTRAIN_CONFIG_RUN_CONFIG_H
#define RAYTRAIN_CONFIG_RUN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "config/callback_config.h"
#include "config/checkpoint_config.h"
#include "config/failure_config.h"
#include "config/sync_config.h"

/* A criterion of run_config.stop: met when the reported (mean) metric is >= value. */
struct stop_criterion {
    char *metric;
    double value;
};

struct run_config {
    char *name; /* one path component; default: the training function's base name */
    char *storage_path; /* default "raytrain_results"; made absolute by validation */
    struct stop_criterion *stop;
    size_t n_stop;
    int stop_before_end_s; /* of the allocation; default 60, 0: off */
    int grace_s; /* after a request to stop; default 0: until the end of the allocation */
    int exit_grace_s; /* of a script after an exception that it does not catch; default 10 */
    bool requeue_on_stop; /* the job goes back to the queue; default false */
    bool allow_code;      /* that only a checkpoint names; default false */
    char *show; /* whose output is printed (util/rank_choice.h); default "rank0" */
    struct failure_config failure_config;
    struct checkpoint_config checkpoint_config;
    struct sync_config sync_config;
    struct callbacks_config callbacks;
};

struct config_table;
extern const struct config_table run_config_table;

/* Without memory, storage_path or callbacks.list are NULL. */
void run_config_init(struct run_config *cfg);
/* Fill the name from the training function's path, make storage_path absolute, check
 * the name. */
int run_config_validate(struct run_config *cfg, const char *train_func,
                        struct error *err);
/* The base name of the training function's file without ".so", ".py" or the like;
 * malloc'ed. */
char *run_config_default_name(const char *train_func);

/* Forget the criteria to stop by. */
void run_config_stop_clear(struct run_config *cfg);

#endif
