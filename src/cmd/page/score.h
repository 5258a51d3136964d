/*
 * score.h - the value by which a run is judged.
 */
#ifndef RAYTRAIN_PAGE_SCORE_H
#define RAYTRAIN_PAGE_SCORE_H

#include "page/facts.h"
#include "page/series.h"

struct score {
    const char *name; /* of the metric */
    bool
        is_best; /* of checkpoint_score_attribute; else the last one of the first metric */
    struct point point;
};

/* False: there is no number at all. */
bool score_find(const struct facts *f, struct score *score);

#endif
