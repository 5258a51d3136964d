/*
 * haproxy.h - a configuration of HAProxy that balances requests between the services of a
 * run.
 */
#ifndef RAYTRAIN_PLACE_HAPROXY_H
#define RAYTRAIN_PLACE_HAPROXY_H

#include <stdio.h>

#include "place/place.h"

/* To `out`, a whole configuration that listens at `bind`, "127.0.0.1:8080": all services
 * of a run. RAYTRAIN_ENOTFOUND: there are none; RAYTRAIN_EINVAL: one is only reached from
 * its own host, or clients would need a token for each of them. */
int haproxy_write(const char *run_or_checkpoint, const char *bind, FILE *out,
                  struct error *err);

#endif
