/*
 * check.h - raytrain-run --check: what is wrong with this installation and this site.
 *
 * A check is one file of this room, for one topic. Checks run in the order of the table
 * in check.c, and share a context: the workers are started once (worker_check.c), and
 * later checks judge what they have reported (protocol/site_report.h). A check never
 * fails: what it cannot find out, or try, is a finding, too. None waits for anything
 * without a limit.
 *
 * To add one: write a file that defines a `struct check_ops`, and add it to the table
 * in check.c. It only judges. What it judges is measured by workers (worker/probe,
 * protocol/site_report.h) or by this process (common/site); a batch system is asked by
 * the slot `examine` of its launcher. A rule for each node is a row of a table
 * (node_judge.h). Each finding that is not ok has a remedy, and a test that breaks the
 * thing: t/1480-check.t or t/1481-slurm-check.t.
 */
#ifndef RAYTRAIN_CHECK_CHECK_H
#define RAYTRAIN_CHECK_CHECK_H

#include "config/options.h"
#include "launch/findings.h"
#include "launch/launcher.h"

struct check_context {
    const struct options *opt;
    const struct train_config *cfg; /* for scaling_config and storage_path */
    const struct launcher_ops *launcher;
    const char
        *unallocated; /* why there is no allocation for workers; NULL: there is, or
                                none is needed */
    /* What checks leave for those after them. */
    bool storage_works;  /* a run could be started there */
    char *storage_made;  /* the first directory of its path that did not exist */
    bool storage_silent; /* it does not answer: whatever touches it waits */
    bool stopped;        /* by a signal */
    size_t n_nodes;      /* that workers could have run on; 0: not known */
    const char *no_report, *report_how; /* why workers report nothing, and what to do so
                                           that they do; NULL: they were started */
    json_t *report;      /* of the workers; NULL: there is none */
    json_t *own;         /* node_facts() of this process */
};

struct check_ops {
    const char *topic;
    /* Why it cannot be tried, and in *how what to do so that it can. NULL is returned
     * if it can; a slot that is NULL: always. */
    const char *(*left_out)(const struct check_context *context, const char **how);
    /* Add findings of this topic. */
    void (*run)(struct check_context *context, struct findings *findings);
    /* Instead of run(): the same findings as skipped, for this reason. */
    void (*skip)(const char *why, const char *how, struct findings *findings);
};

/*
 * Run all checks and print what they find on `out`. *exit_status: 0, even with warnings;
 * 4 if something is wrong; 75 if it was stopped. -1 if out cannot be written, or cfg
 * contradicts itself.
 */
int check_site(struct check_context *context, FILE *out, int *exit_status,
               struct error *err);

/* Remove the directories that storage_made is the first of. */
void check_storage_leave(struct check_context *context);

#endif
