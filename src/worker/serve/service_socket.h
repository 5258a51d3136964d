/* service_socket.h - connects a worker to its service. */
#ifndef RAYTRAIN_SERVE_SERVICE_SOCKET_H
#define RAYTRAIN_SERVE_SERVICE_SOCKET_H

#include "util/error.h"

/* *fd blocks; -1 on failure. RAYTRAIN_ECOMM: no process listens there. */
int service_socket_connect(const char *path, int *fd, struct error *err);

#endif
