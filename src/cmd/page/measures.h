/*
 * measures.h - what all curves of a page share.
 */
#ifndef RAYTRAIN_PAGE_MEASURES_H
#define RAYTRAIN_PAGE_MEASURES_H

#include "page/facts.h"

/* The number of points that a curve may have. */
size_t measures_room(const struct facts *f);
/* The iterations at which later attempts begin. *starts is to be freed. */
int measures_starts(const struct facts *f, double **starts, size_t *n,
                    struct error *err);

#endif
