/* named_model.h - the model of a request, and its version, which the path names. */
#ifndef RAYTRAIN_HTTP_NAMED_MODEL_H
#define RAYTRAIN_HTTP_NAMED_MODEL_H

#include <stdbool.h>

#include "http/exchange.h"

/* The model that the path names, or a refusal: NULL. */
struct service *route_service(struct exchange *x);
/* Its version, which is held until exchange_end(): false if there is a refusal. */
bool route_version(struct exchange *x);
/* Has the client asked for a version? */
bool route_names_version(const struct exchange *x);

#endif
