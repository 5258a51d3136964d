/*
 * stop_request.h - the signals by which a user, a batch system or a terminal asks
 * raytrain-run to stop, as a descriptor for an event loop.
 *
 * It also calls off waiting for Slurm's tools, which could take long.
 *
 * Two may be open: a signal is for the one that reads it first, the inner one.
 *
 * SIGINT, SIGTERM, SIGUSR1 (Slurm's --signal=B:USR1@T) and, unless it is ignored as
 * under nohup, SIGHUP are blocked from open to close; children must unblock them.
 */
#ifndef RAYTRAIN_EVENT_STOP_REQUEST_H
#define RAYTRAIN_EVENT_STOP_REQUEST_H

#include <signal.h>

#include "util/error.h"

struct stop_request {
    int fd;     /* readable when a signal has come; -1: closed */
    int count;  /* signals seen so far: the second one means now */
    int signal; /* the first one; 0: none */
    int outer;  /* of the attention (event/attention.h) before */
    sigset_t previous;
};

#define STOP_REQUEST_INIT                                                              \
    {                                                                                  \
        .fd = -1                                                                       \
    }

int stop_request_open(struct stop_request *stop, struct error *err);
/* Take in what has come; the number of new ones. Never blocks. */
int stop_request_read(struct stop_request *stop);
/* What has come, and was not read, asks for what is over by now: it is dropped. */
void stop_request_close(struct stop_request *stop);

#endif
