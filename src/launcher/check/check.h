/*
 * check.h - raytrain-run --check finds problems of an installation and a site.
 *
 * A check is one file of this folder, for one topic. Checks run in the order of the
 * table in check.c, and share a context: the workers are started once (worker_check.c),
 * and later checks judge their report (protocol/site_report.h). A check never fails:
 * what it cannot find out or try is a finding, too. Every wait has a limit.
 *
 * To add one: write a file that defines a `struct check_ops`, and add it to the table
 * in check.c. It only judges. The facts are measured by workers (worker/probe,
 * protocol/site_report.h) or by this process (common/site); a batch system is asked by
 * the slot `examine` of its launcher. A rule that holds for each node is a row of a
 * table (node_judge.h). Each finding that is not ok has a remedy, and a test that
 * breaks what it checks: t/1480-check.t or t/1481-slurm-check.t.
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
    /* why there is no allocation for workers; NULL: there is one, or none is needed */
    const char *unallocated;
    /* The results of checks for later checks. */
    bool storage_works;  /* a run could be started in it */
    char *storage_made;  /* the first directory of its path that did not exist */
    bool storage_silent; /* it does not answer: every access to it waits */
    bool stopped;        /* by a signal */
    size_t n_nodes;      /* on which workers could have run; 0: not known */
    /* why there is no report of workers, and how to get one; NULL: they were started */
    const char *no_report, *report_how;
    json_t *report;      /* of the workers; NULL: none */
    json_t *own;         /* node_facts() of this process */
};

struct check_ops {
    const char *topic;
    /* Why the check cannot be tried, and in *how what to do about that. Returns NULL if
     * it can; a NULL slot means that it always can. */
    const char *(*left_out)(const struct check_context *context, const char **how);
    /* Add findings on this topic. */
    void (*run)(struct check_context *context, struct findings *findings);
    /* Instead of run(): the same findings as skipped, for this reason. */
    void (*skip)(const char *why, const char *how, struct findings *findings);
};

/*
 * Run all checks and print their findings on `out`. *exit_status: 0, even with
 * warnings; 4 if something is wrong; 75 if it was stopped. -1 if out cannot be written,
 * or cfg contradicts itself.
 */
int check_site(struct check_context *context, FILE *out, int *exit_status,
               struct error *err);

/* Remove the directories that were made, from storage_made on. */
void check_storage_leave(struct check_context *context);

#endif
