/*
 * signs.h - signs of progress from long work between two reports: a fit of
 * preprocessors, the conversion of a dataset, a part of a prediction. Every rank gives
 * its own, since one may work while all others wait for it; a rank that hangs gives none.
 */
#ifndef RAYTRAIN_SESSION_SIGNS_H
#define RAYTRAIN_SESSION_SIGNS_H

#include "session/session.h"

/* The launcher takes this work for a hang without a sign for hang_timeout_s: give one now
 * if the last one was a while ago. Call it more often than that; most calls cost nothing,
 * and all of them without hang_timeout_s. */
void sign_of_progress(raytrain_context *ctx);

#endif
