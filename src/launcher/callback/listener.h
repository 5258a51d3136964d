/*
 * listener.h - a process that gets lines on its standard input. It may be slow, hang or
 * die: only listener_finish() waits for it, for a limited time.
 *
 * Lines are gathered for a moment before they are written. If the process does not read
 * them, lines are kept up to a limit, and further lines are lost; the next line that it
 * gets is {"event":"lost","lines":N}. All calls come from the launcher's thread.
 */
#ifndef RAYTRAIN_CALLBACK_LISTENER_H
#define RAYTRAIN_CALLBACK_LISTENER_H

#include "callback/callback.h"

struct listener;

/* Start it, with RUN/logs/callback-NAME.log as its output. what: its name in messages;
 * argv must outlive it. */
int listener_start(char *const *argv, const char *what, const char *name,
                   const struct callback_context *context, struct listener **out,
                   struct error *err);
/* Send a line, without its newline. now: without waiting for more lines. */
void listener_send(struct listener *l, const char *line, bool now);
/* Give it the rest, a last line (NULL: none), and end of file; kill it if it has not
 * ended within `seconds`. */
void listener_finish(struct listener *l, const char *line, double seconds);
/* The same without a last line and messages. NULL is fine. */
void listener_destroy(struct listener *l);

#endif
