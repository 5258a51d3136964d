/*
 * feed.h - batches on their way to a GPU: while the caller's work on one batch runs
 * there, the next one is copied.
 *
 * There are two slots, 0 and 1, each with memory on the GPU and pinned memory of the
 * same size, which grow as batches do. Any thread may fill a slot, one at a time, by
 * device_feed_room(), then device_feed_send(). The training thread makes it the current
 * one by device_feed_turn(), after it has been sent and before the other one is filled
 * again. Only the training thread calls the other functions. Errors: device.h.
 */
#ifndef RAYTRAIN_DEVICE_FEED_H
#define RAYTRAIN_DEVICE_FEED_H

#include <stddef.h>

#include "util/error.h"

struct device_feed;

int device_feed_create(int kind, int id, struct device_feed **out, struct error *err);
/* Host memory for n bytes of the next batch of this slot; NULL on failure. */
void *device_feed_room(struct device_feed *f, int slot, size_t n, struct error *err);
/* Start to copy these n bytes, after what the caller had queued before the slot's turn
 * ended. */
int device_feed_send(struct device_feed *f, int slot, size_t n, struct error *err);
/* Order what the caller queues on its stream from now on after the copy to this slot.
 * What it has queued so far uses the other slot. */
int device_feed_turn(struct device_feed *f, int slot, struct error *err);
/* The memory on the GPU, as it was filled last. */
void *device_feed_memory(const struct device_feed *f, int slot);
/* Waits for the GPU's work with it. Accepts NULL. */
void device_feed_destroy(struct device_feed *f);

#endif
