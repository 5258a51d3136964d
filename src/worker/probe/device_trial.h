/*
 * device_trial.h - do the cards of the workers work? Copies there and back, and a sum over the
 * cards of all workers.
 *
 * A driver may never answer: what is asked of it here has a limit.
 */
#ifndef RAYTRAIN_PROBE_DEVICE_TRIAL_H
#define RAYTRAIN_PROBE_DEVICE_TRIAL_H

#include <jansson.h>
#include <stdint.h>

#include "session/session.h"

/* Copy to each of this worker's n cards and back, as site_report.h says in "cards". New. If a
 * card takes more than limit_s seconds the answer is "silent", and this process no longer uses
 * cards. tried(arg) is called after each card. */
json_t *card_trial_copies(int n, double limit_s, void (*tried)(void *arg), void *arg);

/* What a rank adds to the sum, and the sum of `size` workers. Both are exact in float32,
 * in any order. */
float card_trial_number(int rank);
int64_t card_trial_total(int size);
/* COLLECTIVE, after the copies, if they are right on every rank: `sum`, as site_report.h says
 * in "card_sum", gets what came out. -1, as from a collective of a training function; with
 * ctx->cards.lost if a rank does not answer. */
int card_trial_sum(raytrain_context *ctx, int device, json_t *sum, struct error *err);

#endif
