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

struct edition_limits {
    uint64_t batch;  /* rows of a batch */
    double wait_s;   /* for more rows */
    size_t queue;    /* requests that may wait */
    double answer_s; /* from a request to its answer; then 503 */
};

struct edition {
    struct service_hello model;
    struct edition_limits
        limits; /* if the service has 0 for the batch, it is what the model prefers */
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
    struct edition *next;
};

/* Takes ownership of the hello, unless this fails (RAYTRAIN_ENOMEM). */
int edition_create(struct service_hello *hello, const struct edition_limits *limits,
                   struct service_counts *counts, struct edition **out,
                   struct error *err);
void edition_destroy(struct edition *e); /* NULL is fine; there are no requests in it */

/* Does a worker with this hello have the same model? RAYTRAIN_EINVAL names the
 * difference. */
int edition_check(const struct edition *e, const struct service_hello *hello,
                  struct error *err);
void edition_add_worker(struct edition *e, struct worker_link *w);
size_t edition_workers(const struct edition *e);
/* No request waits, and no batch is in progress. */
bool edition_is_idle(const struct edition *e);

/* Put a request into the queue. Returns 0, or the HTTP status that q has got, 429 or
 * 503; then q->done() is not called. */
int edition_submit(struct edition *e, struct service_request *q, double now);
/* Give batches to workers, as long as some are free. */
void edition_dispatch(struct edition *e, double now, struct rows_request_list *done);
/* When a batch stops waiting for more rows; < 0: none is waiting for time to pass. */
double edition_next(const struct edition *e);

/* Handle a message from a worker. -1, with err: the connection is useless. */
int edition_message(struct edition *e, struct worker_link *w, double now,
                    struct rows_request_list *done, struct error *err);
/* A worker is gone, so its batches go to another one. The caller now owns the link. */
void edition_lose_worker(struct edition *e, struct worker_link *w, double now,
                         struct rows_request_list *done);
/* Answer requests that have waited for too long by 503. */
void edition_expire(struct edition *e, double now, struct rows_request_list *done);
/* Answer all requests by 503 and the reason. */
void edition_give_up(struct edition *e, const char *why, double now,
                     struct rows_request_list *done);

#endif
