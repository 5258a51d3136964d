/*
 * live_model.h - one model of a service while it is served: its queue, its workers, and the
 * changes of its version. All functions but live_model_say() are called by the thread that
 * turns the event loop.
 */
#ifndef RAYTRAIN_LIFE_LIVE_MODEL_H
#define RAYTRAIN_LIFE_LIVE_MODEL_H

#include "crew/crew.h"
#include "life/follower.h"
#include "life/life_options.h"
#include "service/service.h"

/* Seconds for workers to end, beyond the time for an answer. */
#define WORKER_GRACE_S 10.0
/* Seconds without a sign of life after which a worker is replaced. */
#define WORKER_SILENT_S 3.0

struct live_model;

/* What all models of a service share. */
struct live_env {
    const struct life_options *o;
    struct event_loop *loop;
    const char *sockets, *runs; /* directories */
    int changed, newer;         /* eventfds that are written, by other threads, when
                           live_model_changed(), or live_model_newer(), has something to do */
    bool ending;                /* versions are not changed any more */
    /* Called when no worker of the present version is left, and none will be
     * started. */
    void (*lost)(void *arg, struct live_model *m, const struct error *why);
    void *arg;
};

/* A group of workers, and their version. */
struct version {
    int group; /* -1: there is none */
    int64_t number;
    char *checkpoint;
    bool all_joined;
};

struct live_model {
    const struct live_env *env;
    const struct life_model *o;
    int index;               /* index among the models */
    char *sockets, *runs;    /* directories */
    struct service *service; /* NULL: not begun, or ended */
    struct crew *crew;
    struct follower *follower; /* NULL: it does not follow */
    struct version now, next;
    char *pending;  /* the checkpoint after the next one; NULL: none */
    bool was_ready; /* has been ready before */
    bool is_dead;   /* the present version has no workers, and gets none */
};

/* Start its workers. Call live_model_clear() even after a failure. */
int live_model_begin(struct live_model *m, const struct live_env *env, int index,
                     struct error *err);
/* Workers have connected or ended. */
void live_model_changed(struct live_model *m);
/* There may be another checkpoint to serve. */
void live_model_newer(struct live_model *m);
/* A sentence for the user; if there are several models, its name comes first. */
void live_model_say(struct live_model *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Has it answered, or given up, all requests that it has accepted? */
bool live_model_is_answered(const struct live_model *m);
/* End its service, which must not be in use; its workers' connections are closed. */
void live_model_end(struct live_model *m);
/* The number of groups of workers that have not ended. */
size_t live_model_groups(const struct live_model *m);
void live_model_clear(struct live_model *m);

#endif
