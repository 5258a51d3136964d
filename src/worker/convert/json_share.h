/* json_share.h - sends a JSON value of rank 0 to all ranks. */
#ifndef RAYTRAIN_CONVERT_JSON_SHARE_H
#define RAYTRAIN_CONVERT_JSON_SHARE_H

#include <jansson.h>

#include "comm/comm.h"

/* COLLECTIVE: *value of rank 0, which may be NULL, replaces that of the others. Each
 * rank releases its own. */
int json_share(struct comm *all, json_t **value, struct error *err);

#endif
