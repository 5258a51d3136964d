/*
 * datasets.h - how a session opens datasets.
 */
#ifndef RAYTRAIN_SESSION_DATASETS_H
#define RAYTRAIN_SESSION_DATASETS_H

#include "session/session.h"

/* device_batches.c: batches of the dataset are on this device from the next one on; it
 * is not RAYTRAIN_HOST. */
int session_dataset_to_device(raytrain_dataset *ds, int device, int device_id,
                              struct error *err);

/* dataset_calls.c: COLLECTIVE. dataset_open() with the communicator of all ranks, and
 * the directory of this run for rows that are converted; env->node is
 * session_node_comm(). */
int session_dataset_open(raytrain_context *ctx, const struct dataset_config *cfg,
                         struct dataset_env *env, raytrain_dataset **out,
                         struct error *err);

#endif
