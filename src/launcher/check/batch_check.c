/* batch_check.c - the batch systems of this machine: their launchers examine them. */
#include "check/check.h"

#include <string.h>

static void batch_run(struct check_context *context, struct findings *findings)
{
    const char *wanted = context->opt->launcher;

    launcher_examine(strcmp(wanted, "auto") == 0 ? NULL : context->launcher,
                     context->opt->srun_args, findings);
    if (context->unallocated)
        finding_add(findings, launcher_name(context->launcher), "allocation",
                    VERDICT_WRONG, "take one by hand to see why, such as: salloc -n 2",
                    "%s", context->unallocated);
}

const struct check_ops check_batch = {.topic = "batch system", .run = batch_run};
