/* bounded.h - a call that may never return, because it touches storage that does not
 * answer: made in a separate process, for a limited time. */
#ifndef RAYTRAIN_CHECK_BOUNDED_H
#define RAYTRAIN_CHECK_BOUNDED_H

#include <jansson.h>

/* The JSON that call(arg) returns; NULL if that takes longer, or no process can be
 * started. Effects other than on files are lost. */
json_t *bounded_call(json_t *(*call)(const void *arg), const void *arg, double limit_s);

#endif
