/*
 * early_stopping.c - finds the metric and its direction, and counts rounds without
 * progress. gbdt_loop.c stops the training.
 */
#include "gbdt/early_stopping.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void early_stopping_init(struct early_stopping *e, const struct gbdt_config *cfg)
{
    *e = (struct early_stopping){.patience = cfg->early_stopping_rounds,
                                 .best_round = -1};
}

/* ---- The metric ---- */

static int fail_metric(const struct gbdt_config *cfg, const struct gbdt_scores *scores,
                       struct error *err)
{
    char names[512] = "";
    size_t n = 0;

    for (size_t i = 0; i < scores->n && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "",
                              scores->list[i].name);
    if (cfg->early_stopping_metric)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "early_stopping_metric: there is no \"%s\"; the metrics are %s",
            cfg->early_stopping_metric, names);
    return error_set(err, RAYTRAIN_EINVAL,
                     "early_stopping_rounds needs a dataset besides \"" GBDT_TRAIN
                     "\", to see whether the model still gets better: add --dataset "
                     "valid=PATH%s%s",
                     *names ? "; the metrics are " : "", names);
}

static const struct gbdt_score *score_find(const struct gbdt_scores *scores,
                                           const char *name)
{
    for (size_t i = 0; i < scores->n; i++)
        if (strcmp(scores->list[i].name, name) == 0)
            return &scores->list[i];
    return NULL;
}

static const struct gbdt_score *score_choose(const struct gbdt_config *cfg,
                                             const struct gbdt_scores *scores)
{
    static const char train[] = GBDT_TRAIN "-";

    if (cfg->early_stopping_metric)
        return score_find(scores, cfg->early_stopping_metric);
    for (size_t i = scores->n; i-- > 0;)
        if (strncmp(scores->list[i].name, train, sizeof train - 1) != 0)
            return &scores->list[i];
    return NULL;
}

/* ---- Progress ---- */

static bool is_better(const struct gbdt_score *now, double best)
{
    if (isnan(now->value))
        return false;
    if (isnan(best))
        return true;
    return now->more_is_better ? now->value > best : now->value < best;
}

int early_stopping_look(struct early_stopping *e, const struct gbdt_config *cfg,
                        const struct gbdt_scores *scores, int64_t round, bool *stop,
                        struct error *err)
{
    const struct gbdt_score *score;

    *stop = false;
    if (e->patience == 0)
        return 0;
    score = *e->metric ? score_find(scores, e->metric) : score_choose(cfg, scores);
    if (!score)
        return fail_metric(cfg, scores, err);
    if (!*e->metric)
        snprintf(e->metric, sizeof e->metric, "%s", score->name);
    if (e->best_round < 0 || is_better(score, e->best_score)) {
        e->best_round = round;
        e->best_score = score->value;
    }
    *stop = round - e->best_round >= e->patience;
    return 0;
}
