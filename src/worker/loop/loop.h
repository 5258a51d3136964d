/*
 * loop.h - the interface of a training loop: what can run on every rank as `int
 * train_func(raytrain_context *ctx)`.
 *
 * Implementations: a function in a shared object (shared_object.c), a function of the
 * user's program, which is this process (loop.c), a command in a child process
 * (command/command.c), and rounds of boosting (gbdt/gbdt_loop.c).
 *
 * To add one: write a file that defines a `struct loop_ops`, and choose it in
 * loop_init(). open() finds what is to run before the group forms, run() trains,
 * close() cleans up.
 */
#ifndef RAYTRAIN_LOOP_LOOP_H
#define RAYTRAIN_LOOP_LOOP_H

#include <stdbool.h>

#include "util/error.h"

/* What a worker was started with. Borrowed for the life of the worker. */
struct loop_source {
    const char *trainer;                /* a trainer with a loop of its own, or NULL */
    const char *path;                   /* the file of the training function, or NULL */
    raytrain_train_func train_func;     /* the function, if both are NULL */
    raytrain_predict_func predict_func; /* the same for a prediction */
    bool predicts;   /* as the worker's environment says; known before open() */
    bool is_command; /* path is a program, which is started as a child */
    int argc;        /* arguments of the training function; argv ends with a NULL */
    char **argv;
};

struct loop;

struct loop_ops {
    /*
     * Find what is to run, so that `run` cannot fail because it is missing. This is one
     * of the first steps of a worker, before the group forms: it cannot communicate
     * with other ranks, and a failure ends the run at once, with this error. What it
     * creates may stay until the process ends.
     */
    int (*open)(struct loop *loop, struct error *err);
    /*
     * Train, in the main thread. All ranks take part, and the session is complete.
     * Returns what a training function returns: 0, or another number if it has failed;
     * the last error of ctx is then the reason.
     */
    int (*run)(struct loop *loop, raytrain_context *ctx);
    /*
     * The worker ends; the session is still open. Clean: `run` has returned 0 on every
     * rank. Not clean: do not wait for other ranks, and end the processes that `run`
     * has started; `open` may have failed. May be NULL.
     */
    void (*close)(struct loop *loop, bool clean);
    /* The process is the user's program: its signal mask and handlers stay as they are.
     * Otherwise they are set to their defaults at the start. */
    bool is_users_process;
};

struct loop {
    const struct loop_ops *ops;
    struct loop_source source;
    raytrain_train_func func;           /* set by `open`, if the loop is a function */
    raytrain_predict_func predict_func; /* instead of func, if the run predicts */
    raytrain_predictor *predictor;      /* its argument; set before `run` */
    void *impl;
};

extern const struct loop_ops loop_shared_object;
extern const struct loop_ops loop_program;
extern const struct loop_ops loop_command;
extern const struct loop_ops loop_gbdt;

/* Choose the loop for this source; it is not open yet. */
void loop_init(struct loop *loop, const struct loop_source *source);
void loop_close(struct loop *loop, bool clean);
/* `run` of a loop that is a function. */
int loop_run_func(struct loop *loop, raytrain_context *ctx);

#endif
