/*
 * run_config.h - RunConfig and its members: where a run is stored, and when it stops.
 */
#ifndef RAYTRAIN_CONFIG_RUN_CONFIG_H
#define RAYTRAIN_CONFIG_RUN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "config/callback_config.h"
#include "config/checkpoint_config.h"
#include "config/failure_config.h"
#include "config/sync_config.h"

/* A criterion of run_config.stop. It is met when the reported (mean) metric is >=
 * value. */
struct stop_criterion {
    char *metric;
    double value;
};

/* How tensors on GPUs get from rank to rank. */
enum device_collectives {
    COLLECTIVES_NCCL, /* by NCCL, whose failure is an error; by way of the host without it */
    COLLECTIVES_HOST, /* by way of host memory */
    COLLECTIVES_AUTO  /* by NCCL, and by way of the host if it fails */
};

struct run_config {
    /* One path component; default: the training function's base name. */
    char *name;
    /* Default "raytrain_results"; made absolute by validation. */
    char *storage_path;
    struct stop_criterion *stop;
    size_t n_stop;
    int stop_before_end_s; /* before the allocation ends; default 60, 0: off */
    /* After a request to stop; default 0: until the end of the allocation. */
    int grace_s;
    /* For a script after an exception that it does not catch; default 10. */
    int exit_grace_s;
    bool requeue_on_stop; /* return the job to the queue; default false */
    bool allow_code;      /* load code that only a checkpoint names; default false */
    /* An enum device_collectives; default COLLECTIVES_NCCL. */
    int device_collectives;
    /* Whose output is printed (util/rank_choice.h); default "rank0". */
    char *show;
    struct failure_config failure_config;
    struct checkpoint_config checkpoint_config;
    struct sync_config sync_config;
    struct callbacks_config callbacks;
};

struct config_table;
extern const struct config_table run_config_table;

/* Without memory, storage_path or callbacks.list is NULL. */
void run_config_init(struct run_config *cfg);
/* Fill the name from the training function's path, make storage_path absolute, check
 * the name. */
int run_config_validate(struct run_config *cfg, const char *train_func,
                        struct error *err);
/* The base name of the training function's file without ".so", ".py" or the like;
 * malloc'ed. */
char *run_config_default_name(const char *train_func);

/* Clear the criteria to stop. */
void run_config_stop_clear(struct run_config *cfg);

#endif
