/*
 * setting_notes.h - warns of settings that have no effect, on rank 0; on other ranks
 * the functions do nothing.
 */
#ifndef RAYTRAIN_SESSION_SETTING_NOTES_H
#define RAYTRAIN_SESSION_SETTING_NOTES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "checkpoint/checkpoint.h"

/* The training function has asked for this key of train_loop_config. */
void setting_asked(raytrain_context *ctx, const char *key);
/* The training function has got all of train_loop_config: which keys it uses is
 * unknown. */
void setting_all_asked(raytrain_context *ctx);
/* After setting_all_asked(): the client says that it has asked for these, and no
 * others. */
void setting_some_asked(raytrain_context *ctx, const json_t *keys);
/* Has train_loop_config never been asked for? */
bool setting_none_asked(const raytrain_context *ctx);

/* The first report of an attempt is complete, with these metrics, which are rank 0's
 * values or means: warn, by events of the attempt, of a score that it does not have, of
 * one that is of the other kind in earlier checkpoints, and of keys that were not asked
 * for. */
void setting_notes(raytrain_context *ctx, const struct checkpoint_metric *metrics,
                   size_t n, bool of_rank0);

#endif
