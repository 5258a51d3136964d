/*
 * service.h - one model that is served, in one or, while it changes, more versions
 * (model_version.h): requests come in from any thread, and go in batches to workers, which
 * connect to a socket.
 *
 *     service_create(&options, &s, &err);  service_start(s, &err);
 *     e = service_hold(s, 0);
 *     if (e && (status = service_submit(s, e, &q)) == 0)
 *         q.done(&q) is called, by this or another thread
 *     service_release(s, e);               after the last look at e and the answer
 *     service_drain(s);                    no new requests; wait for service_is_idle()
 *     service_stop(s);  service_destroy(s);
 *
 * The first version that a worker has becomes the current one. Workers of another one wait
 * until service_switch(), between two batches: requests from then on are for the new
 * version. The old one answers what it has accepted; then its workers are ended, by
 * closing their connections.
 *
 * If a worker ends, its batches go to another one, each request alone: the one that ended
 * the worker does not take others with it. The second time a request gets 503.
 *
 * A mutex guards all of it. It is held for as long as it takes to copy a batch, never
 * while anything is waited for.
 */
#ifndef RAYTRAIN_SERVICE_SERVICE_H
#define RAYTRAIN_SERVICE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/model_version.h"
#include "util/error.h"

struct service;

struct service_options {
    const char *name; /* of the model */
    /* Where workers connect, in a private directory. NULL: workers only come by
     * service_add_worker(). */
    const char *socket;
    struct version_limits limits; /* batch 0: what the predictor prefers */
    double (*clock)(void);        /* NULL: clock_now() */
    /* Receives events, as sentences; may be NULL. Like the others, it is called by the
     * thread of the service, without locks. */
    void (*say)(void *arg, const char *text);
    /* Workers have come or gone, or a version has ended; may be NULL. */
    void (*changed)(void *arg);
    /* Makes an object that is kept with each version (model_version.attached), from the
     * HELLO of its first worker and with the service's lock held. It returns NULL without
     * memory. */
    void *(*attach)(const char *name, const struct service_hello *hello);
    void (*detach)(void *attached);
    void *arg;
};

/* RAYTRAIN_ENOMEM, RAYTRAIN_EINVAL: the path of the socket is too long, RAYTRAIN_ESTORAGE. */
int service_create(const struct service_options *options, struct service **out,
                   struct error *err);
/* Run the thread. Without it, the caller calls service_turn(), as tests do. */
int service_start(struct service *s, struct error *err);
/* Wait for workers for `seconds` at most (< 0: no limit), and do everything that is
 * due. */
int service_turn(struct service *s, double seconds, struct error *err);
/* End the thread. Requests that are left get 503, and new ones are not accepted. */
void service_stop(struct service *s);
/* Close the connections of the workers, and remove the socket. All versions must have
 * been released. NULL is fine. */
void service_destroy(struct service *s);

/* Add a worker by its socket, which the service owns from now on. */
int service_add_worker(struct service *s, int fd, struct error *err);
/* The number of workers of a version that are ready. */
size_t service_workers(struct service *s, int64_t version);
/* RAYTRAIN_ENOTFOUND: no worker of that version is ready. */
int service_switch(struct service *s, int64_t version, struct error *err);

/* Hold a version, so that it stays until it is released; NULL: there is none. */
struct model_version *service_hold_version(struct service *s, int64_t version);
struct model_version *
service_hold_current(struct service *s); /* NULL before the first */
void service_release(struct service *s, struct model_version *v); /* NULL is fine */

/* 0: q->done() will be called. Otherwise 413, 429 or 503, with the reason in q->text:
 * it will not. */
int service_submit(struct service *s, struct model_version *v,
                   struct service_request *q);

/*
 * For a caller that has submitted a request and has nothing else to do: take the answer
 * in this thread, if a worker sends one within `ms` milliseconds, which saves waking
 * another thread. done() of the requests that are answered is called, by this thread or
 * another one. The caller holds e.
 */
void service_help(struct service *s, struct model_version *v, int ms);

void service_drain(struct service *s);
bool service_is_idle(struct service *s);
bool service_is_ready(struct service *s);
const char *service_name(const struct service *s);

#define SERVICE_VERSIONS_MAX 16

/* The current state. */
struct service_state {
    struct service_counts counts;
    int64_t versions
        [SERVICE_VERSIONS_MAX]; /* that answer requests, the current one first */
    size_t n_versions;
    size_t workers, queue, under_way; /* of all; queue: requests; under_way: batches */
    bool ready;
};

void service_look(struct service *s, struct service_state *state);

#endif
