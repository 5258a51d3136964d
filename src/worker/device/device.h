/*
 * device.h - memory of devices, for other rooms: checks of what the caller says about
 * it, and copies between it and host memory.
 *
 * `kind` and `id` are device and device_id of a raytrain_tensor; the kind is one that
 * tensor_check() admits, and not RAYTRAIN_HOST. The vendor's library is opened by the
 * first call. Copies go through pinned memory, piece by piece, on a stream of their
 * own, which waits for what the caller has queued on its stream; they are complete when
 * a call returns. The caller's current GPU is then current again.
 *
 * RAYTRAIN_EINVAL: the memory is not that of the device. RAYTRAIN_ENOTSUP: there is no
 * library of this vendor, or it is too old. RAYTRAIN_EFAILED: the library reported an
 * error.
 *
 * Only the thread of the training function calls these, except where a function says
 * so.
 */
#ifndef RAYTRAIN_DEVICE_DEVICE_H
#define RAYTRAIN_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/copy_pieces.h"
#include "util/error.h"

/* The caller queues its work for this GPU on `stream` from now on. Before the first
 * call, that is the default stream, which is NULL. */
int device_set_stream(int kind, int id, void *stream, struct error *err);

/* Are these n > 0 bytes memory of this device? */
int device_check(int kind, int id, const void *data, uint64_t n, struct error *err);

/* *is_one: these n > 0 bytes of memory of the device are in one allocation. Otherwise
 * one call cannot copy or combine them, even if their addresses are adjacent. */
int device_is_one(int kind, int id, const void *data, uint64_t n, bool *is_one,
                  struct error *err);

/* Wait until all that the caller has queued on its stream is done. */
int device_wait_caller(int kind, int id, struct error *err);

/* Copy n > 0 bytes from a device to host memory. */
int device_fetch(int kind, int id, const void *from, void *to, size_t n,
                 struct error *err);

/*
 * Copy n > 0 bytes to a device in pieces, by 1 to DEVICE_LANES_MAX lanes. Any thread
 * may use a lane, one at a time: device_lane_room() is memory for its next piece, of at
 * most DEVICE_PIECE_BYTES, and device_lane_send() starts to copy it to byte `at` of the
 * memory on the device, while the thread fills the next piece.
 *
 * device_store_end() waits for the copies. It must follow each device_store_begin()
 * that has succeeded, also after a failure, when all threads have left their lanes.
 */
struct device_store {
    struct device *device;
    unsigned char *to;
};
struct device_lane {
    const struct device_store *store;
    struct piece *pieces; /* two, which take turns */
    size_t n_pieces;      /* sent */
};
int device_store_begin(int kind, int id, void *to, uint64_t n, int n_lanes,
                       struct device_store *s, struct error *err);
/* On success, the GPU is current for this thread until it leaves. */
int device_lane_enter(const struct device_store *s, int lane, struct device_lane *l,
                      struct error *err);
/* NULL on failure. */
void *device_lane_room(struct device_lane *l, struct error *err);
int device_lane_send(struct device_lane *l, uint64_t at, size_t n, struct error *err);
void device_lane_leave(struct device_lane *l);
int device_store_end(struct device_store *s, struct error *err);

/* Copy n > 0 bytes from host memory to a device. */
int device_copy_in(int kind, int id, void *to, const void *from, size_t n,
                   struct error *err);

/* Free all memory, streams and events. The library remains loaded. */
void device_end(void);
/* The process is about to end, and a GPU may never finish its work: from now on nothing
 * is freed, and a wait for copies of copies.h fails at once. */
void device_abandon(void);

#endif
