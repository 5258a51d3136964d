/*
 * group_impl.h - the inside of a group of GPUs: group_create.c makes it, with
 * group_join.c; group.c queues collectives, and group_watch.c handles failures.
 */
#ifndef RAYTRAIN_DEVICE_GROUP_IMPL_H
#define RAYTRAIN_DEVICE_GROUP_IMPL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/devices.h"
#include "device/group.h"
#include "device/nccl.h"

struct device_group {
    struct device_group *next; /* in the list of watched groups */
    struct comm *comm;
    struct device *device;
    const struct nccl *nccl;
    void *stream, *event;
    /* For the first collective. When it is freed, a driver waits for what the user has
     * queued. */
    struct {
        int64_t *host; /* [0] to send and [1] to receive */
        void *device;
    } trial;

    /* Held while the library is called on this group; guards what follows. */
    pthread_mutex_t lock;
    void *handle; /* the library's communicator; NULL: none, or aborted */
    bool joining; /* it is being made: a failure aborts it only once it is given up */
    struct error failure;
    int result;           /* the library's, with which it has failed */
    atomic_bool failed;   /* if true, failure does not change: any thread may read it */
    atomic_bool given_up; /* the thread that waits in the library aborts it */
};

/* Make the library's communicator, and try it. */
struct join;
struct join *group_join_new(struct device_group *g, struct error *err);
/* COLLECTIVE. Frees j. *rc is the outcome: 0; or -1, with the communicator aborted.
 * False: a thread cannot leave the library, and keeps g. */
bool group_join(struct join *j, const struct device_group_env *env,
                const struct nccl_id *id, int *rc, struct error *err);
void group_join_free(struct join *j); /* one that was not used */

/* The group has failed with this result, as for nccl_fail(), or is no longer needed:
 * abort what is queued. */
void group_fail_locked(struct device_group *g, int result, const char *function);
void group_abort_locked(struct device_group *g);
/* Look for asynchronous errors. -1 if the group has failed. */
int group_check_locked(struct device_group *g, struct error *err);

/* Watch it until group_unwatch(), which accepts a group that is not watched. */
int group_watch(struct device_group *g, struct error *err);
void group_unwatch(struct device_group *g);

/* The naps of a wait, which calls comm->waiting about once a second. Initialise with
 * {0}. */
struct group_nap {
    long ns;
    double since, hooked;
};
void group_nap(struct group_nap *nap, struct comm *comm);

#endif
