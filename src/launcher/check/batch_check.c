/* batch_check.c - the batch systems of this machine, which their launchers examine. */
#include "check/check.h"

#include <string.h>

#define BATCH_TOPIC "batch system"

static void batch_run(struct check_context *context, struct findings *findings)
{
    const char *wanted = context->opt->launcher;

    if (strcmp(wanted, "auto") != 0 && !context->launcher->examine)
        finding_add(findings, BATCH_TOPIC, "configuration", VERDICT_SKIPPED,
                    "check without --launcher, or with --launcher slurm",
                    "--launcher %s does not use one", wanted);
    launcher_examine(strcmp(wanted, "auto") == 0 ? NULL : context->launcher,
                     context->opt->srun_args, findings);
    if (context->unallocated)
        finding_add(findings, launcher_name(context->launcher), "allocation",
                    VERDICT_WRONG, "take one by hand to see why, such as: salloc -n 2",
                    "%s", context->unallocated);
}

static void batch_skip(const char *why, const char *how, struct findings *findings)
{
    static const char *const names[] = {"configuration", NULL};

    findings_skip(findings, BATCH_TOPIC, names, how, why);
}

const struct check_ops check_batch = {
    .topic = BATCH_TOPIC, .run = batch_run, .skip = batch_skip};
