/* follow.h - how a view that follows a run learns whether the run is in progress or
 * over. */
#ifndef RAYTRAIN_INSPECT_FOLLOW_H
#define RAYTRAIN_INSPECT_FOLLOW_H

#include <stdbool.h>

#include "util/error.h"

#define FOLLOW_LOOK_S 0.5 /* between two looks */
#define FOLLOW_GRACE_S                                                                 \
    3.0 /* how long a run may be without a lock, while a launcher starts or ends */

/* Does a process hold the run, as far as can be seen from here? */
struct pulse {
    char text[513];
    double changed_s; /* when text was seen to change; begins with clock_now() */
};

bool follow_is_alive(const char *run, struct pulse *p);
/* The run's result, malloc'ed; NULL: it has none. */
char *follow_result(const char *run);
/* The exit status of raytrain-run that left this result. */
int follow_status(const char *result);
void follow_pause(double seconds);

#endif
