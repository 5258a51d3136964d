/*
 * api_names.h - names of raytrain.h: of statuses and element types (declared there,
 * or the way back), and the rule for names of metrics.
 */
#ifndef RAYTRAIN_UTIL_API_NAMES_H
#define RAYTRAIN_UTIL_API_NAMES_H

#include "raytrain.h"

/* 0 for an unknown name. */
raytrain_dtype dtype_of_name(const char *name);
/* The grammar of a metric's name in raytrain.h. */
bool metric_name_is_valid(const char *name);

#endif
