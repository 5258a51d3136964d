/* device_group.h - the group of GPUs for the user's collectives. */
#ifndef RAYTRAIN_REDUCE_DEVICE_GROUP_H
#define RAYTRAIN_REDUCE_DEVICE_GROUP_H

#include "session/session.h"

/* Is this GPU memory that the group may take? False after the ranks have found that
 * there can be no group. */
bool session_devices_may(const raytrain_context *ctx, const raytrain_tensor *tensor);
/* COLLECTIVE, with a tensor that it may take: *out is the group, which the first call
 * makes; NULL on all ranks if there can be none, which is reported once. */
int session_devices(raytrain_context *ctx, const raytrain_tensor *tensor,
                    struct device_group **out, struct error *err);
/* COLLECTIVE. Make a group of the GPUs of all ranks, on `comm`; *out is NULL on all
 * ranks if tensors go through host memory, which is reported unless it was requested.
 * *lost becomes true if a rank does not answer: then comm can no longer be used or
 * freed. */
int session_devices_group(raytrain_context *ctx, struct comm *comm, int device, int id,
                          struct device_group **out, bool *lost, struct error *err);

#endif
