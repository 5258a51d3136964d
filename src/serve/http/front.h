/*
 * front.h - the server that clients talk to: HTTP on one address, for one or more models.
 *
 * Threads of libmicrohttpd read requests, parse them and hand them to the service; a
 * connection that waits for an answer costs no thread. No path of a request reaches the
 * file system. Limits hold for each client (clients.h) and for all of them together.
 */
#ifndef RAYTRAIN_HTTP_FRONT_H
#define RAYTRAIN_HTTP_FRONT_H

#include "http/front_options.h"
#include "util/error.h"

struct front;

/* RAYTRAIN_EINVAL: the certificate or the key are wrong; RAYTRAIN_ENOTSUP: there is no TLS;
 * RAYTRAIN_EFAILED, RAYTRAIN_ENOMEM. */
int front_create(const struct front_options *options, struct front **out,
                 struct error *err);
/* Accept no more connections, wait until the last answers have been read, but only for
 * some seconds, and close all connections. The services must have been stopped
 * (service_stop()), so that no request waits for an answer. NULL is fine. */
void front_destroy(struct front *f);

#endif
