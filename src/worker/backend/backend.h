/*
 * backend.h - the seam of the frameworks: how the ranks of one framework find and talk to
 * each other. One framework a file; "mpi" first, "none" for tests (one worker, comm_self).
 */
#ifndef RAYTRAIN_BACKEND_BACKEND_H
#define RAYTRAIN_BACKEND_BACKEND_H

#include <stdbool.h>

#include "comm/comm.h"
#include "wireup/wireup.h"

struct backend;

struct backend_ops {
    const char *name;
    /* After wireup, before anything else: bring the framework up and set b->comm. The
     * communicator's size must equal the number of workers: RAYTRAIN_ECOMM where the
     * library became singletons, with the likely cause. */
    int (*on_start)(struct backend *b, struct wireup *w, struct error *err);
    /* The session is complete; the training function comes next. May be NULL. */
    int (*on_training_start)(struct backend *b, struct error *err);
    /* Has a call of the framework that the training function made itself failed, without
     * an error handler of its own? -1 and the first one's error from then on, in any
     * thread. May be NULL. */
    int (*on_call)(const struct backend *b, struct error *err);
    /*
     * The training function has returned (clean) or this worker is going down on its own
     * (not clean: do not wait for others). Afterwards b->comm is gone and no call into the
     * framework is made. *exit_now says that the process must leave by _exit(2), because
     * the framework's exit handlers cannot be trusted.
     */
    void (*on_shutdown)(struct backend *b, bool clean, bool *exit_now);
};

struct backend {
    const struct backend_ops *ops;
    struct comm *comm; /* the library's own; dup it for each subsystem */
    void *impl;
};

extern const struct backend_ops backend_mpi;
extern const struct backend_ops backend_none;

int backend_find(const char *name, const struct backend_ops **out, struct error *err);

#endif
