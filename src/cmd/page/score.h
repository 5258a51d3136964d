/*
 * score.h - the value by which a run is judged.
 */
#ifndef RAYTRAIN_PAGE_SCORE_H
#define RAYTRAIN_PAGE_SCORE_H

#include "page/facts.h"
#include "page/series.h"

struct score {
    const char *name; /* name of the metric */
    /* The value is the best one of checkpoint_score_attribute; else the last one of the
     * first metric. */
    bool is_best;
    struct point point;
};

/* False: there are no numbers at all. */
bool score_find(const struct facts *f, struct score *score);

#endif
