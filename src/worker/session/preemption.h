/* preemption.h - answers a command that asks about the preemption of its nodes
 * (protocol/preemption_notice.h). */
#ifndef RAYTRAIN_SESSION_PREEMPTION_H
#define RAYTRAIN_SESSION_PREEMPTION_H

#include "session/session.h"

/*
 * COLLECTIVE. *text: the notice as JSON, the same on every rank, or NULL if there is
 * none; it is valid until the next call. *changed: it differs from that of the last
 * call. A notice stays until the end of the attempt.
 *
 * The notice is the launcher's, about all nodes; or it names the ranks that have
 * received SIGTERM from what manages their nodes. There is none for a stop that a user
 * requests.
 */
int session_preemption(raytrain_context *ctx, const char **text, bool *changed);
/* The training function was asked to stop. Does it decide itself what to do, since it
 * asks about preemptions, and this is or may be one? Then a report does not end it, and
 * it has finished when it returns. The same on every rank. */
bool preemption_goes_on(const raytrain_context *ctx);
void session_preemption_clear(raytrain_context *ctx);

#endif
