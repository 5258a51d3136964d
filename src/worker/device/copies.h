/*
 * copies.h - asynchronous copies of a save, from GPUs to host memory.
 *
 * The host memory is pinned before its first copy, or earlier, so that a GPU writes
 * straight to it, and stays pinned from one save to the next. If it cannot be pinned,
 * copies go through pinned pieces, and are complete when the call that starts them
 * returns.
 *
 * A save makes these calls, in this order: begin, start ..., settle, fence (any
 * number), wait. They are made by the thread of the training function only, except
 * wait, which any thread may call, also during a fence. Between two saves any thread
 * may pin or forget the memory, while other threads call only expect and fence. Errors:
 * device.h.
 */
#ifndef RAYTRAIN_DEVICE_COPIES_H
#define RAYTRAIN_DEVICE_COPIES_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct device_copies;

int device_copies_create(struct device_copies **out, struct error *err);
/* In the thread of the training function, at any time: memory will be pinned for this
 * GPU, from which tensors are copied. */
int device_copies_expect(struct device_copies *c, int kind, int id, struct error *err);
/* Pin [memory, memory + n), whole pages, as far as it is not pinned, for
 * device_copies_begin() with this memory. It may grow from one call to the next.
 * device_copies_refused() reports a failure. */
void device_copies_pin(struct device_copies *c, void *memory, size_t n);
/* All copies go to [memory, memory + n), which are whole pages. No copy may be in
 * progress. The memory must stay until the next begin with another one, or
 * device_copies_forget(). */
void device_copies_begin(struct device_copies *c, void *memory, size_t n);
/* Unpin, so that the memory may be unmapped. No copy may be in progress. */
void device_copies_forget(struct device_copies *c);
/*
 * Start to copy n > 0 bytes from a device, after what the caller has queued on its
 * stream. `stays`: they do not change until the copy is complete. Others do not change
 * until device_copies_settle(), which waits for their copies: start those first.
 */
int device_copies_start(struct device_copies *c, int kind, int id, const void *from,
                        void *to, size_t n, bool stays, struct error *err);
int device_copies_settle(struct device_copies *c, struct error *err);
/* Order what callers queue on their streams from now on after the copies, on all GPUs
 * from which tensors were copied. Returns at once. */
int device_copies_fence(struct device_copies *c, struct error *err);
/* Wait for all copies, also if one could not be started. */
int device_copies_wait(struct device_copies *c, struct error *err);
/* Once for each memory that could not be pinned: true, and *why. */
bool device_copies_refused(struct device_copies *c, struct error *why);
/* No copy may be in progress. Accepts NULL. */
void device_copies_destroy(struct device_copies *c);

#endif
