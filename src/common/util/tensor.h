/*
 * tensor.h - is the memory of a caller's tensor one that the library reaches?
 */
#ifndef RAYTRAIN_UTIL_TENSOR_H
#define RAYTRAIN_UTIL_TENSOR_H

#include "raytrain.h"
#include "util/error.h"

/* RAYTRAIN_ENOTSUP for memory of a device, RAYTRAIN_EINVAL for a tensor that was not
 * initialised. Its data are not touched. */
int tensor_check_host(const raytrain_tensor *t, struct error *err);

#endif
