/*
 * crew.h - the workers of a service, in groups: the workers of a group have the model
 * of the same checkpoint. A new version of a model is a new group, beside the old one.
 *
 * All functions and handlers are called in the thread that runs the event loop.
 */
#ifndef RAYTRAIN_CREW_CREW_H
#define RAYTRAIN_CREW_CREW_H

#include "crew/member.h"

struct crew_config {
    struct event_loop *loop;
    char *const *argv;   /* command line of a child */
    const char *sockets; /* as in member_env */
    const char *runs;
    const char *config; /* as in member_env */
    int workers;        /* number of workers of a group */
    int first; /* the index of the first of them among all workers of the service, as GPUs
                  are given to them */
    int max_failures; /* restarts of each worker; -1: no limit */
    double grace_s;   /* time for the workers of a group that is retired */
    double silent_s;  /* how long a worker may be silent before it is replaced */
    /* A worker of this group has connected. The descriptor is the callee's, non-blocking. */
    void (*joined)(void *arg, int group, int fd);
    /* All workers of the group have connected, for the first time. */
    void (*ready)(void *arg, int group);
    /* The group has no workers any more. why: as for `ended` of the last one in
     * member_env; NULL: it was retired. */
    void (*gone)(void *arg, int group, const struct error *why);
    /* A sentence for the user. */
    void (*note)(void *arg, const char *text);
    void *arg;
};

struct crew;

int crew_create(const struct crew_config *config, struct crew **out, struct error *err);
/* Start the workers of a group. Group numbers increase. */
int crew_start(struct crew *crew, const char *checkpoint, int *group,
               struct error *err);
/* The group is not needed any more. Its workers end when their connections are
 * closed. */
void crew_retire(struct crew *crew, int group);
/* The number of groups that still have workers. */
size_t crew_groups(const struct crew *crew);
/* Kill all workers. NULL is fine. */
void crew_destroy(struct crew *crew);

#endif
