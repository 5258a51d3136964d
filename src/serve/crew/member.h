/*
 * member.h - one worker of a service: a child, which is a run of one worker, and is
 * started again when it ends. It connects to the member's own socket, which identifies
 * the connection, and sends a hello when its model is loaded.
 *
 * A child that ended before it connected is not started again at once: the next one
 * would fail in the same way. That changes when a child of this member, or of another
 * one with the same model, has connected (member_prove()). A child that served only
 * briefly, or not at all, is started again after a pause, which doubles each time.
 *
 * After its hello a worker connects a second time, and sends a byte from time to time,
 * however long a prediction takes. If nothing comes for some seconds, the worker is
 * stopped or hangs, and is killed. Time in which this process itself was stopped does
 * not count.
 *
 * The handler `ended` may destroy the member.
 *
 * All functions and handlers are called in the thread that runs the event loop.
 */
#ifndef RAYTRAIN_CREW_MEMBER_H
#define RAYTRAIN_CREW_MEMBER_H

#include <stdbool.h>

#include "event/event_loop.h"
#include "util/error.h"

/* The variables that tell a child its task. */
#define MEMBER_SOCKET     "RAYTRAIN_SERVE_SOCKET"     /* where the child connects */
#define MEMBER_CHECKPOINT "RAYTRAIN_SERVE_CHECKPOINT" /* its model */
/* its run directory, which it makes */
#define MEMBER_RUN "RAYTRAIN_SERVE_RUN"
/* configuration of its model alone; "": none */
#define MEMBER_CONFIG "RAYTRAIN_SERVE_CONFIG"
#define MEMBER_INDEX                                                                   \
    "RAYTRAIN_SERVE_INDEX" /* index among those that serve together, from 0 on */

struct member;

/* All of it outlives the members. */
struct member_env {
    struct event_loop *loop;
    char *const *argv;   /* command line of a child */
    const char *sockets; /* a directory that only this user reads, with a short path */
    const char *runs;    /* where the children have their run directories */
    const char *config;  /* a file; NULL: none */
    int max_failures;    /* restarts of a member; -1: no limit */
    double silent_s;     /* how long a worker may be silent */
    /* The worker has connected, and will send a hello. The callee owns the descriptor,
     * which is non-blocking. */
    void (*joined)(void *arg, struct member *m, int fd);
    /* A sentence: the child has ended and another one follows, or its worker hangs. */
    void (*note)(void *arg, struct member *m, const char *text);
    /* The child has ended, and none follows. why: NULL if it was ordered to; else its
     * code is that of the child's exit status. */
    void (*ended)(void *arg, struct member *m, const struct error *why);
    void *arg;
};

/* Start the first child. `number` is part of the names of its files, and must be unique
 * in the directories; `index` is its index among those that serve together. */
int member_create(const struct member_env *env, int number, int index,
                  const char *checkpoint, void *group, struct member **out,
                  struct error *err);
/* Kill the child if it still runs. NULL is fine. */
void member_destroy(struct member *m);

/* The member is not needed any more. A child that has joined ends when its connection
 * is closed; any other gets SIGTERM. A child that has not ended after `grace_s` is
 * killed. */
void member_retire(struct member *m, double grace_s);

/* A worker has loaded the model. True: this member had ended before that, and its child
 * is started again after all. */
bool member_prove(struct member *m);

/* The `group` of member_create(). */
void *member_group(const struct member *m);
const char *member_checkpoint(const struct member *m);
/* Has the present child joined? */
bool member_has_joined(const struct member *m);

#endif
