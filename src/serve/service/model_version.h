/*
 * model_version.h - one version of a model: the workers that have it, and the queue of the
 * requests for it. A version that replaces another one has its own queue, so that the
 * requests for the old one are answered by the old one.
 *
 * There are no locks and no clock here: the service (service.h) has both. Requests that
 * have got their answer are added to a list, for the caller to call their done().
 */
#ifndef RAYTRAIN_SERVICE_MODEL_VERSION_H
#define RAYTRAIN_SERVICE_MODEL_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/rows_request.h"
#include "service/service_counts.h"
#include "service/worker_link.h"

struct version_limits {
    uint64_t batch;  /* rows of a batch */
    double wait_s;   /* for more rows */
    size_t queue;    /* requests that may wait */
    double answer_s; /* from a request to its answer; then 503 */
};

struct model_version {
    struct service_hello model;
    /* If the service has 0 for the batch, it is what the model prefers. */
    struct version_limits limits;
    struct service_counts *counts;
    struct piece *queue, **queue_end;
    uint64_t queue_rows;
    size_t queue_pieces;
    struct worker_link *workers;
    uint64_t next_id;
    unsigned refs; /* users that hold it, see service.h */
    bool is_retired;
    /* Set by the user of the service; freed with free_attached. */
    void *attached;
    void (*free_attached)(void *attached);
    struct model_version *next;
};

/* Takes ownership of the hello, unless this fails (RAYTRAIN_ENOMEM). */
int model_version_create(struct service_hello *hello,
                         const struct version_limits *limits,
                         struct service_counts *counts, struct model_version **out,
                         struct error *err);
/* NULL is fine; there are no requests in it. */
void model_version_destroy(struct model_version *v);

/* Does a worker with this hello have the same model? RAYTRAIN_EINVAL names the
 * difference. */
int model_version_check(const struct model_version *v,
                        const struct service_hello *hello, struct error *err);
void model_version_add_worker(struct model_version *v, struct worker_link *w);
size_t model_version_workers(const struct model_version *v);
/* No request waits, and no batch is in progress. */
bool model_version_is_idle(const struct model_version *v);

/* Put a request into the queue. Returns 0, or the HTTP status that q has got, 429 or
 * 503; then q->done() is not called. */
int model_version_submit(struct model_version *v, struct service_request *q,
                         double now);
/* Give batches to workers, as long as some are free. */
void model_version_dispatch(struct model_version *v, double now,
                            struct rows_request_list *done);
/* When a batch stops waiting for more rows; < 0: none is waiting for time to pass. */
double model_version_next(const struct model_version *v);

/* Handle a message from a worker. -1, with err: the connection is useless. */
int model_version_message(struct model_version *v, struct worker_link *w, double now,
                          struct rows_request_list *done, struct error *err);
/* A worker is gone, so its batches go to another one. The caller now owns the link. */
void model_version_lose_worker(struct model_version *v, struct worker_link *w,
                               double now, struct rows_request_list *done);
/* Answer requests that have waited for too long by 503. */
void model_version_expire(struct model_version *v, double now,
                          struct rows_request_list *done);
/* Answer all requests by 503 and the reason. */
void model_version_give_up(struct model_version *v, const char *why, double now,
                           struct rows_request_list *done);

#endif
