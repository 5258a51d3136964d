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

#define STOP_HURRY_S 2.0 /* time from a first SIGTERM to one that means "at once" */

struct stop_request {
    bool in_job;  /* in a job of a batch system; set before open */
    int fd;       /* readable when a signal has come; -1: closed */
    int count;    /* signals seen so far */
    int signal;   /* the first one; 0: none */
    int latest;   /* the latest one */
    bool hurried; /* stop at once, without waiting for anything */
    bool interrupted;
    double terminated; /* when the first SIGTERM was seen; clock_now(); 0: none */
    int outer;         /* descriptor of the attention (event/attention.h) before */
    sigset_t previous;
};

#define STOP_REQUEST_INIT                                                              \
    {                                                                                  \
        .fd = -1                                                                       \
    }

int stop_request_open(struct stop_request *stop, struct error *err);
/* Read the signals that have arrived; returns the number of new ones. Never blocks. */
int stop_request_read(struct stop_request *stop);
/* Record a signal that arrived at this time; read() calls it for each. */
void stop_request_take(struct stop_request *stop, int sig, double now);
/* What to say after the latest signal: "a second SIGINT stops at once". */
const char *stop_request_hint(const struct stop_request *stop);
/* Drop the signals that have arrived and were not read: they asked to stop something
 * that has ended. */
void stop_request_close(struct stop_request *stop);

#endif
