/*
 * session_requests.h - the facts about a worker, which its client gets first.
 */
#ifndef RAYTRAIN_COMMAND_SESSION_REQUESTS_H
#define RAYTRAIN_COMMAND_SESSION_REQUESTS_H

#include "command/companion.h"

/* The constant part of the reply to hello: the place of the worker, the names and the
 * configuration of the run. A new reference; NULL without memory. */
json_t *session_facts(const raytrain_context *ctx);

#endif
