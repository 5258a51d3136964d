/* element.h - convert a number, given as text or as an element, to an element of
 * another type. */
#ifndef RAYTRAIN_INFER_ELEMENT_H
#define RAYTRAIN_INFER_ELEMENT_H

#include <stdbool.h>

#include "raytrain.h"

/*
 * at[0..end) is a number, which number_float64() reads as x. Store its nearest element
 * at `to`; an integer must be exact. Returns NULL, or what is wrong, as the end of the
 * sentence "NUMBER, which DATATYPE ...".
 */
const char *element_store(raytrain_dtype dtype, const char *at, const char *end,
                          double x, void *to);

/* Convert an element, at any address, to another type. False: that type cannot hold it
 * exactly. */
bool element_convert(raytrain_dtype from, const void *at, raytrain_dtype to, void *out);

#endif
