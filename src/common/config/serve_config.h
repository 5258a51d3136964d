/*
 * serve_config.h - the key `serve`: how raytrain-serve answers requests. The checkpoint
 * is resume_from_checkpoint; what its workers are is the scaling_config, and what their
 * batches have is in predict.
 */
#ifndef RAYTRAIN_CONFIG_SERVE_CONFIG_H
#define RAYTRAIN_CONFIG_SERVE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

struct serve_config {
    char *name;       /* of the model, in the paths of requests */
    char *listen;     /* "127.0.0.1:8080", ":8080", or the path of a socket; NULL: a
                         socket of its own */
    char *token_file; /* clients must know its contents; NULL: see raytrain-serve(1) */
    bool no_token;    /* at a port that only this machine reaches */
    char *tls_cert, *tls_key; /* files; NULL: no TLS */
    int max_batch;            /* rows of a batch; 0: as the predictor likes */
    int max_wait_us;          /* how long a batch waits for more rows */
    int queue;                /* rows that may wait */
    uint64_t max_body;        /* bytes of a request */
    int max_connections;
    int timeout_s;    /* for a client to send a request, and for its answer */
    char *access_log; /* a file, "-": standard error; NULL: none */
    bool follow;      /* newer checkpoints of the run */
};

struct config_table;
extern const struct config_table serve_config_table;

/* The defaults, for what is not set. */
void serve_config_complete(struct serve_config *cfg);
/* Paths become absolute. */
int serve_config_validate(struct serve_config *cfg, struct error *err);
/* Can this model's name be in the path of a request? RAYTRAIN_EINVAL says what can. */
int serve_name_check(const char *name, struct error *err);
/* A key that holds for all models of a service, and in which two of them differ: "listen".
 * NULL: there is none. Both are as they were read. */
const char *serve_config_conflict(const struct serve_config *a,
                                  const struct serve_config *b);

#endif
