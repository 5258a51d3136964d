/*
 * life_signs.h - a worker of a service shows that it lives: a thread sends a byte now
 * and then over a second connection, also while the predict function is busy. If the
 * process is stopped there are none, and the service replaces the worker
 * (crew/member.h).
 */
#ifndef RAYTRAIN_SERVE_LIFE_SIGNS_H
#define RAYTRAIN_SERVE_LIFE_SIGNS_H

#include <stdbool.h>

#include "util/error.h"

struct life_signs;

/* path: the socket of the service. lives: by the thread, whether what predicts is not
 * stopped; it may be another process. RAYTRAIN_ECOMM: the service is gone. */
int life_signs_start(const char *path, bool (*lives)(void *arg), void *arg,
                     struct life_signs **out, struct error *err);
/* NULL is fine. */
void life_signs_stop(struct life_signs *signs);

#endif
