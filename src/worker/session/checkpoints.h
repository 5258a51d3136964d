/*
 * checkpoints.h - checkpoints in a session: checks of what is put into them, the state
 * that they keep, and when one is due.
 */
#ifndef RAYTRAIN_SESSION_CHECKPOINTS_H
#define RAYTRAIN_SESSION_CHECKPOINTS_H

#include "session/session.h"

/* device_tensors.c: tensors of checkpoints on a device; `device` is not
 * RAYTRAIN_HOST. */
/* Could it be put, and are its data in the memory of its device? */
int session_device_put_check(const char *name, const raytrain_tensor *tensor,
                             const raytrain_slab *slab, struct error *err);
/* As checkpoint_get(). */
int session_device_get(raytrain_checkpoint *ck, const char *name,
                       const raytrain_tensor *tensor, const raytrain_slab *slab,
                       struct error *err);

/* saved_state.c: the state of the session in a checkpoint, below
 * CHECKPOINT_RESERVED. */
int session_state_save(raytrain_context *ctx, struct comm *comm,
                       raytrain_checkpoint *ck, struct error *err);
int session_state_restore(raytrain_context *ctx, raytrain_checkpoint *ck,
                          struct error *err);
/* COLLECTIVE: keep in ck what rank 0 has reported (struct loose_report). Other ranks
 * pass "". */
int session_reported_save(struct comm *comm, raytrain_checkpoint *ck,
                          const char *reported, struct error *err);
/* *reported is malloc'ed; NULL: the metrics of ck are means. */
int session_reported_get(raytrain_checkpoint *ck, char **reported, struct error *err);

/* checkpoint_schedule.c */
void session_schedule_start(raytrain_context *ctx);
/* A report is complete: `saved` if it had a checkpoint, `asks` if a rank asks about the
 * next one. Decides whether one is due; stop_reason is that of this report. */
void session_schedule_report(raytrain_context *ctx, double time_total_s, bool saved,
                             bool asks);

/* checkpoint_calls.c: 0, or RAYTRAIN_EINVAL with a message for the call. */
int session_writable(raytrain_checkpoint *ck, const char *call);
int session_readable(raytrain_checkpoint *ck, const char *call);

/* open_calls.c: close what raytrain_checkpoint_open() has opened. */
void session_opened_clear(raytrain_context *ctx);

#endif
