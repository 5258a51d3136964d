/*
 * exchange.h - one request and its answer, from the first line of the header until the
 * answer has been sent. Between the files of this room.
 */
#ifndef RAYTRAIN_HTTP_EXCHANGE_H
#define RAYTRAIN_HTTP_EXCHANGE_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "event/outlet.h"
#include "http/clients.h"
#include "http/front_options.h"
#include "infer/infer.h"

#define STATUS_MAX 600
#define ROUTE_ARGS 2 /* variable parts of a path: model, version */

struct route;

struct front {
    struct front_options o;
    struct MHD_Daemon *daemon;
    atomic_bool is_quiet; /* no more connections */
    struct clients *clients;
    struct outlet *log;
    atomic_uint_fast64_t bodies;    /* bytes */
    atomic_uint_fast64_t outputs;   /* bytes of predictions that clients wait for */
    atomic_uint asking;             /* requests that are at services */
    _Atomic(struct client *) asked; /* the client of the latest one */
    atomic_uint_fast64_t answers[STATUS_MAX]; /* by status */
    /* The thread that disconnects clients that are late. */
    pthread_t thread;
    bool has_thread, is_ending;
    pthread_mutex_t lock;
    pthread_cond_t ended;
};

struct exchange {
    struct front *front;
    struct MHD_Connection *connection;
    struct client *client;
    const struct route *route; /* NULL: it is refused */
    char *path;                /* raw, for the log */
    char *args[ROUTE_ARGS];    /* of the path, decoded; NULL: there is none */
    const char *method;
    double since;
    /* The body */
    char *body;
    size_t n, room;
    /* The answer */
    int status;   /* 0: none yet */
    bool is_last; /* the connection is closed after it */
    struct infer_answer answer;
    const char *fixed; /* an answer that is not malloc'ed, in place of that one */
    char allow[32];    /* methods */
    /* A prediction */
    struct service *service;
    struct model_version *held;
    struct infer_request asked;
    struct service_rows *inputs;
    struct service_request q;
    bool waits;
    bool is_again;          /* it was submitted before, to a version that has ended */
    atomic_int phase;       /* of the request; see infer_route.c */
    uint64_t rows, outputs; /* outputs: bytes that it has of the front's */
    int64_t version;
};

/* Free the memory of its rows and their prediction. */
void exchange_forget(struct exchange *x);
/* A header of the request; NULL: there is none. */
const char *exchange_header(struct exchange *x, const char *name);
/* Answer with a sentence, in the protocol's form of an error. */
void exchange_refuse(struct exchange *x, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The answer is in x->answer, unless rc is -1: then there was no memory. */
void exchange_answer(struct exchange *x, int status, int rc);

#endif
