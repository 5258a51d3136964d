/* run_labels.h - short names of several runs. */
#ifndef RAYTRAIN_PLOT_RUN_LABELS_H
#define RAYTRAIN_PLOT_RUN_LABELS_H

#include <stddef.h>

#include "util/error.h"

/* The last component of each path, or the whole path if another run has the same
 * component: a vector for argv_free(). */
int run_labels(char *const *paths, size_t n, char ***labels, struct error *err);

#endif
