/* plain.h - what a display prints line by line: without control characters, for logs. */
#ifndef RAYTRAIN_VIEW_PLAIN_H
#define RAYTRAIN_VIEW_PLAIN_H

#include "view/run_state.h"

/* Of an attempt that has started; malloc'ed, NULL without memory. */
char *plain_attempt(const struct run_state *v);
/* The last report; malloc'ed, NULL without memory. */
char *plain_report(const struct run_state *v, double now);

#endif
