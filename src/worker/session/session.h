/*
 * session.h - what a training function can call: the raytrain_context behind
 * raytrain.h.
 *
 * A process has one session. Calls on objects of the public API without a context (a
 * checkpoint, a dataset, a reducer) leave their errors in that session.
 */
#ifndef RAYTRAIN_SESSION_SESSION_H
#define RAYTRAIN_SESSION_SESSION_H

#include <stdatomic.h>
#include <stdint.h>

#include "backend/backend.h"
#include "checkpoint/checkpoint.h"
#include "config/train_config.h"
#include "data/dataset.h"
#include "device/group.h"
#include "predict/predictor.h"
#include "preprocess/chain.h"
#include "rank/collective_wait.h"
#include "run/metrics.h"
#include "util/json_writer.h"
#include "saving/saving.h"
#include "session/data_decided.h"
#include "session/random_streams.h"
#include "wireup/wireup.h"

/* What a session is created with; borrowed, and must outlive the session. */
struct session_env {
    const struct world *world;
    struct wireup *wireup; /* NULL: what ranks share goes through the backend */
    const struct train_config *config;
    const struct backend *backend;
    const char *run_dir, *log_dir;
    const char *invocation; /* a token of this start of raytrain-run, or NULL */
    struct rank_status_place *place; /* of this rank; NULL: it writes nothing */
    int attempt;
    int argc; /* arguments after the training function */
    char **argv;
};

/* One dataset of the configuration. */
struct session_dataset {
    raytrain_dataset *shard;    /* NULL: not opened in this attempt */
    struct dataset_state state; /* of the checkpoint; at a save, of the shard */
    uint64_t saved[5];          /* the same, as numbers that a save refers to */
    bool has_state;
    bool opened; /* in this attempt, as this shard or otherwise */
};

/* An array that a config look-up has returned. */
struct config_array {
    struct config_array *next;
    const void *source; /* the JSON array it was converted from: its key */
    bool integers;
    size_t n;
    union {
        int64_t *integer;
        double *real;
    } values;
};

/* Why the training must stop. */
enum stop_reason { STOP_NO, STOP_ASKED, STOP_CRITERIA };

/* When a checkpoint is due (checkpoint_schedule.c): the same on every rank, since it
 * depends only on what reports have combined. */
struct session_schedule {
    bool asks;    /* the training function asks */
    bool due;     /* the next report should have one */
    bool warned;  /* the user was warned that it never asks */
    double total; /* time_total_s of the latest report */
    double took;  /* the latest iteration, in seconds */
    double saved; /* time_total_s of the latest checkpoint */
};

/* What the training function knows of a preemption (preemption.h). */
struct session_preemption {
    bool asked;     /* it asks, on all ranks */
    bool otherwise; /* at its last call: a stop was requested, without a preemption */
    double looked;  /* rank 0: when it last looked for the notice; clock_now() */
    json_t *notice; /* rank 0's; NULL: none */
    int64_t number; /* how often that has changed */
    int64_t counts[3]; /* from which `text` was made */
    char *text;        /* the answer, the same on every rank; NULL: none */
};

/* The GPUs for the user's collectives (device_group.c). */
struct session_devices {
    struct device_group *group;
    bool asked;     /* the group was requested; NULL then: it cannot be made */
    bool said;      /* a warning was given that it cannot be made */
    bool given_up;  /* NCCL has failed, and is no longer used */
    bool lost;      /* a rank did not answer: ctx->user is neither used nor freed */
    int device, id; /* this rank's GPU in it */
};

struct raytrain_context {
    struct error error; /* of the latest call that failed */
    struct session_env env;

    /* The backend's communicator is for what all ranks have agreed on; `user` is for
     * the user's calls. The others are created at their first use. */
    struct comm *comm;
    struct comm *user, *store, *node;
    struct collective_wait waiting;
    struct session_devices devices;

    int64_t iteration, iterations_since_restore;
    double time_before; /* time_total_s when this attempt began */
    double started, last_report;
    double data_waited_s; /* from the start to the last report */
    double next_sign;     /* of progress (signs.h): when, by clock_now() */
    enum stop_reason stop_reason;
    bool should_stop;
    bool stop_asked; /* some rank has called raytrain_should_stop() */
    struct session_preemption preemption;
    struct session_schedule schedule;
    bool criteria_checked;
    bool nan_noted;        /* a warning was given: the last report had a NaN */
    bool workers_noted;    /* ... what all ranks report is too long */
    bool names_noted;      /* ... ranks report different names */
    bool ended_on_request; /* the command was asked to end, and makes no calls */
    bool over; /* all ranks know that this holds on one: calls do not communicate */

    int64_t total;       /* number of iterations (raytrain_set_total()); 0: not known */
    json_t *keys_asked;  /* up to the first report (setting_notes.h); NULL: none */
    bool all_keys_asked; /* all keys were asked for, or it is not known which */
    json_t *typed; /* integers, texts and vectors for the next report; NULL: none */
    struct json_writer line; /* rank 0: the last report */

    raytrain_checkpoint *restored; /* NULL on a fresh start */
    bool restored_own;             /* it belongs to this run */
    /* Rank 0: the kind and the number of workers of its metrics; 0: ignored
     * (setting_notes.h). */
    int restored_workers;
    bool restored_of_rank0;
    struct session_opened *opened; /* those of raytrain_checkpoint_open() */
    struct journal *journal;       /* rank 0's reports */
    struct tiers *tiers;           /* NULL: none */
    struct saving *saving;
    struct session_random random;
    struct chain chain; /* fitted preprocessors; n is 0: none */
    struct data_decisions decisions;
    struct session_dataset *datasets; /* as config->datasets */
    struct dataset_config input;      /* of a prediction, with what was decided */
    struct config_array *arrays;
    char *artifacts;               /* the directory; NULL: not asked for yet */
    raytrain_predictor *predictor; /* NULL: this is not a prediction */
    /* The process that the companion of a command serves; 0: none, or this one. */
    atomic_int client;
    struct comm *predictions;      /* its communicator */
};

/* NULL: there is none. */
raytrain_context *session_current(void);
void session_current_set(raytrain_context *ctx);

/* COLLECTIVE at the first call of each. NULL on failure. */
struct comm *session_user_comm(raytrain_context *ctx, struct error *err);
struct comm *session_store_comm(raytrain_context *ctx, struct error *err);
struct comm *session_node_comm(raytrain_context *ctx, struct error *err);

/* session_error.c */
/* Where a call on ctx leaves its error; never NULL, even if ctx is. */
struct error *session_error(raytrain_context *ctx);
/* The raytrain_status for a function's 0 or -1. */
int session_status(raytrain_context *ctx, int rc);
/* RAYTRAIN_EINVAL, and "CALL: the WHAT is NULL". */
int session_null(raytrain_context *ctx, const char *call, const char *what);

#endif
