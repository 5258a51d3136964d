/*
 * group_impl.h - what a group of cards is made of: group_create.c makes it, with group_join.c,
 * group.c queues collectives, group_watch.c sees to failures.
 */
#ifndef RAYTRAIN_DEVICE_GROUP_IMPL_H
#define RAYTRAIN_DEVICE_GROUP_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "device/cards.h"
#include "device/group.h"
#include "device/nccl.h"

struct device_group {
    struct device_group *next; /* of those that are watched */
    struct comm *comm;
    struct card *card;
    const struct nccl *nccl;
    void *stream, *event;

    /* Held while the library is called on this group, and for what follows. */
    pthread_mutex_t lock;
    void *handle; /* the library's communicator; NULL: none, or aborted */
    bool failed;
    struct error failure;
    atomic_bool given_up; /* before it was made: what is under way is aborted */
};

/* Make the library's communicator, and try it. */
struct join;
struct join *group_join_new(struct device_group *g, struct error *err);
/* COLLECTIVE. Frees j. *rc is the outcome: 0, or -1, and the communicator is aborted. False: a
 * thread cannot leave the library, and keeps g. */
bool group_join(struct join *j, const struct device_group_env *env,
                const struct nccl_id *id, int *rc, struct error *err);
void group_join_free(struct join *j); /* one that was not used */

/* The group has failed, for the reason in g->failure: give up what is queued. */
void group_fail_locked(struct device_group *g);
/* Look for asynchronous errors. The failure of the group: -1. */
int group_check_locked(struct device_group *g, struct error *err);

/* Watch it until group_unwatch(), which also takes a group that is not watched. */
int group_watch(struct device_group *g, struct error *err);
void group_unwatch(struct device_group *g);

/* Naps of a wait, and a call of comm->waiting about once a second. Starts as {0}. */
struct group_nap {
    long ns;
    double since, hooked;
};
void group_nap(struct group_nap *nap, struct comm *comm);

#endif
