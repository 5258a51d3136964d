/* gpu_error.c - see gpu_error.h. */
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

/* "; n3 is left out from now on": what becomes of the node. */
static void node_decide(const struct gpu_error *e, struct attempt_planner *planner,
                        char *text, size_t size)
{
    if (!e->hardware || !planner)
        text[0] = '\0';
    else if (attempt_planner_leave_out(planner, e->node))
        snprintf(text, size, "; node %s is left out from now on", e->node);
    else
        snprintf(text, size, "; node %s stays in use, since the others have no room",
                 e->node);
}

void gpu_error_blame(const struct gpu_error *e, struct attempt_planner *planner,
                     struct failure *failure)
{
    char said[ERROR_TEXT_MAX], decided[FAILURE_HOST_MAX + 64];

    if (!e->text[0] || failure->never_started ||
        (failure->cause != CAUSE_WORKER && failure->cause != CAUSE_HANG))
        return;
    node_decide(e, planner, decided, sizeof decided);
    strcpy(said, failure->message);
    snprintf(failure->message, sizeof failure->message, "%s%s: %.3000s", e->text,
             decided, said[0] ? said : "the worker failed");
    if (e->hardware) {
        failure->cause = CAUSE_GPU;
        failure->final = false;
    }
}
