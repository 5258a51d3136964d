/*
 * front.h - the server that clients talk to: HTTP on one address, for one or more models.
 *
 * Threads of libmicrohttpd read requests, parse them and hand them to the service; a
 * connection that waits for an answer costs no thread. No path of a request reaches the
 * file system. Limits hold for each client (clients.h) and for all of them together.
 */
#ifndef RAYTRAIN_HTTP_FRONT_H
#define RAYTRAIN_HTTP_FRONT_H

#include <stddef.h>
#include <stdint.h>

#include "http/listening.h"
#include "service/service.h"
#include "util/error.h"

struct front;

struct front_limits {
    uint64_t body;    /* bytes of one request, and of its tensors, converted */
    uint64_t bodies;  /* bytes of all requests that are being received or answered */
    uint64_t answers; /* bytes of all predictions that are awaited, and of all answers
                         that are being read */
    uint64_t rows;    /* of one request; 0: any number */
    size_t header;    /* bytes of a header, and of what a connection needs besides */
    size_t clients;   /* connections */
    double client_s;  /* for a header, a body, or to read an answer */
    unsigned threads;
};

#define FRONT_LIMITS                                                                   \
    {                                                                                  \
        .body = 64 << 20, .bodies = 1 << 30, .answers = 1 << 30, .header = 32 << 10,   \
        .clients = 1000, .client_s = 60, .threads = 2                                  \
    }

struct front_options {
    const struct listening *at; /* stays the caller's, and open */
    const char *token;          /* that clients must send; NULL: none */
    const char *cert, *key;     /* TLS: PEM, as text; NULL: none */
    const char *version;        /* of this software */
    struct front_limits limits;
    int log; /* the access log goes to this descriptor; -1: there is none */
    /* With attach and detach of served_model.h. They stay the caller's, and outlive the
     * front. */
    struct service *const *services;
    size_t n_services;
};

/* RAYTRAIN_EINVAL: the certificate or the key are wrong; RAYTRAIN_ENOTSUP: there is no TLS;
 * RAYTRAIN_EFAILED, RAYTRAIN_ENOMEM. */
int front_create(const struct front_options *options, struct front **out,
                 struct error *err);
/* Accept no more connections, wait until the last answers have been read, but only for
 * some seconds, and close all connections. The services must have been stopped
 * (service_stop()), so that no request waits for an answer. NULL is fine. */
void front_destroy(struct front *f);

#endif
