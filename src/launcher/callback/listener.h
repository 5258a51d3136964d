/*
 * listener.h - a process that gets lines on its standard input. It may be slow, hang or
 * die: nothing here waits for it but listener_finish(), which has a limit.
 *
 * Lines gather for a moment before they are written. If the process does not read them,
 * a bounded amount is kept, and further lines are lost; the next line that it gets after
 * that is {"event":"lost","lines":N}. All calls come from the launcher's thread.
 */
#ifndef RAYTRAIN_CALLBACK_LISTENER_H
#define RAYTRAIN_CALLBACK_LISTENER_H

#include "callback/callback.h"

struct listener;

/* Start it, with RUN/logs/callback-NAME.log as its output. what: what messages call it;
 * argv outlives it. */
int listener_start(char *const *argv, const char *what, const char *name,
                   const struct callback_context *context, struct listener **out,
                   struct error *err);
/* A line without its newline. now: it does not wait for others. */
void listener_send(struct listener *l, const char *line, bool now);
/* Give it what it has not read yet, a last line (NULL: none), and end of file; end it if
 * it has not ended after so many seconds. */
void listener_finish(struct listener *l, const char *line, double seconds);
/* The same, without a line and messages. NULL is fine. */
void listener_destroy(struct listener *l);

#endif
