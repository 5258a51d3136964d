/*
 * device_group.h - the group of GPUs for the user's collectives.
 */
#ifndef RAYTRAIN_REDUCE_DEVICE_GROUP_H
#define RAYTRAIN_REDUCE_DEVICE_GROUP_H

#include "session/session.h"

/*
 * device_group.c: the group of GPUs for the user's collectives. Is this GPU memory that
 * may be in it? Not after the ranks have found that there is none.
 */
bool session_devices_may(const raytrain_context *ctx, const raytrain_tensor *tensor);
/* COLLECTIVE, with a tensor that may: *out is the group, made by the first call. NULL on all
 * ranks if there is none, which is reported once. */
int session_devices(raytrain_context *ctx, const raytrain_tensor *tensor,
                    struct device_group **out, struct error *err);
/* COLLECTIVE. A group of the GPUs of all ranks, on `comm`; *out is NULL, on all ranks, if the
 * tensors go through host memory, which is reported unless it was asked for. *lost becomes true
 * if comm cannot be used or freed any more, since a rank does not answer. */
int session_devices_group(raytrain_context *ctx, struct comm *comm, int device, int id,
                          struct device_group **out, bool *lost, struct error *err);

#endif
