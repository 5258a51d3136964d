/* shared_object.h - the training function out of a shared object. */
#ifndef RAYTRAIN_LOOP_SHARED_OBJECT_H
#define RAYTRAIN_LOOP_SHARED_OBJECT_H

#include "util/error.h"

/*
 * Load the shared object and find `train_func` in it. It stays loaded until the process
 * ends: what it has registered (threads, handlers) may be called until then.
 * RAYTRAIN_ENOTFOUND: no such file, a library that it needs, or no such function;
 * RAYTRAIN_EINVAL: no shared object.
 */
int train_func_load(const char *path, raytrain_train_func *func, struct error *err);

#endif
