/*
 * element_value.h - an element of a tensor or of a column, of any type, as a number.
 */
#ifndef RAYTRAIN_INSPECT_ELEMENT_VALUE_H
#define RAYTRAIN_INSPECT_ELEMENT_VALUE_H

#include <raytrain.h>

/* The element at `at`, which need not be aligned. Every value fits a long double with
 * 64 bits of mantissa. */
long double element_value(raytrain_dtype dtype, const unsigned char *at);

#endif
