/*
 * edition.h - one version of a model: the workers that have it, and the queue of the
 * requests for it. A version that replaces another one has its own queue, so that the
 * requests for the old one are answered by the old one.
 *
 * There are no locks and no clock here: the service (service.h) has both. Requests that
 * have got their answer are added to a list, for the caller to call their done().
 */
#ifndef RAYTRAIN_SERVICE_EDITION_H
#define RAYTRAIN_SERVICE_EDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/rows_request.h"
#include "service/service_counts.h"
#include "service/worker_link.h"

struct edition_limits {
    uint64_t batch;  /* rows of a batch */
    double wait_s;   /* that a batch waits for more rows */
    size_t queue;    /* requests that wait */
    double answer_s; /* from a request to its answer; then 503 */
};

struct edition {
    struct service_hello model;
    struct edition_limits
        limits; /* batch: 0 in the service's is the model's wish here */
    struct service_counts *counts;
    struct piece *queue, **queue_end;
    uint64_t queue_rows;
    size_t queue_pieces;
    struct worker_link *workers;
    uint64_t next_id;
    unsigned refs; /* of users that hold it, see service.h */
    bool is_retired;
    void *attached; /* by the user of the service; freed with free_attached */
    void (*free_attached)(void *attached);
    struct edition *next;
};

/* Takes the hello. RAYTRAIN_ENOMEM: then the hello is the caller's. */
int edition_create(struct service_hello *hello, const struct edition_limits *limits,
                   struct service_counts *counts, struct edition **out,
                   struct error *err);
void edition_destroy(struct edition *e); /* NULL is fine; there are no requests in it */

/* Does a worker that says this have the same model? RAYTRAIN_EINVAL says what differs. */
int edition_check(const struct edition *e, const struct service_hello *hello,
                  struct error *err);
void edition_add_worker(struct edition *e, struct worker_link *w);
size_t edition_workers(const struct edition *e);
/* Nothing waits, and nothing is under way. */
bool edition_is_idle(const struct edition *e);

/* Into the queue: 0, or the status of HTTP that q has got, 429 or 503; q->done() is not
 * called then. */
int edition_submit(struct edition *e, struct service_request *q, double now);
/* Give batches to workers, as far as there are any that are free. */
void edition_dispatch(struct edition *e, double now, struct rows_request_list *done);
/* When a batch need not wait for more rows any longer; < 0: it does not wait for time. */
double edition_next(const struct edition *e);

/* A message of a worker has arrived. -1, and err: the connection is useless. */
int edition_message(struct edition *e, struct worker_link *w, double now,
                    struct rows_request_list *done, struct error *err);
/* A worker is gone: its batches are for another one. The link is the caller's now. */
void edition_lose_worker(struct edition *e, struct worker_link *w, double now,
                         struct rows_request_list *done);
/* Requests that have waited for too long get 503. */
void edition_expire(struct edition *e, double now, struct rows_request_list *done);
/* All requests get 503, and why. */
void edition_give_up(struct edition *e, const char *why, double now,
                     struct rows_request_list *done);

#endif
