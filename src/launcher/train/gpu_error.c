/* gpu_error.c - the error as a part of the failure's message, and the node left out of
 * later plans. */
#include "train/gpu_error.h"

#include <stdio.h>
#include <string.h>

void gpu_error_take(struct gpu_error *e, const json_t *event)
{
    const char *text = json_string_value(json_object_get(event, "text"));
    const char *node = json_string_value(json_object_get(event, "node"));
    bool hardware = json_is_true(json_object_get(event, "hardware"));

    if (!text || !node || (e->text[0] && (e->hardware || !hardware)))
        return;
    snprintf(e->text, sizeof e->text, "%s", text);
    snprintf(e->node, sizeof e->node, "%s", node);
    e->hardware = hardware;
}

static void node_decide(const struct gpu_error *e, struct attempt_planner *planner,
                        char decided[GPU_ERROR_DECIDED_MAX])
{
    if (attempt_planner_leave_out(planner, e->node))
        snprintf(decided, GPU_ERROR_DECIDED_MAX,
                 "node %s is left out from now on, because of its GPU", e->node);
    else
        snprintf(decided, GPU_ERROR_DECIDED_MAX,
                 "node %s stays in use despite its GPU, because the others have no "
                 "room for the workers",
                 e->node);
}

void gpu_error_blame(const struct gpu_error *e, struct attempt_planner *planner,
                     struct failure *failure, char decided[GPU_ERROR_DECIDED_MAX])
{
    char said[ERROR_TEXT_MAX];

    decided[0] = '\0';
    if (!e->text[0] || failure->never_started ||
        (failure->cause != CAUSE_WORKER && failure->cause != CAUSE_HANG))
        return;
    strcpy(said, failure->message);
    snprintf(failure->message, sizeof failure->message, "%s: %.3000s", e->text,
             said[0] ? said : "the worker failed");
    if (!e->hardware)
        return;
    failure->cause = CAUSE_GPU;
    failure->final = false;
    if (planner)
        node_decide(e, planner, decided);
}
