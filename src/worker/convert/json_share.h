/* json_share.h - JSON that rank 0 has, for all ranks. */
#ifndef RAYTRAIN_CONVERT_JSON_SHARE_H
#define RAYTRAIN_CONVERT_JSON_SHARE_H

#include <jansson.h>

#include "comm/comm.h"

/* COLLECTIVE: rank 0's value, or NULL, becomes that of all; each has its own. */
int json_share(struct comm *all, json_t **value, struct error *err);

#endif
