/*
 * haproxy.h - a configuration of HAProxy that balances requests between the services of a
 * run.
 */
#ifndef RAYTRAIN_PLACE_HAPROXY_H
#define RAYTRAIN_PLACE_HAPROXY_H

#include <stdio.h>

#include "place/place.h"

/* Write to `out` a whole configuration that listens at `bind`, such as
 * "127.0.0.1:8080", for all services of a run. RAYTRAIN_ENOTFOUND: there are none;
 * RAYTRAIN_EINVAL: one can only be reached from its own host, or each has its own
 * token. */
int haproxy_write(const char *run_or_checkpoint, const char *bind, FILE *out,
                  struct error *err);

#endif
