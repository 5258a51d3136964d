/*
 * life_signs.h - shows that a worker of a service is alive: a thread regularly sends a
 * byte over a second connection, also while the predict function is busy. A process
 * that is stopped sends none, and the service replaces the worker (crew/member.h).
 */
#ifndef RAYTRAIN_SERVE_LIFE_SIGNS_H
#define RAYTRAIN_SERVE_LIFE_SIGNS_H

#include <stdbool.h>

#include "util/error.h"

struct life_signs;

/* path: the socket of the service. The thread calls lives(), which is true unless the
 * process that predicts is stopped; that may be another process. RAYTRAIN_ECOMM: the
 * service has ended. */
int life_signs_start(const char *path, bool (*lives)(void *arg), void *arg,
                     struct life_signs **out, struct error *err);
/* NULL is fine. */
void life_signs_stop(struct life_signs *signs);

#endif
