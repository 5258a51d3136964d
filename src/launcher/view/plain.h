/* plain.h - a display printed line by line, without control characters, for logs. */
#ifndef RAYTRAIN_VIEW_PLAIN_H
#define RAYTRAIN_VIEW_PLAIN_H

#include "view/run_state.h"

/* The line for an attempt that has started; malloc'ed, NULL without memory. */
char *plain_attempt(const struct run_state *v);
/* The line for the last report; malloc'ed, NULL without memory. */
char *plain_report(const struct run_state *v, double now);

#endif
