/*
 * element_value.h - an element of a tensor or of a column, of any type, as a number.
 */
#ifndef RAYTRAIN_INSPECT_ELEMENT_VALUE_H
#define RAYTRAIN_INSPECT_ELEMENT_VALUE_H

#include <raytrain.h>

/* The one at `at`, which need not be aligned. All of them fit a long double if it has 64
 * bits of mantissa. */
long double element_value(raytrain_dtype dtype, const unsigned char *at);

#endif
