/* score.c - choose the metric that judges a run, and find its best or last value in the
 * reports. */
#include "config.h"

#include "page/score.h"

#include <string.h>

bool score_find(const struct facts *f, struct score *score)
{
    const struct checkpoint_config *cfg = &f->settings.run_config.checkpoint_config;
    const struct metric_column *chosen = NULL;
    struct series_summary sum;

    score->is_best = false;
    for (size_t i = 0; i < f->table.n_columns && !score->is_best; i++) {
        const struct metric_column *c = &f->table.columns[i];

        score->is_best = cfg->checkpoint_score_attribute && series_has_numbers(c) &&
                         strcmp(c->name, cfg->checkpoint_score_attribute) == 0;
        if (score->is_best || (!chosen && series_has_numbers(c)))
            chosen = c;
    }
    if (!chosen)
        return false;
    series_summarize(&(struct series){.table = &f->table, .column = chosen}, &sum);
    score->name = chosen->name;
    score->point = !score->is_best             ? sum.last
                   : cfg->checkpoint_score_min ? sum.lowest
                                               : sum.highest;
    return sum.numbers > 0;
}
