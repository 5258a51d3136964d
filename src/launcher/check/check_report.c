/* check_report.c - the nodes in the report of the workers, or why there are none. */
#include "config.h"

#include "check/check_report.h"

const json_t *check_nodes(const struct check_context *context)
{
    const json_t *nodes = json_object_get(context->report, "nodes");

    return json_array_size(nodes) > 0 ? nodes : context->own;
}

const char *check_needs_report(const struct check_context *context, const char **how)
{
    if (json_array_size(json_object_get(context->report, "nodes")) > 0)
        return NULL;
    *how = "fix the problem with the workers first, and check again";
    if (context->unallocated)
        return "there is no allocation for workers";
    if (!context->no_report)
        return "the workers ended before they reported it";
    *how = context->report_how;
    return context->no_report;
}

const char *check_needs_nodes(const struct check_context *context, const char **how)
{
    const char *why = check_needs_report(context, how);

    if (why || json_array_size(json_object_get(context->report, "nodes")) > 1)
        return why;
    *how = "check in an allocation of several nodes, or with --launcher slurm, which "
           "takes one";
    return "all workers ran on one node";
}
