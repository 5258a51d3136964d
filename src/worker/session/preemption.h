/* preemption.h - does the training function still have time? What a command asks about
 * the preemption of its nodes (protocol/preemption_notice.h). */
#ifndef RAYTRAIN_SESSION_PREEMPTION_H
#define RAYTRAIN_SESSION_PREEMPTION_H

#include "session/session.h"

/*
 * COLLECTIVE. *text: the notice as JSON, the same on every rank, or NULL: there is
 * none; it is valid until the next call. *changed: it is not that of the last call. A
 * notice stays until the end of the attempt.
 *
 * The notice is the launcher's, about all nodes; or it names the ranks that have
 * received SIGTERM from what manages their nodes. A stop that a user asks for has none.
 */
int session_preemption(raytrain_context *ctx, const char **text, bool *changed);
/* The training function is asked to stop. Does it decide by itself what to do, since it
 * asks about preemptions, and this is or may be one? Then a report does not end it, and
 * if it returns it has finished. The same on every rank. */
bool preemption_goes_on(const raytrain_context *ctx);
void session_preemption_clear(raytrain_context *ctx);

#endif
