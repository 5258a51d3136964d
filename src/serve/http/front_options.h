/* front_options.h - what the server that clients talk to serves, and its limits. */
#ifndef RAYTRAIN_HTTP_FRONT_OPTIONS_H
#define RAYTRAIN_HTTP_FRONT_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "http/listening.h"
#include "service/service.h"

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

#endif
