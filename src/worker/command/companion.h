/*
 * companion.h - the worker as the companion of a command: it serves the command's
 * process, or a descendant of it, what a training function gets from raytrain.h, over a
 * private Unix socket (protocol/session_wire.h).
 *
 * One client is served at a time, one request after the other, in the thread of the
 * training function; between requests the thread sleeps. Requests come in families, one
 * a file, each a table of handlers.
 */
#ifndef RAYTRAIN_COMMAND_COMPANION_H
#define RAYTRAIN_COMMAND_COMPANION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "protocol/session_wire.h"
#include "session/session.h"
#include "util/child.h"

struct companion;

/* What a client asks. All of it is the companion's. */
struct request {
    const json_t *args; /* the whole object */
    const void *data;
    size_t n_data;
    int *fds; /* of the client; set one to -1 to keep it */
    int n_fds;
};

/* What it gets. */
struct reply {
    json_t *json; /* an object, to which the handler adds; the companion frees it */
    void *data;   /* malloc'ed by the handler; the companion frees it */
    size_t n_data;
    int fds[WIRE_FDS_MAX]; /* they remain the handler's */
    int n_fds;
    bool none; /* the request has no reply */
};

/* -1: err becomes the reply, and nothing else of it. */
typedef int (*request_handler)(struct companion *c, const struct request *request,
                               struct reply *reply, struct error *err);

struct request_row {
    const char *op; /* NULL: the end of the table */
    request_handler handle;
};

/* Its place in companion.state. */
enum family {
    SESSION_FAMILY,
    CHECKPOINT_FAMILY,
    DATASET_FAMILY,
    GRADIENT_FAMILY,
    PREPROCESS_FAMILY,
    PREDICT_FAMILY,
    FAMILIES
};

struct request_family {
    const struct request_row *rows;
    /* The client has disconnected, or the worker goes down: free state[]. May be NULL,
     * and is called whether there is state or not. */
    void (*close)(struct companion *c);
    /*
     * Something is under way that needs the thread from time to time. Called before
     * each sleep and each request: advance it, and return in how many microseconds to call again; -1:
     * not before the next request. NULL: never.
     */
    long (*advance)(struct companion *c);
};

extern const struct request_family session_requests, checkpoint_requests,
    dataset_requests, gradient_requests, preprocess_requests, predict_requests;

/* What the client has said about itself, and what it was asked to do. */
struct client {
    int socket;   /* -1: none is connected */
    pid_t pid;    /* in its own pid namespace */
    bool ever;    /* one has connected in this attempt */
    bool leaving; /* a reply has asked it to exit */
};

struct companion {
    raytrain_context *ctx;
    bool without_run; /* a helper: there are checkpoints and datasets alone */
    int listener;
    struct client client;
    atomic_bool serving; /* a request is handled, and its reply is not on its way yet */
    struct child child;
    /* A timer (timerfd_create(2)), -1 if there is none: it runs from an exception that
     * ends the client on, until the client has ended. */
    int exit_timer;
    atomic_int exiting;           /* its process */
    void *state[FAMILIES];        /* of each family, its own affair */
    char refused[ERROR_TEXT_MAX]; /* why the latest request failed; empty: it did not */
    bool stopped; /* a request has failed on all ranks, because a stop was asked for */
    json_t
        *unlisted;  /* names of metrics that are no columns, which are reported once */
    char *uncaught; /* the exception that ended the client, if it has said so */
    char *traceback;
    raytrain_status uncaught_code; /* of the session's call that raised it */
};

/*
 * For a handler: ask the client something before the reply. `question` is an object with
 * "ask"; it is consumed. The answer is for wire_clear(). -1: the client is gone, its
 * process has ended, or what it sent is no answer.
 */
int companion_ask(struct companion *c, json_t *question, const int fds[], int n_fds,
                  struct wire_message *answer, struct error *err);

/* Serve until the child has ended: its wait status. -1: the companion itself failed. */
int companion_serve(struct companion *c, int *wait_status, struct error *err);
/* Without a child: serve the one client until it has disconnected. */
void companion_serve_client(struct companion *c);
/* Close the sockets and all state. */
void companion_close(struct companion *c);

/* ---- For handlers ---- */

/* A member of the request: -1 and RAYTRAIN_EINVAL if it is missing or of another type.
 * Strings are the request's. */
int request_string(const struct request *q, const char *name, const char **value,
                   struct error *err);
int request_integer(const struct request *q, const char *name, int64_t *value,
                    struct error *err);
/* false if it is missing. */
bool request_flag(const struct request *q, const char *name);
/* Add a member; `value` is consumed. -1 and RAYTRAIN_ENOMEM if it is NULL. */
int reply_set(struct reply *reply, const char *name, json_t *value, struct error *err);

#endif
