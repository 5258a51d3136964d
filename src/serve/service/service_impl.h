/*
 * service_impl.h - what the files of a service share: service.c has its life, its versions
 * and requests, service_loop.c what the thread waits for, service_workers.c the connections
 * of workers, and service_base.c what all of these need. All are called with the lock, which
 * service_unlock() gives back.
 */
#ifndef RAYTRAIN_SERVICE_SERVICE_IMPL_H
#define RAYTRAIN_SERVICE_SERVICE_IMPL_H

#include <pthread.h>

#include "service/service.h"

#define SAY_MAX 1024
/* How often requests are checked for having waited too long, while there are any. */
#define EXPIRE_S 0.25
/* A connection that has not said HELLO by then is closed. */
#define HELLO_S 60

struct sentence {
    struct sentence *next;
    char text[SAY_MAX];
};

struct service {
    struct service_options o;
    char *name, *socket;
    pthread_mutex_t lock;
    pthread_t thread;
    bool has_thread, stopping, draining, changed;
    int epoll, timer, listener;    /* listener -1: none */
    struct worker_link *strangers; /* without HELLO */
    struct model_version *versions, *current;
    struct service_counts counts;
    /* To be passed on without the lock. */
    struct sentence *said, **said_end;
    double expired; /* time of the last check */
    double armed;   /* the time of the timer; < 0: off */
};

/* -- service_base.c -- */
double service_now(const struct service *s);
int service_error(struct error *err, const char *what);
/* Make the loop wait for a descriptor, which is identified by an address. */
int service_watch(struct service *s, int fd, void *what, uint32_t events,
                  struct error *err);
/* Wake the loop at `when`, unless it wakes earlier; < 0: no change. */
void service_arm(struct service *s, double when, double now);
/* A sentence for the user, passed on at the next service_unlock(). */
void service_say(struct service *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Unlock, and pass on answers, sentences and changes. */
void service_unlock(struct service *s, struct rows_request_list *done);
/* A version that takes requests; NULL: there is none. */
struct model_version *service_version(struct service *s, int64_t version);
void service_close_links(struct worker_link **list);

/* -- service_workers.c -- */
/* Accept the workers that connect. */
void service_accept(struct service *s);
/* Data have arrived from a worker, or can be sent to it. */
void service_link_event(struct service *s, struct worker_link *w, double now,
                        struct rows_request_list *done);
/* Make the loop wait until full links accept more. */
void service_watch_links(struct service *s, const struct model_version *v);
/* Close connections that have not sent a HELLO in time. */
void service_expire(struct service *s, double now, struct rows_request_list *done);

#endif
