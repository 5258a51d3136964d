/*
 * device_trial.h - do the GPUs of the workers work? Copies to each GPU and back, and a
 * sum over the GPUs of all workers. A driver may never answer, so calls have a time
 * limit.
 */
#ifndef RAYTRAIN_PROBE_DEVICE_TRIAL_H
#define RAYTRAIN_PROBE_DEVICE_TRIAL_H

#include <jansson.h>
#include <stdint.h>

#include "session/session.h"

/* Copy to each of this worker's n GPUs and back; returns a new reference to "devices"
 * of site_report.h. If a GPU takes more than limit_s seconds, the answer is "silent",
 * and this process no longer uses GPUs. tried(arg) is called after each GPU. */
json_t *device_trial_copies(int n, double limit_s, void (*tried)(void *arg), void *arg);

/* What a rank adds to the sum. The sum is exact in float32, in any order of the
 * ranks. */
float device_trial_number(int rank);
int64_t device_trial_total(int size);
/* COLLECTIVE, after the copies, if they are right on every rank: sum over all GPUs, and
 * put the result into `sum` ("device_sum" of site_report.h). -1 if the collective
 * fails; with ctx->devices.lost if a rank does not answer. */
int device_trial_sum(raytrain_context *ctx, int device, json_t *sum, struct error *err);

#endif
