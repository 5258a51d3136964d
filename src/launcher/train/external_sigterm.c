/* external_sigterm.c - the records of workers that received SIGTERM, and the nodes to
 * avoid. */
#include "train/external_sigterm.h"

#include <stdio.h>
#include <stdlib.h>

#include "protocol/rank_status.h"
#include "util/rank_list.h"

int external_sigterm_read(const struct placement *plan, const char *log_dir,
                          struct external_sigterm *sigterm, struct error *err)
{
    struct rank_status *at =
        rank_status_read(log_dir, RANK_STATUS_SIGTERM, plan->workers);

    *sigterm = (struct external_sigterm){
        .plan = plan,
        .received = calloc((size_t)plan->workers, sizeof *sigterm->received)};
    if (!at || !sigterm->received) {
        free(at);
        external_sigterm_clear(sigterm);
        return error_no_memory(err);
    }
    for (int i = 0; i < plan->workers; i++) {
        sigterm->received[i] = at[i].calls >= 0;
        sigterm->n += sigterm->received[i];
    }
    free(at);
    return 0;
}

void external_sigterm_clear(struct external_sigterm *sigterm)
{
    free(sigterm->received);
    sigterm->received = NULL;
}

void external_sigterm_describe(const struct external_sigterm *sigterm,
                               struct failure *failure)
{
    char list[RANK_LIST_MAX];
    int first = 0;

    while (first < sigterm->plan->workers - 1 && !sigterm->received[first])
        first++;
    *failure = (struct failure){.cause = CAUSE_PREEMPTED, .rank = first};
    snprintf(failure->host, sizeof failure->host, "%s",
             placement_host(sigterm->plan, first));
    snprintf(failure->message, sizeof failure->message,
             "%s received SIGTERM from outside",
             rank_list(sigterm->received, sigterm->plan->workers, list));
}

void external_sigterm_avoid(const struct external_sigterm *sigterm,
                            struct attempt_planner *planner)
{
    struct placement without = {0};
    struct error err;

    for (int i = 0; i < sigterm->plan->workers; i++)
        if (sigterm->received[i])
            attempt_planner_lose(planner, placement_host(sigterm->plan, i));
    if (attempt_planner_plan(planner, &without, &err) == 0) {
        placement_clear(&without);
        return;
    }
    for (int i = 0; i < sigterm->plan->workers; i++)
        if (sigterm->received[i])
            attempt_planner_regain(planner, placement_host(sigterm->plan, i));
}
