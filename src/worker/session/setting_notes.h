/*
 * setting_notes.h - warn of settings that have no effect. Only rank 0 keeps and writes
 * anything.
 */
#ifndef RAYTRAIN_SESSION_SETTING_NOTES_H
#define RAYTRAIN_SESSION_SETTING_NOTES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "checkpoint/checkpoint.h"

/* The training function has asked for this key of train_loop_config. */
void setting_asked(raytrain_context *ctx, const char *key);
/* It has got all of train_loop_config; what it uses is not known. */
void setting_all_asked(raytrain_context *ctx);
/* After setting_all_asked(): the client says that it has asked for these, and no others. */
void setting_some_asked(raytrain_context *ctx, const json_t *keys);
/* Can nothing have read train_loop_config, since nothing has asked for it? */
bool setting_none_asked(const raytrain_context *ctx);

/* The first report of an attempt is complete, with these metrics, which are rank 0's values
 * or means: warn, as events of the attempt, of a score that it does not have, of one that
 * the earlier checkpoints have as the other kind, and of keys that were not asked for. */
void setting_notes(raytrain_context *ctx, const struct checkpoint_metric *metrics,
                   size_t n, bool of_rank0);

#endif
