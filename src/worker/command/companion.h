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

/* A request of a client. The companion owns all of it. */
struct request {
    const json_t *args; /* the object that the client has sent */
    const void *data;
    size_t n_data;
    int *fds; /* from the client; the handler sets one to -1 to keep it */
    int n_fds;
};

/* The reply to it. */
struct reply {
    json_t *json; /* an object, to which the handler adds; the companion frees it */
    void *data;   /* malloc'ed by the handler; the companion frees it */
    size_t n_data;
    int fds[WIRE_FDS_MAX]; /* the handler still owns them */
    int n_fds;
    bool none; /* the request has no reply */
};

/* Returns -1 with err, which then is the whole reply. */
typedef int (*request_handler)(struct companion *c, const struct request *request,
                               struct reply *reply, struct error *err);

struct request_row {
    const char *op; /* NULL: the end of the table */
    request_handler handle;
};

/* A family of requests: its index in companion.state. */
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
    /* The client has disconnected, or the worker ends: free state[], which may be NULL.
     * NULL: there is no state. */
    void (*close)(struct companion *c);
    /*
     * Advance what is in progress. Called before each sleep and each request. Returns
     * the microseconds after which to call it again; -1: only before the next request.
     * NULL: nothing to advance.
     */
    long (*advance)(struct companion *c);
};

extern const struct request_family session_requests, checkpoint_requests,
    dataset_requests, gradient_requests, preprocess_requests, predict_requests;

/* The client that is connected. */
struct client {
    int socket;   /* -1: none is connected */
    pid_t pid;    /* as this process sees it; 0: none, or in another pid namespace */
    bool ever;    /* one has connected in this attempt */
    bool leaving; /* a reply has asked it to exit */
};

struct companion {
    raytrain_context *ctx;
    bool without_run; /* a helper, which serves only checkpoints, datasets and
                       * preprocessors */
    int listener;
    struct client client;
    atomic_bool serving; /* a request is being handled */
    struct child child;
    /* A timer (timerfd_create(2)), -1 if there is none. It runs from the exception that
     * ends the client until the client has ended. */
    int exit_timer;
    atomic_int exiting;           /* the process for which it runs */
    void *state[FAMILIES];        /* private to each family */
    char refused[ERROR_TEXT_MAX]; /* why the latest request failed; empty: it did not */
    bool stopped; /* a request has failed on all ranks, because a stop was requested */
    json_t
        *unlisted; /* names of metrics without a column, of which a warning was given */
    char *uncaught; /* the exception that ended the client; NULL: none is known */
    char *traceback;
    raytrain_status uncaught_code; /* the status of the session's call that raised it */
};

/*
 * For a handler: ask the client something before the reply. `question` is an object
 * with "ask"; it is consumed. Release the answer by wire_clear(). Returns -1 if the
 * client is gone, its process has ended, or it has sent something else.
 */
int companion_ask(struct companion *c, json_t *question, const int fds[], int n_fds,
                  struct wire_message *answer, struct error *err);

/* Serve until the child has ended; *wait_status is that of waitpid(2). -1: the
 * companion itself has failed. */
int companion_serve(struct companion *c, int *wait_status, struct error *err);
/* Without a child: serve the only client until it has disconnected. */
void companion_serve_client(struct companion *c);
/* Close the client's socket, and free all state. */
void companion_close(struct companion *c);

/* ---- For handlers ---- */

/* Get a member of the request: RAYTRAIN_EINVAL if it is missing or of another type. The
 * request owns strings. */
int request_string(const struct request *q, const char *name, const char **value,
                   struct error *err);
int request_integer(const struct request *q, const char *name, int64_t *value,
                    struct error *err);
/* Is it true? A missing member is false. */
bool request_flag(const struct request *q, const char *name);
/* Add a member; `value` is consumed. RAYTRAIN_ENOMEM if it is NULL. */
int reply_set(struct reply *reply, const char *name, json_t *value, struct error *err);

#endif
