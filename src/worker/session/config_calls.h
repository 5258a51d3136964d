/*
 * config_calls.h - what look-ups of the configuration have returned, until the session
 * ends.
 */
#ifndef RAYTRAIN_SESSION_CONFIG_CALLS_H
#define RAYTRAIN_SESSION_CONFIG_CALLS_H

#include "session/session.h"

/* Free the arrays. */
void session_config_clear(raytrain_context *ctx);

#endif
