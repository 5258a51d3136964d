/*
 * retention.c - which checkpoints CheckpointConfig keeps. Pure.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/checkpoint_manager.h"

static bool is_ranked(const struct checkpoint_entry *e)
{
    return e->has_score && !isnan(e->score);
}

bool checkpoint_entry_better(const struct checkpoint_entry *a,
                             const struct checkpoint_entry *b,
                             const struct checkpoint_config *cfg)
{
    bool by_score = cfg->checkpoint_score_attribute != NULL;

    if (by_score && is_ranked(a) != is_ranked(b))
        return is_ranked(a);
    if (by_score && is_ranked(a) && a->score != b->score)
        return cfg->checkpoint_score_min ? a->score < b->score : a->score > b->score;
    return a->iteration > b->iteration;
}

/* How many others are better than entry i? */
static size_t rank_of(const struct checkpoint_entry *entries, size_t n, size_t i,
                      const struct checkpoint_config *cfg)
{
    size_t better = 0;

    for (size_t k = 0; k < n; k++)
        better += k != i && checkpoint_entry_better(&entries[k], &entries[i], cfg);
    return better;
}

void checkpoint_retention(const struct checkpoint_entry *entries, size_t n,
                          const struct checkpoint_config *cfg, bool *drop)
{
    for (size_t i = 0; i < n; i++)
        drop[i] = cfg->num_to_keep > 0 && i != n - 1 &&
                  rank_of(entries, n, i, cfg) >= (size_t)cfg->num_to_keep;
}
