/* summary.h - the summary of a run that has ended. */
#ifndef RAYTRAIN_VIEW_SUMMARY_H
#define RAYTRAIN_VIEW_SUMMARY_H

#include "view/page.h"
#include "view/run_state.h"

/* The Result (train/result.h) and the run's state, as lines; malloc'ed, NULL without
 * memory. Paths are never cut. inspect: the command that shows the run, quoted for a
 * shell; NULL: the run directory is not kept. */
char *summary_text(const struct run_state *v, const json_t *result, const char *inspect,
                   bool color, double now);

#endif
