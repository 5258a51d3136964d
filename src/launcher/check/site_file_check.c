/* site_file_check.c - the site's file: which one was read, and whether the files that
 * it names exist. */
#include <unistd.h>

#include "check/check.h"

#define SITE_FILE_TOPIC "site file"

static void prologue_judge(const char *path, struct findings *findings)
{
    if (!path)
        return;
    if (access(path, R_OK) == 0)
        finding_add(findings, SITE_FILE_TOPIC, "prologue", VERDICT_OK, NULL, "%s",
                    path);
    else
        finding_add(
            findings, SITE_FILE_TOPIC, "prologue", VERDICT_WRONG,
            "batch jobs are refused: make this file readable, or remove it from "
            "the site's file",
            "%s cannot be read", path);
}

static void site_file_run(struct check_context *context, struct findings *findings)
{
    const struct options *opt = context->opt;

    if (opt->site_wrong) {
        finding_add(findings, SITE_FILE_TOPIC, "contents", VERDICT_WRONG,
                    "runs do not start on this machine until it is fixed", "%s",
                    opt->site_wrong);
        return;
    }
    finding_add(findings, SITE_FILE_TOPIC, "contents", VERDICT_OK, NULL, "%s",
                opt->site.path ? opt->site.path : "there is none");
    prologue_judge(opt->site.prologue, findings);
}

static void site_file_skip(const char *why, const char *how, struct findings *findings)
{
    static const char *const names[] = {"contents", NULL};

    findings_skip(findings, SITE_FILE_TOPIC, names, how, why);
}

const struct check_ops check_site_file = {
    .topic = SITE_FILE_TOPIC, .run = site_file_run, .skip = site_file_skip};
