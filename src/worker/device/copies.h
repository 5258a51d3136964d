/*
 * copies.h - copies from GPUs to host memory that go on while the process does other
 * things: those of a save.
 *
 * The host memory is pinned before its first copy, or ahead of that, so that a GPU writes
 * straight to it, and stays so from one save to the next. If that is not possible, copies go
 * through pinned pieces, and are complete when the call that starts them returns.
 *
 * A save has these calls, in this order: begin, start ..., settle, fence (any number),
 * wait. Only the thread of the training function makes them, but that wait may be called in
 * any thread, also during a fence. Between two saves any thread may pin or forget the memory,
 * while no other one makes a call but expect and fence. Errors: device.h.
 */
#ifndef RAYTRAIN_DEVICE_COPIES_H
#define RAYTRAIN_DEVICE_COPIES_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct device_copies;

int device_copies_create(struct device_copies **out, struct error *err);
/* In the thread of the training function, at any time: memory will be pinned for this GPU,
 * which is one that is copied from. */
int device_copies_expect(struct device_copies *c, int kind, int id, struct error *err);
/* Pin [memory, memory + n), whole pages, as far as they are not: for device_copies_begin() with
 * this memory. It may grow from one call to the next. What fails, device_copies_refused() says. */
void device_copies_pin(struct device_copies *c, void *memory, size_t n);
/* All copies go to [memory, memory + n), which are whole pages. No copy is under way. The
 * memory must stay until the next begin with another one, or device_copies_forget(). */
void device_copies_begin(struct device_copies *c, void *memory, size_t n);
/* No copy is under way, and the memory may be unmapped. */
void device_copies_forget(struct device_copies *c);
/*
 * Start to copy n > 0 bytes from a device, after what the caller has queued on its stream.
 * `stays`: they stay as they are until the copy is complete. All others do until
 * device_copies_settle(), which waits for their copies: start them first.
 */
int device_copies_start(struct device_copies *c, int kind, int id, const void *from,
                        void *to, size_t n, bool stays, struct error *err);
int device_copies_settle(struct device_copies *c, struct error *err);
/* What callers queue on their streams from now on, of all GPUs that were copied from, comes
 * after the copies. It returns at once. */
int device_copies_fence(struct device_copies *c, struct error *err);
/* Wait for all copies, also for those before one that could not be started. */
int device_copies_wait(struct device_copies *c, struct error *err);
/* Once for each memory that could not be pinned: true, and *why. */
bool device_copies_refused(struct device_copies *c, struct error *why);
/* No copy may be under way. NULL is fine. */
void device_copies_destroy(struct device_copies *c);

#endif
