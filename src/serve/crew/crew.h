/*
 * crew.h - the workers of a service, in groups: those of a group have the model of the
 * same checkpoint. A new version of a model is a new group, beside the old one.
 *
 * All calls, and those of handlers, come from the thread that turns the event loop.
 */
#ifndef RAYTRAIN_CREW_CREW_H
#define RAYTRAIN_CREW_CREW_H

#include "crew/member.h"

struct crew_config {
    struct event_loop *loop;
    char *const *argv;   /* of a child */
    const char *sockets; /* as in member_env */
    const char *runs;
    const char *config; /* as in member_env */
    int workers;        /* of a group */
    int first; /* the index of the first of them among all workers of the service, as GPUs
                  are given to them */
    int max_failures; /* of each worker; -1: no limit */
    double grace_s;   /* for workers of a group that is retired */
    double silent_s;  /* that a worker may be silent before it is replaced */
    /* A worker of this group has connected. The descriptor is the callee's, non-blocking. */
    void (*joined)(void *arg, int group, int fd);
    /* For the first time, all workers of the group have. */
    void (*ready)(void *arg, int group);
    /* None of its workers is left. why: as `ended` of the last one in member_env; NULL: it
     * was retired. */
    void (*gone)(void *arg, int group, const struct error *why);
    /* For the user, a sentence. */
    void (*note)(void *arg, const char *text);
    void *arg;
};

struct crew;

int crew_create(const struct crew_config *config, struct crew **out, struct error *err);
/* Starts its workers. Numbers of groups rise. */
int crew_start(struct crew *crew, const char *checkpoint, int *group,
               struct error *err);
/* No worker of the group is needed any more. Workers end when their connections are
 * closed. */
void crew_retire(struct crew *crew, int group);
/* Groups of which a worker is left. */
size_t crew_groups(const struct crew *crew);
/* Ends all workers at once. NULL is fine. */
void crew_destroy(struct crew *crew);

#endif
