/*
 * api_names.h - names of raytrain.h: from a name back to its element type, and the rule
 * for names of metrics. raytrain.h declares the functions that return names.
 */
#ifndef RAYTRAIN_UTIL_API_NAMES_H
#define RAYTRAIN_UTIL_API_NAMES_H

#include "raytrain.h"

/* 0 for an unknown name. */
raytrain_dtype dtype_of_name(const char *name);
/* The grammar of a metric's name in raytrain.h. */
bool metric_name_is_valid(const char *name);

#endif
