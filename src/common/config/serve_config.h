/*
 * serve_config.h - the key `serve`: how raytrain-serve answers requests. The checkpoint
 * is the key resume_from_checkpoint, its workers are described by scaling_config, and
 * the columns of their batches by predict.
 */
#ifndef RAYTRAIN_CONFIG_SERVE_CONFIG_H
#define RAYTRAIN_CONFIG_SERVE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct serve_config {
    char *name;       /* of the model, in the paths of requests */
    /* "127.0.0.1:8080", ":8080", or the path of a socket; NULL: a socket of its
     * own. */
    char *listen;
    /* A file with the token that clients send; NULL: see raytrain-serve(1). */
    char *token_file;
    /* Clients need no token; only at an address of this machine. */
    bool no_token;
    char *tls_cert, *tls_key; /* files; NULL: no TLS */
    int max_batch;            /* rows of a batch; 0: the predictor chooses */
    int max_wait_us;          /* how long a batch waits for more rows */
    int queue;                /* rows that may wait */
    uint64_t max_body;        /* bytes of a request */
    int max_connections;
    /* For a client to send a request, and for the answer. */
    int timeout_s;
    char *access_log; /* a file, "-": standard error; NULL: none */
    bool follow;      /* change to newer checkpoints of the run */
};

struct config_table;
extern const struct config_table serve_config_table;

/* Set the defaults of keys that are not set. */
void serve_config_complete(struct serve_config *cfg);
/* Check the values, and make paths absolute. */
int serve_config_validate(struct serve_config *cfg, struct error *err);
/* Can this name of a model be in the path of a request? RAYTRAIN_EINVAL lists the
 * characters that are allowed. */
int serve_name_check(const char *name, struct error *err);
/* A key that applies to all models of a service, and in which two of them differ, such
 * as "listen"; NULL: there is none. Both configurations are as they were read. */
const char *serve_config_conflict(const struct serve_config *a,
                                  const struct serve_config *b);

#endif
