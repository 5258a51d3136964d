/* bounded.h - a call that may never return, because it touches storage that does not
 * answer: made in a process of its own, and for a limited time. */
#ifndef RAYTRAIN_CHECK_BOUNDED_H
#define RAYTRAIN_CHECK_BOUNDED_H

#include <jansson.h>

/* What call(arg) returns, as JSON; NULL if that takes longer, or there is no room for a
 * process. It must not change anything but files. */
json_t *bounded_call(json_t *(*call)(const void *arg), const void *arg, double limit_s);

#endif
