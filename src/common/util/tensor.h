/* tensor.h - can a call use the memory of a caller's tensor? */
#ifndef RAYTRAIN_UTIL_TENSOR_H
#define RAYTRAIN_UTIL_TENSOR_H

#include "raytrain.h"
#include "util/error.h"

/* For calls that take memory of the host, and of devices that the library knows.
 * RAYTRAIN_ENOTSUP for another device, RAYTRAIN_EINVAL for a tensor that was not
 * initialised. Does not touch the data. */
int tensor_check(const raytrain_tensor *t, struct error *err);
/* The same for calls that only take host memory. */
int tensor_check_host(const raytrain_tensor *t, struct error *err);

#define TENSOR_PLACE_MAX 32
/* Where the data of a checked tensor are: "in host memory", "on CUDA GPU 1". Returns
 * text. */
const char *tensor_place(const raytrain_tensor *t, char text[TENSOR_PLACE_MAX]);

#endif
