#include "train/external_sigterm.h"

#include <stdio.h>
#include <stdlib.h>

#include "protocol/whereabouts.h"
#include "util/rank_list.h"

int told_read(const struct placement *plan, const char *log_dir, struct told *told,
              struct error *err)
{
    struct whereabouts *at = whereabouts_read(log_dir, WHEREABOUTS_TOLD, plan->workers);

    *told = (struct told){.plan = plan,
                          .in = calloc((size_t)plan->workers, sizeof *told->in)};
    if (!at || !told->in) {
        free(at);
        told_clear(told);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    }
    for (int i = 0; i < plan->workers; i++) {
        told->in[i] = at[i].calls >= 0;
        told->n += told->in[i];
    }
    free(at);
    return 0;
}

void told_clear(struct told *told)
{
    free(told->in);
    told->in = NULL;
}

void told_find(const struct told *told, struct watch_finding *finding)
{
    char list[RANK_LIST_MAX];
    int first = 0;

    while (first < told->plan->workers - 1 && !told->in[first])
        first++;
    *finding = (struct watch_finding){.cause = CAUSE_PREEMPTED, .rank = first};
    snprintf(finding->host, sizeof finding->host, "%s",
             placement_host(told->plan, first));
    snprintf(finding->message, sizeof finding->message,
             "somebody told %s to go (SIGTERM)",
             rank_list(told->in, told->plan->workers, list));
}

void told_leave(const struct told *told, struct attempt_planner *planner)
{
    struct placement without = {0};
    struct error err;

    for (int i = 0; i < told->plan->workers; i++)
        if (told->in[i])
            attempt_planner_lose(planner, placement_host(told->plan, i));
    if (attempt_planner_plan(planner, &without, &err) == 0) {
        placement_clear(&without);
        return;
    }
    for (int i = 0; i < told->plan->workers; i++)
        if (told->in[i])
            attempt_planner_regain(planner, placement_host(told->plan, i));
}
