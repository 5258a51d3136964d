/*
 * backend.h - the interface to frameworks: how the ranks of a framework find each other
 * and communicate. Each framework has a file; "none" (one worker, comm_self) is in
 * backend.c, "command" (a child without a framework) in framework.c.
 *
 * To add a framework: write a file that defines a `struct backend_ops`. on_start()
 * starts it and sets b->comm, on_shutdown() stops it. Add a row to BACKENDS
 * (config/backend_row.h), from which tables, words and completions are made, and a
 * paragraph to "BACKENDS OF COMMANDS" in raytrain-run(1). Take the variables from the
 * source of the framework, and write its version down in share/doc/frameworks.md.
 */
#ifndef RAYTRAIN_BACKEND_BACKEND_H
#define RAYTRAIN_BACKEND_BACKEND_H

#include <stdbool.h>

#include "comm/comm.h"
#include "config/backend_row.h"
#include "wireup/wireup.h"

struct backend;
struct train_config;

struct backend_ops {
    /* After the wireup, before anything else: start the framework, and set b->comm. The
     * communicator's size must be the number of workers: RAYTRAIN_ECOMM, with the
     * likely cause, if the library has started as singletons. */
    int (*on_start)(struct backend *b, struct wireup *w, struct error *err);
    /* The session is complete; the training function comes next. May be NULL. */
    int (*on_training_start)(struct backend *b, struct error *err);
    /* Once a call of the framework by the training function has failed, for which it
     * had not set an error handler: -1 and the first error. In any thread. May be
     * NULL. */
    int (*on_call)(const struct backend *b, struct error *err);
    /*
     * For a loop that runs a command in a child process (loop/loop.h): call set(arg,
     * name, value) for each environment variable that the child needs to join the
     * framework's group, such as MASTER_ADDR and RANK; a NULL value removes one. Called
     * after on_training_start, once for each child. If set returns -1, return -1 at
     * once. NULL: the child inherits the worker's environment unchanged.
     */
    int (*environment)(const struct backend *b,
                       int (*set)(void *arg, const char *name, const char *value),
                       void *arg, struct error *err);
    /* A descriptor of this process that the child inherits under the same number, since
     * a variable names it; -1: none. Called after `environment`. May be NULL. */
    int (*descriptor)(const struct backend *b);
    /* The child has ended, with status 0 (well) or not: what the user should know about
     * its use of the framework, or NULL. May be NULL. */
    const char *(*remark)(const struct backend *b, bool well);
    /*
     * The training function has returned (clean), or this worker ends alone (not clean:
     * do not wait for others). Afterwards b->comm is gone, and the framework is not
     * called. *exit_now: the process must end by _exit(2), because the framework's exit
     * handlers cannot be trusted.
     */
    void (*on_shutdown)(struct backend *b, bool clean, bool *exit_now);
};

struct backend {
    const struct backend_ops *ops;
    struct comm *comm; /* for raytrain itself; dup it for each subsystem */
    /* Set by the worker: the first two before on_start (world is NULL in tests without
     * a group), the configuration before on_training_start. */
    const struct world *world;
    int attempt;
    const struct train_config *config;
    void *impl;
};

/* backend_mpi, backend_none, ... */
#define BACKEND_DECLARE(id, ...) extern const struct backend_ops backend_##id;
BACKENDS(BACKEND_DECLARE)
#undef BACKEND_DECLARE

int backend_find(const char *name, const struct backend_ops **out, struct error *err);
/* Its name, as in its row. */
const char *backend_name(const struct backend_ops *ops);

#endif
