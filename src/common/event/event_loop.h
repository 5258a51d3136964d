/*
 * event_loop.h - what one thread waits for: descriptors that become readable, and time.
 *
 * A handler runs when its descriptor is readable, one after the other in the order in
 * which they were added, and must not block. Children are waited for by their
 * descriptors (util/child.h), periods by timers. There are no threads and no locks:
 * all calls, including those from handlers, come from the thread that runs the loop.
 */
#ifndef RAYTRAIN_EVENT_EVENT_LOOP_H
#define RAYTRAIN_EVENT_EVENT_LOOP_H

#include "util/error.h"

struct event_loop;

/* Handle what can be read. -1, with err filled, ends the wait. */
typedef int event_handler(void *arg, struct error *err);

/* RAYTRAIN_ENOMEM. */
int event_loop_create(struct event_loop **out, struct error *err);
/* Close the timers, but not the caller's descriptors. NULL is fine. */
void event_loop_destroy(struct event_loop *loop);

/* Call `handler` whenever fd is readable or hung up. The caller keeps the descriptor,
 * and must remove it before closing it. RAYTRAIN_ENOMEM. */
int event_loop_add(struct event_loop *loop, int fd, event_handler *handler, void *arg,
                   struct error *err);
/* Ignored if the descriptor was not added. */
void event_loop_remove(struct event_loop *loop, int fd);

/* Call `handler` every `seconds`. Missed periods count once. *timer identifies it for
 * event_loop_remove(). */
int event_loop_every(struct event_loop *loop, double seconds, event_handler *handler,
                     void *arg, int *timer, struct error *err);

/* Wait at most `seconds` (< 0: no limit) until a descriptor is readable, and call the
 * handlers. RAYTRAIN_EFAILED, or the error of a handler. */
int event_loop_turn(struct event_loop *loop, double seconds, struct error *err);

#endif
