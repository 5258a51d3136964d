/* element.h - a number as text becomes an element of a tensor. */
#ifndef RAYTRAIN_INFER_ELEMENT_H
#define RAYTRAIN_INFER_ELEMENT_H

#include <stdbool.h>

#include "raytrain.h"

/*
 * at[0..end) is a number, which number_float64() reads as x. Its nearest element is stored
 * at `to`; an integer must be exact. NULL, or what is wrong, to come after "NUMBER, which
 * DATATYPE ".
 */
const char *element_store(raytrain_dtype dtype, const char *at, const char *end,
                          double x, void *to);

/* An element at any address becomes one of another type. False: that cannot hold it
 * exactly. */
bool element_convert(raytrain_dtype from, const void *at, raytrain_dtype to, void *out);

#endif
