/*
 * stop_request.h - the signals by which a user, a batch system or a terminal asks
 * raytrain-run to stop, as a descriptor for an event loop.
 *
 * It also calls off waiting for Slurm's tools, which could take long.
 *
 * Two may be open: a signal is for the one that reads it first, the inner one.
 *
 * One request may come as several signals. A script that traps and forwards delivers it
 * twice within milliseconds, and a batch system announces the end of a job by one
 * signal and ends it by another one, to the whole group or to a part of it. So only
 * these hurry: a second SIGINT and, outside of jobs, a second SIGTERM some time after
 * the first.
 *
 * SIGINT, SIGTERM, SIGUSR1 (Slurm's --signal=B:USR1@T) and, unless it is ignored as
 * under nohup, SIGHUP are blocked from open to close; children must unblock them.
 */
#ifndef RAYTRAIN_EVENT_STOP_REQUEST_H
#define RAYTRAIN_EVENT_STOP_REQUEST_H

#include <signal.h>
#include <stdbool.h>

#include "util/error.h"

#define STOP_HURRY_S 2.0 /* from a first SIGTERM to one that means now */

struct stop_request {
    bool in_job;  /* of a batch system; set before open */
    int fd;       /* readable when a signal has come; -1: closed */
    int count;    /* signals seen so far */
    int signal;   /* the first one; 0: none */
    int latest;   /* the latest one */
    bool hurried; /* now, without waiting for anything */
    bool interrupted;
    double terminated; /* when the first SIGTERM was seen; clock_now(); 0: none */
    int outer;         /* of the attention (event/attention.h) before */
    sigset_t previous;
};

#define STOP_REQUEST_INIT                                                              \
    {                                                                                  \
        .fd = -1                                                                       \
    }

int stop_request_open(struct stop_request *stop, struct error *err);
/* Take in what has come; the number of new ones. Never blocks. */
int stop_request_read(struct stop_request *stop);
/* A signal has come at this time; what read() does for each. */
void stop_request_take(struct stop_request *stop, int sig, double now);
/* After the latest signal: "a second SIGINT stops at once". */
const char *stop_request_hint(const struct stop_request *stop);
/* What has come, and was not read, asks for what is over by now: it is dropped. */
void stop_request_close(struct stop_request *stop);

#endif
