/* summary.h - what a display prints when a run has ended. */
#ifndef RAYTRAIN_VIEW_SUMMARY_H
#define RAYTRAIN_VIEW_SUMMARY_H

#include "view/page.h"
#include "view/run_state.h"

/* The Result (train/result.h) and what the view knows, as lines; malloc'ed, NULL without
 * memory. Paths are whole, however narrow the terminal is. inspect: the command that
 * shows the run, as a shell reads it; NULL: the run directory is not kept. */
char *summary_text(const struct run_state *v, const json_t *result, const char *inspect,
                   bool color, double now);

#endif
