/*
 * member.h - one worker of a service: a child, which is a run of one worker, and which
 * is started again when it ends. It connects to the member's own socket, so that it is
 * known whose connection that is, and says hello when its model is loaded.
 *
 * A child that ended before it connected is not started again as it is: the next one
 * would do the same. That is not so once a child of the member, or of another one with
 * the same model, has connected (member_prove()). One that served for a moment only, or
 * not at all, is started after a pause, which doubles each time.
 *
 * A worker connects a second time when it has said hello, and sends a byte now and
 * then, however long a prediction takes. If nothing comes for some seconds, the worker
 * is stopped or hangs: it is killed. Only the time counts in which this process itself
 * was not stopped.
 *
 * A handler `ended` may destroy the member.
 *
 * All calls, and those of handlers, come from the thread that turns the event loop.
 */
#ifndef RAYTRAIN_CREW_MEMBER_H
#define RAYTRAIN_CREW_MEMBER_H

#include <stdbool.h>

#include "event/event_loop.h"
#include "util/error.h"

/* The variables by which a child knows what it is. */
#define MEMBER_SOCKET     "RAYTRAIN_SERVE_SOCKET"     /* where it connects */
#define MEMBER_CHECKPOINT "RAYTRAIN_SERVE_CHECKPOINT" /* its model */
#define MEMBER_RUN        "RAYTRAIN_SERVE_RUN"    /* its run directory, to be made */
#define MEMBER_CONFIG     "RAYTRAIN_SERVE_CONFIG" /* of its model alone; "": none */
#define MEMBER_INDEX                                                                   \
    "RAYTRAIN_SERVE_INDEX" /* among those that serve together, from 0 on */

struct member;

/* All of it outlives the members. */
struct member_env {
    struct event_loop *loop;
    char *const *argv;   /* of a child */
    const char *sockets; /* a directory that only this user reads, with a short path */
    const char *runs;    /* where the children have their run directories */
    const char *config;  /* a file; NULL: none */
    int max_failures;    /* restarts of a member; -1: no limit */
    double silent_s;     /* that a worker may be silent */
    /* The worker has connected, and says hello. The descriptor is the callee's, non-blocking. */
    void (*joined)(void *arg, struct member *m, int fd);
    /* Its child has ended, and another one follows, or its worker hangs: a sentence. */
    void (*note)(void *arg, struct member *m, const char *text);
    /* Its child has ended, and none follows. why: NULL if that was ordered; its code is
     * that of the child's exit status. */
    void (*ended)(void *arg, struct member *m, const struct error *why);
    void *arg;
};

/* Starts the first child. `number` is part of the names of its files, and no other
 * member of the directories has it; `index` is its place among those that
 * serve together. */
int member_create(const struct member_env *env, int number, int index,
                  const char *checkpoint, void *group, struct member **out,
                  struct error *err);
/* Ends the child at once, if it is still there. NULL is fine. */
void member_destroy(struct member *m);

/* It is no longer needed. A child that has joined ends when its connection is closed;
 * any other gets SIGTERM. What has not ended after so many seconds is killed. */
void member_retire(struct member *m, double grace_s);

/* A worker has loaded the model. True: the child had ended before that, and is started
 * after all, so that `ended` does not hold any more. */
bool member_prove(struct member *m);

/* What was given to member_create(). */
void *member_group(const struct member *m);
const char *member_checkpoint(const struct member *m);
/* Has the present child joined? */
bool member_has_joined(const struct member *m);

#endif
