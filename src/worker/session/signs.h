/*
 * signs.h - signs of progress from long work between two reports: a fit of
 * preprocessors, the conversion of a dataset, a part of a prediction. Every rank writes
 * its own, since one may work while all others wait for it; a rank that hangs writes
 * none.
 */
#ifndef RAYTRAIN_SESSION_SIGNS_H
#define RAYTRAIN_SESSION_SIGNS_H

#include "session/session.h"

/* Write a sign if the last one is old: without one for hang_timeout_s, the launcher
 * takes the work for a hang. Call it more often than that; most calls cost nothing, and
 * none does without hang_timeout_s. */
void sign_of_progress(raytrain_context *ctx);

#endif
