/* session_life.h - a session begins, ends, or is given up. */
#ifndef RAYTRAIN_SESSION_SESSION_LIFE_H
#define RAYTRAIN_SESSION_SESSION_LIFE_H

#include "session/session.h"

/*
 * COLLECTIVE. Start from the newest valid checkpoint of the run, or else from
 * resume_from_checkpoint, or else from nothing.
 */
int session_create(const struct session_env *env, raytrain_context **out,
                   struct error *err);
/* A session of one process without a run: it reads what there is, and saves nothing.
 * run_dir and log_dir are NULL. */
int session_create_alone(const struct session_env *env, raytrain_context **out,
                         struct error *err);
/* COLLECTIVE. The training function has returned 0 on this rank, and must have on all
 * others. Waits for the last save. RAYTRAIN_ESTOPPED if it returned because it was
 * asked to stop; but one that only asks about preemptions has finished then. */
int session_finish(raytrain_context *ctx, struct error *err);
/* This rank has failed, but others may be fine: give a save in progress a few seconds,
 * so that its checkpoint is not lost. False: it is still in progress. NULL is fine. */
bool session_linger(raytrain_context *ctx);
/* Not clean: communicators are left alone, since other ranks may be waiting in them,
 * and so is a save in progress; the process is about to end. NULL is fine. */
void session_destroy(raytrain_context *ctx, bool clean);

#endif
