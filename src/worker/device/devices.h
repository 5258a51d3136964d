/*
 * devices.h - the GPUs that this process uses, each with a stream and pieces of pinned
 * memory for copies.
 */
#ifndef RAYTRAIN_DEVICE_DEVICES_H
#define RAYTRAIN_DEVICE_DEVICES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/copy_pieces.h"
#include "device/vendor.h"

struct piece {
    void *memory; /* pinned, DEVICE_PIECE_BYTES */
    void *copied; /* the event after the latest copy to or from it */
};

struct device {
    struct device *next;
    const struct device_vendor *vendor;
    int id;
    void *context;
    /* One byte of memory, which is freed when the context is destroyed: then handles
     * are invalid, and using them may crash. NULL: this is not noticed. */
    void *witness;
    uint64_t witness_number;
    atomic_bool lost; /* the context was destroyed */
    bool kept;        /* a thread that does not end uses it */
    void *caller;     /* the user's stream; NULL: the default stream */
    /* Made at the first copy: */
    void *stream;
    void *ready;                               /* an event */
    struct piece pieces[DEVICE_LANES_MAX * 2]; /* two of each lane that has been used */
};

/* Enter the GPU: its context is current until device_leave(). NULL on failure. The
 * struct stays until devices_clear(). If the context was destroyed, the GPU gets a new
 * struct, and the old one stays, marked as lost. */
struct device *device_enter(int kind, int id, struct error *err);
/* Enter a GPU again, in any thread. -1, with an error, if it is lost: handles that were
 * made there must not be used. */
int device_resume(struct device *device, struct error *err);
bool device_is_lost(struct device *device);
void device_leave(const struct device *device);
/* Record the event after what the caller has queued on its stream; or let what the
 * caller queues there from now on wait for the event. The GPU is entered.
 * RAYTRAIN_EINVAL: that stream is being captured into a graph. */
int device_after_caller(const struct device *device, void *event, struct error *err);
int device_before_caller(const struct device *device, void *event, struct error *err);
/* Make all that copies by n_lanes need. */
int device_prepare(struct device *device, int n_lanes, struct error *err);
/* Are these n > 0 bytes memory of the GPU? Its context is current. */
int device_check_memory(const struct device *device, const void *data, uint64_t n,
                        struct error *err);
/* -1, with the name of the error, if one of these GPUs has failed, for example in a
 * kernel of the user. Does not wait for work in progress. */
int devices_check(struct error *err);
/* Forget all GPUs; those that are kept stay as they are. */
void devices_clear(void);

/* Was device_abandon() called? Then nothing is freed, and no call waits. */
bool devices_abandoned(void);
void devices_abandon(void);

#endif
