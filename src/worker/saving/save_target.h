/*
 * save_target.h - where the checkpoints of a run go, and how many of them are kept: a
 * copy of the part of the configuration that saving and the tiers need, since their
 * threads may outlive a session that has failed.
 */
#ifndef RAYTRAIN_SAVING_SAVE_TARGET_H
#define RAYTRAIN_SAVING_SAVE_TARGET_H

#include "comm/comm.h"
#include "config/checkpoint_config.h"

struct save_target {
    char *run_dir, *log_dir;
    struct checkpoint_config config;
};

int save_target_copy(struct save_target *t, const char *run_dir, const char *log_dir,
                     const struct checkpoint_config *config, struct error *err);
void save_target_clear(struct save_target *t);

/* COLLECTIVE, after a checkpoint has been published on storage: rank 0 deletes those
 * that retention does not keep, before the call returns on any rank. A failure is a
 * warning to the user. */
void save_target_prune(struct save_target *t, struct comm *comm);

#endif
